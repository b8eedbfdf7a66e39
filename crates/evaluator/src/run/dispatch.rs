//! Runs many trials side by side, and tells what happens.

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
use apprentice_tasks::seed::VaryError;
use apprentice_tasks::solution::ScriptError;

/// What happens in a run, as it happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The plan stands; so many trials, so many of them finished before.
    Planned {
        /// The run.
        run: RunId,
        /// Its folder.
        folder: PathBuf,
        /// Trials in all.
        trials: usize,
        /// Finished already.
        finished: usize,
    },
    /// An attempt began.
    Started {
        /// Its trial.
        trial: TrialSpec,
        /// The try, from 1.
        attempt: u32,
    },
    /// An attempt is finished: its line is on disk.
    Finished {
        /// Its row.
        row: Box<TrialRow>,
        /// Why it is void, in words, with the remedy where one is known.
        story: Option<String>,
    },
}

/// Why a run stopped short.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is nothing to run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model cannot be had.
    #[error("model {model:?}: {why}")]
    Model {
        /// Its name.
        model: String,
        /// What to do about it.
        why: String,
    },
    /// The suite no longer has a task of the plan.
    #[error("the suite has no task {0} any more")]
    NoTask(TaskId),
    /// A task cannot be varied.
    #[error("task {task}")]
    Vary {
        /// Which.
        task: TaskId,
        /// Why.
        #[source]
        source: VaryError,
    },
    /// A task's solution or near miss does not read.
    #[error("task {task}: its script does not read")]
    Script {
        /// Which.
        task: TaskId,
        /// Why.
        #[source]
        source: ScriptError,
    },
    /// Our bug: the bookkeeping of a trial panicked.
    #[error("the bookkeeping of a trial crashed")]
    Crashed(#[source] JoinError),
    /// What the run was planned with has changed.
    #[error("the run was planned with something else: {0}; resume with --accept-drift, or start a new run")]
    Drift(String),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Its folder.
    pub folder: PathBuf,
    /// Trials of the plan.
    pub planned: usize,
    /// The last attempt of every trial that has one, in plan order.
    pub results: Vec<TrialRow>,
    /// Trials without a line.
    pub not_run: usize,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
}

impl RunSummary {
    /// How many trials ended with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.results.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Whether a bug of ours made an attempt void.
    pub fn has_bug(&self) -> bool {
        self.results.iter().any(|row| row.void_cause == Some(VoidCause::Internal))
    }
}

/// Plans a run below `root` and carries it out, `jobs` worlds at a time.
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
    carry_out(Runner::new(folder, request.suite.clone(), deps, progress, cancel), jobs).await
}

/// Runs every trial of the plan that is not finished.
pub async fn carry_out(runner: Runner, jobs: usize) -> Result<RunSummary, RunError> {
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
            // The others finish what they have begun; nothing new is started.
            first_error = Some(error);
        }
    }
    first_error.map_or_else(|| Ok(summary(&runner)), Err)
}

/// The first trial that need not wait: one that is lent what its partner looked at waits for that partner. When
/// nothing else runs any more, nothing is left to wait for.
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
