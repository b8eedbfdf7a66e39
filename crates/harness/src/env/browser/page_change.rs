//! Waits until a page may show something else: its document changes or is replaced, a dialog opens, or another tab comes to
//! the front. Changes within frames of other processes are found by the look after the cap.

use std::time::Duration;

use apprentice_protocol::{ChangeWait, WorldError};

use super::driver::{ActionError, Browser};

const CHANGED: &str = include_str!("page/changed.js");

impl Browser {
    /// Waits until what is shown may have changed, for at most `cap`.
    pub(super) async fn await_change(&self, cap: Duration) -> Result<ChangeWait, WorldError> {
        let Ok(tab) = self.front().map(|tab| tab.session) else { return Ok(ChangeWait::Changed) };
        let page = self.session(&tab);
        let in_document = async {
            let changed = format!("({CHANGED})({})", cap.as_millis());
            match self.evaluate::<bool>(&page, changed).await {
                Ok(changed) => Ok(changed),
                Err(ActionError::World(error)) => Err(error),
                Err(
                    ActionError::Dialog(_)
                    | ActionError::Replaced(_)
                    | ActionError::Refused(_)
                    | ActionError::Page(_)
                    | ActionError::Gone(_),
                ) => Ok(true),
            }
        };
        let around = self.watch().until(|pages| {
            let same = pages.front().is_some_and(|front| front.session == tab && front.dialog.is_none());
            (!same).then_some(())
        });
        let changed = tokio::select! {
            changed = in_document => changed?,
            _ = around => true,
            // A document that answers nothing is looked at again.
            () = elapsed(cap) => false,
        };
        Ok(if changed { ChangeWait::Changed } else { ChangeWait::Unchanged })
    }
}

/// Returns once `cap` has passed.
async fn elapsed(cap: Duration) {
    drop(tokio::time::timeout(cap, std::future::pending::<()>()).await);
}
