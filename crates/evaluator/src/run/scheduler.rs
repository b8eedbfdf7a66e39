//! Runs many trials concurrently and reports progress.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{RunId, TrialId, Verdict, VoidCause};
use apprentice_skillbook::Snapshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::control::RunControl;
use super::deps::RunDeps;
use super::error::RunError;
use super::plan::{PlanRequest, RunPlan, plan};
use super::progress::Progress;
use super::queue::{Claim, Delivery, FolderQueue, Lease, TrialQueue};
use super::store::RunFolder;
use super::trial::Runner;
use apprentice_runs::row::TrialRow;
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
    /// Summarises what an open folder of a run holds.
    pub fn of(folder: &RunFolder, interrupted: bool) -> Self {
        Self::of_rows(folder.plan(), folder.path(), folder.rows(), interrupted)
    }

    /// Summarises the rows of a run.
    pub fn of_rows(plan: &RunPlan, folder: &Path, rows: Vec<TrialRow>, interrupted: bool) -> Self {
        let mut last: BTreeMap<TrialId, TrialRow> =
            rows.into_iter().map(|row| (row.trial.clone(), row)).collect();
        let results: Vec<TrialRow> =
            plan.trials.iter().filter_map(|trial| last.remove(&trial.trial)).collect();
        Self {
            run: plan.run.clone(),
            folder: folder.to_owned(),
            planned: plan.trials.len(),
            not_run: plan.trials.len() - results.len(),
            results,
            interrupted,
        }
    }

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
    let queue = Arc::new(FolderQueue::new(Arc::clone(&runner)));
    let (plan, folder) = (runner.folder().plan(), runner.folder().path());
    runner.control.report(Progress::Planned {
        run: plan.run.clone(),
        folder: folder.to_owned(),
        trials: plan.trials.len(),
        finished: plan.trials.len() - queue.waiting(),
    });
    work(Arc::clone(&queue) as Arc<dyn TrialQueue>, jobs, &runner.control.cancel).await?;
    if let Some(stopped) = queue.stopped() {
        return Err(stopped);
    }
    Ok(RunSummary::of(runner.folder(), runner.control.cancel.is_cancelled()))
}

/// Carries out what a queue hands out, up to `jobs` attempts at a time, until nothing is left, `cancel` is cancelled, or
/// an error occurs. Running attempts then end, and their results are delivered.
pub async fn work(
    queue: Arc<dyn TrialQueue>,
    jobs: usize,
    cancel: &CancellationToken,
) -> Result<(), RunError> {
    let mut running = JoinSet::new();
    let mut first_error = None;
    loop {
        let mut later = false;
        while running.len() < jobs.max(1) && first_error.is_none() && !cancel.is_cancelled() && !later {
            match queue.claim().await {
                Ok(Claim::Leased(lease)) => {
                    running.spawn(carry_out(Arc::clone(&queue), lease));
                }
                Ok(Claim::Later) => later = true,
                Ok(Claim::Done) => break,
                Err(error) => first_error = Some(error.into()),
            }
        }
        let joined = tokio::select! {
            Some(joined) = running.join_next() => joined,
            () = queue.changed(), if later => continue,
            () = cancel.cancelled(), if later && running.is_empty() => continue,
            else => break,
        };
        let settled = joined.unwrap_or_else(|error| Err(RunError::Crashed(error)));
        if let (Err(error), None) = (settled, &first_error) {
            // Running trials finish what they have begun; no new trial starts.
            first_error = Some(error);
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Carries out one attempt and delivers its result. An attempt whose lease is lost ends as void; its result is delivered
/// all the same, so that the queue keeps it apart.
async fn carry_out(queue: Arc<dyn TrialQueue>, lease: Lease) -> Result<(), RunError> {
    let cancel = lease.runner.control.cancel.child_token();
    let carrying = lease.runner.carry_out(&lease.trial, lease.attempt, cancel.clone());
    let mut carrying = std::pin::pin!(carrying);
    let carried = tokio::select! {
        biased;
        carried = &mut carrying => carried,
        () = queue.keep(&lease) => {
            cancel.cancel();
            carrying.await
        }
    }?;
    match queue.deliver(&lease, &carried).await? {
        Delivery::Taken => lease.runner.report(carried),
        Delivery::Refused(kept) => {
            tracing::warn!(trial = %lease.trial.trial, attempt = lease.attempt, kept, "a late result was refused");
        }
    }
    Ok(())
}
