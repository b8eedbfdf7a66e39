//! How a run is watched and stopped.

use std::sync::Arc;

use apprentice_control::{LiveRuns, RunProgressNote};
use apprentice_protocol::ResourceUsage;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::fault_watch::FaultWatch;
use super::progress::Progress;

/// Where a run reports its progress, what cancels it, and what persons see of it and order.
#[derive(Clone)]
pub struct RunControl {
    /// Receives the run's events. Unbounded: there are a few small messages per attempt, and the terminal must never
    /// block a run.
    pub progress: UnboundedSender<Progress>,
    /// Cancels the run: no attempt starts any more, and running ones end as void.
    pub cancel: CancellationToken,
    /// The trials that run, for watchers.
    pub live: Arc<LiveRuns>,
    pub(super) faults: Arc<FaultWatch>,
}

impl RunControl {
    /// Controls a run that reports to `progress` and ends when `cancel` is cancelled.
    pub fn new(progress: UnboundedSender<Progress>, cancel: CancellationToken) -> Self {
        Self { progress, cancel, live: Arc::default(), faults: Arc::default() }
    }

    /// Shows the run's trials to watchers, and has them steered.
    #[must_use]
    pub fn watched(self, live: Arc<LiveRuns>) -> Self {
        Self { live, ..self }
    }

    /// Reports an event. The receiver may be closed.
    pub fn report(&self, progress: Progress) {
        match &progress {
            Progress::Planned { folder, trials, .. } => self.live.plan(folder, *trials),
            Progress::Finished { row, .. } => self.live.finished(RunProgressNote {
                verdict: row.verdict,
                spent: ResourceUsage {
                    tokens: row.tokens,
                    cost_usd: row.cost_usd,
                    ..ResourceUsage::default()
                },
            }),
            Progress::Started { .. } => {}
        }
        let _ = self.progress.send(progress);
    }
}
