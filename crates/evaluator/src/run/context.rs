//! What all attempts of a run share.

use std::sync::Arc;

use apprentice_tasks::suite::Suite;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::deps::RunDeps;
use super::store::RunFolder;

/// The folder, suite and dependencies of a run.
pub(super) struct RunContext {
    pub(super) folder: Arc<RunFolder>,
    pub(super) suite: Arc<Suite>,
    pub(super) deps: RunDeps,
    pub(super) cancel: CancellationToken,
    /// One permit for each world that may start, set up or be checked at a time.
    pub(super) permits: Arc<Semaphore>,
}
