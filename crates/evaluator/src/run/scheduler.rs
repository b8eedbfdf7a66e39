//! Runs many trials concurrently and reports progress.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{RunId, TaskId, TrialId, Verdict, VoidCause};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::plan::{PlanError, PlanRequest, TrialSpec, plan};
use super::store::{RunFolder, StoreError};
use super::trial::{RunDeps, Runner};
use apprentice_results::row::TrialRow;
use apprentice_tasks::solution::ScriptError;
use apprentice_tasks::variation::VariationError;

/// A progress event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The plan is complete and the trials begin.
    Planned {
        /// The run's id.
        run: RunId,
        /// The run's folder.
        folder: PathBuf,
        /// The number of planned trials.
        trials: usize,
        /// Trials that already have a result.
        finished: usize,
    },
    /// An attempt started.
    Started {
        /// The attempt's trial.
        trial: TrialSpec,
        /// The attempt number, from 1.
        attempt: u32,
    },
    /// An attempt finished: its row is on disk.
    Finished {
        /// The attempt's row.
        row: Box<TrialRow>,
        /// The explanation of a void attempt, with the remedy where one is known; `None` unless void.
        story: Option<String>,
    },
}

/// The reason a run stopped early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be made, or contains no trial.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model is unavailable.
    #[error("model {model:?}: {why}")]
    Model {
        /// The model's name.
        model: String,
        /// The problem and its remedy.
        why: String,
    },
    /// The suite no longer contains a task of the plan.
    #[error("the suite no longer has task {0}")]
    NoTask(TaskId),
    /// A task cannot be varied.
    #[error("task {task}")]
    Vary {
        /// The task's id.
        task: TaskId,
        /// The cause.
        #[source]
        source: VariationError,
    },
    /// A task's solution or near miss is invalid.
    #[error("task {task}: invalid solution or near-miss script")]
    Script {
        /// The task's id.
        task: TaskId,
        /// The cause.
        #[source]
        source: ScriptError,
    },
    /// Internal error: the code that runs a trial panicked.
    #[error("internal error: the trial runner panicked")]
    Crashed(#[source] JoinError),
    /// An input of the plan has changed.
    #[error("the run's inputs differ from its plan: {0}; resume with --accept-drift, or start a new run")]
    Drift(String),
}

/// The summary of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run's id.
    pub run: RunId,
    /// The run's folder.
    pub folder: PathBuf,
    /// The number of planned trials.
    pub planned: usize,
    /// The last attempt of every trial that has one, in plan order.
    pub results: Vec<TrialRow>,
    /// Trials without a row.
    pub not_run: usize,
    /// Whether the run was cancelled.
    pub interrupted: bool,
}

impl RunSummary {
    /// Returns the number of trials with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.results.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Whether an internal error made an attempt void.
    pub fn has_bug(&self) -> bool {
        self.results.iter().any(|row| row.void_cause == Some(VoidCause::Internal))
    }
}

/// Plans a run below `root` and executes it with up to `jobs` worlds at a time.
pub async fn start(
    request: &PlanRequest<'_>,
    (root, program): (&Path, &str),
    jobs: usize,
    deps: RunDeps,
    (progress, cancel): (UnboundedSender<Progress>, CancellationToken),
) -> Result<RunSummary, RunError> {
    let plan = plan(request, deps.clock.now(), program)?;
    let plan = plan.settle(&deps).await;
    let folder = RunFolder::create(root, plan)?;
    execute_plan(Runner::new(folder, request.suite.clone(), deps, progress, cancel), jobs).await
}

/// Runs every unfinished trial of the plan.
pub async fn execute_plan(runner: Runner, jobs: usize) -> Result<RunSummary, RunError> {
    let runner = Arc::new(runner);
    let trials = &runner.folder.plan().trials;
    let mut waiting: VecDeque<TrialSpec> =
        trials.iter().filter(|trial| !runner.folder.is_finished(&trial.trial)).cloned().collect();
    runner.tell(Progress::Planned {
        run: runner.folder.plan().run.clone(),
        folder: runner.folder.path().to_owned(),
        trials: trials.len(),
        finished: trials.len() - waiting.len(),
    });
    let mut running = JoinSet::new();
    let mut first_error = None;
    loop {
        while running.len() < jobs.max(1) && first_error.is_none() && !runner.cancel.is_cancelled() {
            let Some(trial) = next(&mut waiting, &runner, running.is_empty()) else { break };
            let runner = runner.clone();
            running.spawn(async move { runner.run_trial(&trial).await });
        }
        let Some(joined) = running.join_next().await else { break };
        let settled = match joined {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(error) => Err(RunError::Crashed(error)),
        };
        if let (Err(error), None) = (settled, &first_error) {
            // Running trials finish what they have begun; no new trial starts.
            first_error = Some(error);
        }
    }
    first_error.map_or_else(|| Ok(summary(&runner)), Err)
}

/// Removes and returns the first trial that can start. An `inline` trial waits for its `pull` partner, unless no
/// other trial is running: then the partner cannot finish any more, and the wait ends.
fn next(waiting: &mut VecDeque<TrialSpec>, runner: &Runner, idle: bool) -> Option<TrialSpec> {
    let is_open = |partner: &TrialSpec| !runner.folder.is_finished(&partner.trial);
    let planned = &runner.folder.plan().trials;
    let ready = |trial: &TrialSpec| {
        trial.partner().is_none_or(|arm| {
            !planned.iter().any(|other| {
                other.arm == arm
                    && (other.role, &other.model, &other.task, other.seed)
                        == (trial.role, &trial.model, &trial.task, trial.seed)
                    && is_open(other)
            })
        })
    };
    let place = waiting.iter().position(ready).or_else(|| idle.then_some(0))?;
    waiting.remove(place)
}

fn summary(runner: &Runner) -> RunSummary {
    let plan = runner.folder.plan();
    let mut last: BTreeMap<TrialId, TrialRow> =
        runner.folder.rows().into_iter().map(|row| (row.trial.clone(), row)).collect();
    let results: Vec<TrialRow> = plan.trials.iter().filter_map(|trial| last.remove(&trial.trial)).collect();
    RunSummary {
        run: plan.run.clone(),
        folder: runner.folder.path().to_owned(),
        planned: plan.trials.len(),
        not_run: plan.trials.len() - results.len(),
        results,
        interrupted: runner.cancel.is_cancelled(),
    }
}
