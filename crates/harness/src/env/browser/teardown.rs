//! The end of a browser world.

use std::time::Duration;

use apprentice_protocol::{PortFuture, WorldError};
use apprentice_sandbox::Cell;

use super::launch::Chromium;

/// The parts of a world that must be ended, in this order.
pub(super) struct Teardown {
    pub(super) chromium: Chromium,
    pub(super) cell: Cell,
}

impl Teardown {
    /// Ends all parts within the deadline.
    pub(super) fn end(self, deadline: Duration) -> PortFuture<'static, Result<(), WorldError>> {
        let Self { chromium, cell } = self;
        drop(chromium);
        Box::pin(cell.close(deadline))
    }
}
