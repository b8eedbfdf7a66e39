//! How a run is watched and stopped.

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;

/// Where a run reports its progress, and what cancels it.
#[derive(Clone, Debug)]
pub struct RunControl {
    /// Receives the run's events. Unbounded: there are a few small messages per attempt, and the terminal must never
    /// block a run.
    pub progress: UnboundedSender<Progress>,
    /// Cancels the run: no attempt starts any more, and running ones end as void.
    pub cancel: CancellationToken,
}

impl RunControl {
    /// Controls a run that reports to `progress` and ends when `cancel` is cancelled.
    pub fn new(progress: UnboundedSender<Progress>, cancel: CancellationToken) -> Self {
        Self { progress, cancel }
    }

    /// Reports an event. The receiver may be closed.
    pub(crate) fn report(&self, progress: Progress) {
        let _ = self.progress.send(progress);
    }
}
