//! The end of a browser world.

use std::time::Duration;

use apprentice_protocol::{BoxFuture, WorldError, WorldErrorKind};
use apprentice_sandbox::Cell;

use super::launch::Chromium;
use super::reuse::Returning;

/// The parts of a world that must be ended, in this order.
pub(super) struct Teardown {
    pub(super) chromium: Chromium,
    pub(super) cell: Cell,
    /// How its browser is kept for other episodes, if it may be.
    pub(super) returning: Option<Returning>,
}

/// How long the cell may take to tell why Chromium is gone.
const CAUSE: Duration = Duration::from_secs(1);

impl Teardown {
    /// The cause of a lost world. Where the cell is lost, too, its reason says more than a broken connection.
    pub(super) async fn cause(&self, error: WorldError) -> WorldError {
        if error.fault != WorldErrorKind::Lost {
            return error;
        }
        tokio::time::timeout(CAUSE, self.cell.lost()).await.unwrap_or(error)
    }

    /// Ends all parts within the deadline.
    pub(super) fn end(self, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        let Self { chromium, cell, returning } = self;
        Box::pin(async move {
            let over = match returning {
                // A world that is not kept has its deadline for its end.
                Some(returning) => returning.end(chromium, cell, deadline).await,
                None => {
                    drop(chromium);
                    Some(cell)
                }
            };
            match over {
                Some(cell) => cell.close(deadline).await,
                None => Ok(()),
            }
        })
    }
}
