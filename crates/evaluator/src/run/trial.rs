//! Runs one trial: repeats attempts until one is judged; each has its trace, its evidence and its row.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use apprentice_control::TrialStart;
use apprentice_protocol::{ChatModel, TrialId, Verdict, VoidCause};
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::attempt::{AttemptExecution, AttemptOutcome};
use super::context::RunContext;
use super::control::RunControl;
use super::deps::{AttemptOf, RunDeps};
use super::error::RunError;
use super::plan::{PlanError, TrialSpec};
use super::progress::Progress;
use super::store::RunFolder;
use super::wording::worded;
use apprentice_runs::row::TrialRow;
use apprentice_tasks::solution::{FixedModel, SolutionModel};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::{TaskVariation, vary};

/// Runs trials of one plan, sequentially or concurrently. `learn` runs them in plan order.
pub struct Runner {
    pub(super) context: RunContext,
    /// The accepted differences from the plan, as text; `None` when there are none.
    pub(super) accepted_drift: Option<String>,
    pub(super) control: RunControl,
}

/// An attempt that has ended.
pub struct CarriedOut {
    /// Its row.
    pub row: TrialRow,
    /// The explanation of a void attempt, with the remedy where one is known; `None` unless void.
    pub message: Option<String>,
    /// Why no further attempt of the run can succeed until a person changes something, with the remedy where one is known;
    /// `None` if others may.
    pub ends_run: Option<String>,
    /// Whether a further attempt at this trial would end alike, because a program or a file is missing.
    pub ends_trial: bool,
}

impl Runner {
    /// Creates a runner over an open folder.
    pub fn new(folder: RunFolder, suite: Suite, deps: RunDeps, control: RunControl) -> Self {
        let permits = Arc::new(Semaphore::new(deps.cpu.max(1)));
        let (folder, suite) = (Arc::new(folder), Arc::new(suite));
        let context = RunContext { folder, suite, deps, cancel: control.cancel.clone(), permits };
        Self { context, accepted_drift: None, control }
    }

    /// Takes the permits to start, set up and check worlds from others' too, in place of its own.
    #[must_use]
    pub fn sharing(mut self, permits: Arc<Semaphore>) -> Self {
        self.context.permits = permits;
        self
    }

    /// The run's folder.
    pub fn folder(&self) -> &RunFolder {
        &self.context.folder
    }

    /// Runs one trial to its result, and appends the rows to the run's folder. Repeats void attempts up to the plan's
    /// number. Returns `None` when the run was cancelled before there was a result.
    pub async fn run_trial(&self, trial: &TrialSpec) -> Result<Option<TrialRow>, RunError> {
        while !self.context.folder.is_finished(&trial.trial) {
            if self.context.cancel.is_cancelled() {
                return Ok(None);
            }
            let attempt = self.next_attempt(&trial.trial);
            let carried = self.carry_out(trial, attempt, self.context.cancel.child_token()).await?;
            self.context.folder.append(&carried.row)?;
            if carried.ends_trial {
                self.context.folder.settle(&trial.trial);
            }
            let ends_run = carried.ends_run.clone();
            let model = carried.row.model.clone();
            self.report(carried);
            if let Some(why) = ends_run {
                return Err(RunError::Lasting { model, why, folder: self.folder().path().to_owned() });
            }
        }
        Ok(self.context.folder.attempts(&trial.trial).pop())
    }

    /// Carries out one attempt, without storing its row. The attempt ends as void when `cancel`, a child of the run's
    /// token, is cancelled.
    pub async fn carry_out(
        &self,
        trial: &TrialSpec,
        attempt: u32,
        cancel: CancellationToken,
    ) -> Result<CarriedOut, RunError> {
        self.control.report(Progress::Started { trial: trial.clone(), attempt });
        let mut carried = match AssertUnwindSafe(self.attempt(trial, attempt, cancel)).catch_unwind().await {
            Ok(finished) => finished?,
            // A panic in one trial must not end the other trials.
            Err(_) => {
                let row = self.internal_error_row(trial, attempt);
                CarriedOut { row, message: None, ends_run: None, ends_trial: false }
            }
        };
        if carried.row.void_cause == Some(VoidCause::DiskFull) {
            // A full world affects one trial, but a full disk affects all: then the run stops, and the attempt
            // does not count, as if it had been killed.
            self.context.folder.check_disk_space()?;
        }
        let in_a_row = self.control.faults.note(&carried.row);
        if carried.ends_run.is_none() && carried.row.void_cause == Some(VoidCause::ModelUnavailable) {
            carried.ends_run = self.context.deps.models.gone(&trial.model).await;
        }
        if carried.ends_run.is_none() && in_a_row {
            let why = carried.message.as_deref().unwrap_or("it gave no reply");
            carried.ends_run = Some(format!("several attempts in a row got no reply: {why}"));
        }
        Ok(carried)
    }

    /// Reports an attempt whose row is on disk.
    pub(super) fn report(&self, CarriedOut { row, message, .. }: CarriedOut) {
        self.control.report(Progress::Finished { row: Box::new(row), message });
    }

    fn internal_error_row(&self, trial: &TrialSpec, attempt: u32) -> TrialRow {
        tracing::error!(trial = %trial.trial, attempt, "a panic outside the agent");
        let started_at = self.context.deps.clock.now();
        let void_cause = Some(VoidCause::Internal);
        TrialRow { started_at, void_cause, ..self.context.folder.blank_row(trial, attempt) }
    }

