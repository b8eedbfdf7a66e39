//! Runs many trials concurrently and reports progress.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{RunId, TrialId, Verdict, VoidCause};
use apprentice_skills::book::Snapshot;
use tokio::task::JoinSet;

use super::control::RunControl;
use super::deps::RunDeps;
use super::error::RunError;
use super::plan::{PlanRequest, RunPlan, TrialSpec, plan};
use super::progress::Progress;
use super::store::RunFolder;
use super::trial::Runner;
use apprentice_results::row::TrialRow;
use apprentice_tasks::suite::Suite;

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
    root: &Path,
    jobs: usize,
    deps: RunDeps,
    control: RunControl,
) -> Result<RunSummary, RunError> {
    let plan = plan(request, deps.clock.now())?;
    let planned = PlannedRun { plan, suite: request.suite, book: None };
    start_plan(planned, root, jobs, deps, control).await
}

/// A planned run that has no folder yet.
pub struct PlannedRun<'a> {
    /// The plan.
    pub plan: RunPlan,
    /// The suite of the plan's tasks.
    pub suite: &'a Suite,
    /// The skillbook of the plan's arms. The run's folder gets a copy, so that later changes of the book do not touch it.
    pub book: Option<&'a Snapshot>,
}

/// Creates the folder of a planned run below `root` and executes the plan with up to `jobs` worlds at a time.
pub async fn start_plan(
    PlannedRun { plan, suite, book }: PlannedRun<'_>,
    root: &Path,
    jobs: usize,
    deps: RunDeps,
    control: RunControl,
) -> Result<RunSummary, RunError> {
    let folder = RunFolder::create(root, deps.resolve_runtime(plan).await)?;
    if let Some(book) = book {
        folder.keep_book(book)?;
    }
    execute_plan(Runner::new(folder, suite.clone(), deps, control), jobs).await
}

/// Runs every unfinished trial of the plan.
pub async fn execute_plan(runner: Runner, jobs: usize) -> Result<RunSummary, RunError> {
    let runner = Arc::new(runner);
    let trials = &runner.context.folder.plan().trials;
    let mut waiting: VecDeque<TrialSpec> =
        trials.iter().filter(|trial| !runner.context.folder.is_finished(&trial.trial)).cloned().collect();
    runner.control.report(Progress::Planned {
        run: runner.context.folder.plan().run.clone(),
        folder: runner.context.folder.path().to_owned(),
        trials: trials.len(),
        finished: trials.len() - waiting.len(),
    });
    let mut running = JoinSet::new();
    let mut first_error = None;
    loop {
        while running.len() < jobs.max(1) && first_error.is_none() && !runner.control.cancel.is_cancelled() {
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
    let is_open = |partner: &TrialSpec| !runner.context.folder.is_finished(&partner.trial);
    let planned = &runner.context.folder.plan().trials;
    let ready = |trial: &TrialSpec| {
        trial.prerequisite_arm().is_none_or(|arm| {
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
    let plan = runner.context.folder.plan();
    let mut last: BTreeMap<TrialId, TrialRow> =
        runner.context.folder.rows().into_iter().map(|row| (row.trial.clone(), row)).collect();
    let results: Vec<TrialRow> = plan.trials.iter().filter_map(|trial| last.remove(&trial.trial)).collect();
    RunSummary {
        run: plan.run.clone(),
        folder: runner.context.folder.path().to_owned(),
        planned: plan.trials.len(),
        not_run: plan.trials.len() - results.len(),
        results,
        interrupted: runner.control.cancel.is_cancelled(),
    }
}
