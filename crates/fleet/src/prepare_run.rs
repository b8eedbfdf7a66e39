//! The port through which a worker gets a run ready on its machine.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::run::{RunDeps, RunPlan};
use apprentice_protocol::{BoxFuture, RunId};
use apprentice_tasks::suite::Suite;

use crate::artifacts::Artifacts;
use crate::queue::RunRecord;

/// Makes a run of the queue ready on this machine.
pub trait PrepareRun: Send + Sync {
    /// Prepares a run whose record was read. The error says why this machine cannot carry it out.
    fn prepare<'a>(&'a self, record: &'a RunRecord) -> BoxFuture<'a, Result<Prepared, UnfitRun>>;

    /// Returns whether this machine has what a trial needs.
    fn offers(&self, need: &str) -> bool;

    /// Removes what was made ready for a run that has ended.
    fn forget(&self, run: &RunId);
}

/// A run that this worker cannot carry out. Other workers may.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct UnfitRun {
    /// The reason and the remedy.
    pub why: String,
    /// Whether the reason may pass, as that a store does not answer: the run is tried again later.
    pub passing: bool,
}

/// A run that is ready on this machine.
#[derive(Clone)]
pub struct Prepared {
    /// Its plan.
    pub plan: Arc<RunPlan>,
    /// Its suite.
    pub suite: Suite,
    /// What its trials need.
    pub deps: RunDeps,
    /// Where its artifacts go.
    pub artifacts: Artifacts,
    /// Where its guidance reads the results of trials that must end before others; `None` if it reads none.
    pub prerequisites: Option<PathBuf>,
}
