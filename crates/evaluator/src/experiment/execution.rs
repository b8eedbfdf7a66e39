//! The port through which an experiment has its runs carried out, and its copy kept: by this machine alone, or by others.

use std::sync::Arc;

use apprentice_protocol::BoxFuture;
use apprentice_tasks::suite::Suite;

use super::SharedGuidance;
use crate::run::{RunDeps, RunError, RunFolder, RunSummary};

/// A run of an experiment that is to be carried out: dev trials, or the measurement.
pub struct SharedRun {
    /// Its folder, with its plan and its frozen skillbook.
    pub folder: RunFolder,
    /// Its suite.
    pub suite: Arc<Suite>,
    /// What its trials need on this machine.
    pub deps: RunDeps,
    /// What other machines need for its guidance.
    pub guidance: SharedGuidance,
}

/// Carries out the runs of an experiment somewhere else than in this process, and keeps copies of its folder, so that
/// another machine can go on with it.
pub trait RunsElsewhere: Send + Sync {
    /// Has every unfinished trial of a run carried out, and brings its results into its folder.
    fn carry_out(&self, run: SharedRun) -> BoxFuture<'_, Result<RunSummary, RunError>>;

    /// Keeps a copy of the experiment's folder, replicates included, as it is now. It is called while nothing is being written
    /// there. An error ends the experiment here: somebody else may have taken it over.
    fn keep_copy(&self) -> BoxFuture<'_, Result<(), RunError>>;
}