    pub(super) fn next_attempt(&self, trial: &TrialId) -> u32 {
        self.context.folder.attempts(trial).iter().map(|row| row.attempt).max().unwrap_or(0) + 1
    }

    async fn attempt(
        &self,
        trial: &TrialSpec,
        attempt: u32,
        cancel: CancellationToken,
    ) -> Result<CarriedOut, RunError> {
        let clock = self.context.deps.clock.as_ref();
        let (started_at, begun) = (clock.now(), clock.mono());
        let unknown = || RunError::NoTask(trial.task.clone());
        let task = self.context.suite.task(trial.task.as_str()).ok_or_else(unknown)?;
        let task = worded(task, &trial.arm, trial.seed).map_err(PlanError::from)?;
        let varied = vary(&task, &self.context.suite.name, trial.seed)
            .map_err(|source| RunError::Vary { task: trial.task.clone(), source })?;
        let model = self.model(trial, attempt, &varied.task)?;
        // An attempt whose guidance cannot be built is void: without it, it would be a trial of another arm.
        let guidance = (self.context.deps.guidance)(trial);
        let row = self.context.folder.blank_row(trial, attempt);
        let live = self.control.live.begin(self.live_start(trial, attempt, &varied, cancel));
        let execution = AttemptExecution {
            context: &self.context,
            trial,
            varied: &varied,
            model: model.as_ref(),
            guidance: guidance.as_ref(),
            folder: self.context.folder.path().join(&row.trace),
            live: live.trial(),
        };
        let done = execution.execute().await;
        let row = TrialRow { person_acts: live.trial().status().person_actions, ..row };
        let wall = clock.mono().saturating_sub(begun);
        let message = done.void.as_ref().map(|void| void.message.clone());
        let ends_trial = done.void.as_ref().is_some_and(|void| void.unchanging);
        let ends_run = message.clone().filter(|_| done.void.as_ref().is_some_and(|void| void.lasting));
        let book = guidance.ok().and_then(|guidance| guidance.skillbook_hash);
        let skillbook_hash = book.or_else(|| row.skillbook_hash.clone());
        let row = self.completed_row(TrialRow { started_at, skillbook_hash, ..row }, done, wall);
        Ok(CarriedOut { row, message, ends_run, ends_trial })
    }

    /// What watchers are told of an attempt when it begins.
    fn live_start(
        &self,
        trial: &TrialSpec,
        attempt: u32,
        varied: &TaskVariation,
        cancel: CancellationToken,
    ) -> TrialStart {
        TrialStart {
            trial: trial.trial.to_string(),
            attempt,
            task: trial.task.to_string(),
            model: trial.model.clone(),
            arm: trial.arm.clone(),
            seed: trial.seed,
            limits: self.context.folder.plan().limits_of(trial, varied.task.limits()),
            clock: Arc::clone(&self.context.deps.clock),
            redactor: Arc::clone(&self.context.deps.redactor),
            cancel,
        }
    }

    fn model(&self, trial: &TrialSpec, attempt: u32, task: &Task) -> Result<Arc<dyn ChatModel>, RunError> {
        let of = AttemptOf { run: &self.context.folder.plan().run, trial, attempt };
        let script = |source| RunError::Script { task: trial.task.clone(), source };
        Ok(match trial.model.as_str() {
            "baseline/solution" => Arc::new(SolutionModel::solution(task).map_err(script)?),
            "baseline/near-miss" => Arc::new(SolutionModel::near_miss(task).map_err(script)?),
            "baseline/noop" => Arc::new(FixedModel::noop()),
            "baseline/give-up" => Arc::new(FixedModel::give_up()),
            name => self
                .context
                .deps
                .models
                .model_of_attempt(of)
                .map_err(|why| RunError::Model { model: name.to_owned(), why })?,
        })
    }

    fn completed_row(&self, row: TrialRow, done: AttemptOutcome, wall: Duration) -> TrialRow {
        let ended = done.ended.as_ref();
        let spent = ended.map(|ended| ended.spent).unwrap_or_default();
        let working = wall.saturating_sub(done.idle);
        let judged = done.judged.filter(|_| done.void.is_none());
        TrialRow {
            verdict: judged.as_ref().map_or(Verdict::Void, |judged| judged.verdict),
            score: judged.map_or(0.0, |judged| judged.score),
            world_steps: spent.world_steps,
            turns: spent.turns,
            tokens: spent.tokens,
            // An estimate: four characters per token for text of this kind.
            delivered_tokens: ended.map_or(0, |ended| ended.delivered_chars.div_ceil(4)),
            cost_usd: spent.cost_usd,
            judge: done.judge,
            wall_s: wall.as_secs_f64(),
            working_s: working.as_secs_f64(),
            model_s: Duration::from_millis(spent.model_ms).as_secs_f64(),
            cost_estimated: ended.is_some_and(|ended| ended.estimated),
            stop_reason: ended.and_then(|ended| ended.stop.ok()).filter(|_| done.void.is_none()),
            void_cause: done.void.map(|void| void.cause),
            skills_viewed: ended.map_or_else(Vec::new, |ended| ended.skills_viewed.clone()),
            provider_model: ended.and_then(|ended| ended.provider_model.clone()),
            isolation: done.isolation,
            admit: self.accepted_drift.clone(),
            ..row
        }
    }
}
