//! Runs the cycle's attempts through a run folder, in plan order; finished attempts are found again after an
//! interruption. Also reads the attempts of a finished run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use apprentice_protocol::{BlobHash, BoxFuture, TaskId, Trajectory, Verdict};
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::review::ReflectMode;
use apprentice_trace::{Trace, TraceError, blob_path};
use jiff::Timestamp;

use super::cycle::{AttemptOutcome, AttemptRequest, AttemptSource, CycleOptions, attempt_requests};
use super::step_pictures::TraceFiles;
use super::trajectory::{TrajectoryError, trajectory};
use crate::arms::guidance::ArmGuidance;
use crate::arms::tool_servers::ToolSettings;
use crate::arms::{ArmError, GuidanceProvider};
use crate::error_chain::error_chain;
use crate::run::{
    ArmPlan, Contender, Conversations, ModelPlan, RunControl, RunDeps, RunError, RunFolder, RunPlan, Runner,
    TrialSpec, load_conversation, trial_id,
};
use crate::split::SplitLock;
use crate::task_apps::apps_of;
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE};
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_tasks::suite::Suite;

/// The training tasks of a locked suite, in the suite's order.
pub fn training_tasks(suite: &Suite, lock: &SplitLock) -> Vec<TaskId> {
    let train = |id: &&TaskId| matches!(lock.split_of_task(id), Ok(Split::Train));
    suite.tasks.iter().map(|task| &task.id).filter(train).cloned().collect()
}

/// The models that act in the cycle, as `provider/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The teacher model.
    pub teacher: String,
    /// The student model.
    pub student: String,
}

/// The tasks of a locked suite that a learning cycle works on.
#[derive(Clone, Copy, Debug)]
pub struct TrainingTasks<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Its locked split.
    pub lock: &'a SplitLock,
    /// The tasks, in the suite's order.
    pub tasks: &'a [TaskId],
}

/// Turns a run's plan into the plan of a learning cycle: the same suite, limits and versions, with the cycle's trials
/// in the cycle's order.
pub fn learning_plan(
    mut plan: RunPlan,
    training: TrainingTasks<'_>,
    roles: &Roles,
    options: &CycleOptions,
) -> RunPlan {
    let TrainingTasks { suite, lock, tasks } = training;
    let mut trials = Vec::new();
    for (order, wanted) in (0..).zip(attempt_requests(tasks, options)) {
        let template = suite.task(wanted.task.as_str()).map(|task| task.template().to_owned());
        let template = template.unwrap_or_default();
        let contender = contender(&wanted, roles);
        trials.push(TrialSpec {
            trial: trial_id(&suite.name, &wanted.task, &contender, wanted.seed),
            order,
            task: wanted.task,
            split: lock.split_of(&template),
            template,
            role: contender.role,
            model: contender.model,
            arm: contender.arm,
            seed: wanted.seed,
        });
    }
    let models: BTreeSet<ModelPlan> = trials
        .iter()
        .map(|one| ModelPlan { role: one.role, model: one.model.clone(), identity: None, profile: None })
        .collect();
    let arms: BTreeSet<&str> = trials.iter().map(|one| one.arm.as_str()).collect();
    // The book grows during the run, so no arm has a single hash; each row carries its own.
    let arm = |arm: &str| ArmPlan { arm: arm.to_owned(), ..ArmPlan::default() };
    plan.arms = arms.into_iter().map(arm).collect();
    plan.models = models.into_iter().collect();
    plan.seeds = options.first_seed + options.epochs + u32::from(options.rehearse);
    plan.trials = trials;
    plan.conversations = match options.learn.reflect.mode {
        ReflectMode::InContext => Conversations::Kept,
        ReflectMode::Fresh | ReflectMode::Given => Conversations::Dropped,
    };
    plan
}

fn contender(wanted: &AttemptRequest, roles: &Roles) -> Contender {
    let model = match wanted.role {
        Role::Student => &roles.student,
        Role::Teacher | Role::Solo | Role::Baseline => &roles.teacher,
    };
    Contender {
        role: wanted.role,
        model: model.clone(),
        arm: wanted.arm.to_string(),
        tasks: None,
        seeds: None,
    }
}

/// Runs the cycle's attempts through a run folder.
pub struct LearningRun {
    runner: Runner,
    suite: Arc<Suite>,
    book: Arc<RwLock<Snapshot>>,
    tools: Arc<OnceLock<ToolSettings>>,
    between: Option<BetweenAttempts>,
}

/// What is done while neither run nor skillbook is being written.
pub type BetweenAttempts = Box<dyn Fn() -> BoxFuture<'static, Result<(), RunError>> + Send + Sync>;

/// The reason an attempt of a run cannot be learned from.
#[derive(Debug, thiserror::Error)]
pub enum RecordedAttemptError {
    /// Its trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Its trace cannot be converted to a trajectory.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// The suite has no such task.
    #[error("the suite has no task {0:?}")]
    NoTask(String),
    /// The trial could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The plan does not contain this trial.
    #[error("the run's plan has no trial of {role} on {task}, seed {seed}, arm {arm}: it was planned for another cycle", role = .0.role.as_str(), task = .0.task, seed = .0.seed, arm = .0.arm)]
    NotPlanned(AttemptRequest),
    /// The run was stopped.
    #[error("the run was stopped before the attempt began")]
    Stopped,
}

impl LearningRun {
    /// Runs the trials of a folder made with [`learning_plan`]. Replaces the guidance provider of `deps`: during a
    /// cycle, guidance comes from the book that is being written.
    pub fn new(folder: RunFolder, suite: &Arc<Suite>, deps: RunDeps, control: RunControl) -> Self {
        let book = Arc::new(RwLock::new(Snapshot::empty()));
        let tools: Arc<OnceLock<ToolSettings>> = Arc::default();
        let (current, of_suite, servers) = (book.clone(), suite.clone(), tools.clone());
        let guidance = move |trial: &TrialSpec| {
            let book = current.read().unwrap_or_else(PoisonError::into_inner).clone();
            arm_guidance(&of_suite, servers.get(), book, trial)
        };
        let deps = RunDeps { guidance: Arc::new(guidance), ..deps };
        let runner = Runner::new(folder, Suite::clone(suite), deps, control);
        Self { runner, suite: suite.clone(), book, tools, between: None }
    }

    /// Has this done between attempts and learning. Its error ends the cycle.
    #[must_use]
    pub fn with_between(self, between: BetweenAttempts) -> Self {
        Self { between: Some(between), ..self }
    }

    /// Sets the tool servers that skills may use. Later calls have no effect.
    #[must_use]
    pub fn with_tools(self, tools: ToolSettings) -> Self {
        let _ = self.tools.set(tools);
        self
    }

    /// The run's folder.
    pub fn folder(&self) -> &RunFolder {
        self.runner.folder()
    }

    async fn run(
        &self,
        wanted: &AttemptRequest,
        book: &Snapshot,
    ) -> Result<AttemptOutcome, RecordedAttemptError> {
        *self.book.write().unwrap_or_else(PoisonError::into_inner) = book.clone();
        let arm = wanted.arm.as_str();
        let planned = self.folder().plan().trials.iter().find(|trial| {
            (trial.role, &trial.task, trial.seed, trial.arm.as_str())
                == (wanted.role, &wanted.task, wanted.seed, arm)
        });
        let planned = planned.ok_or_else(|| RecordedAttemptError::NotPlanned(wanted.clone()))?;
        let row = self.runner.run_trial(planned).await?.ok_or(RecordedAttemptError::Stopped)?;
        recorded_attempt(self.folder().path(), row, &self.suite)
    }
}

/// Builds the guidance of one of the cycle's trials from the book as it is then.
fn arm_guidance(
    suite: &Arc<Suite>,
    tools: Option<&ToolSettings>,
    book: Snapshot,
    trial: &TrialSpec,
) -> Result<ArmGuidance, ArmError> {
    let provider = GuidanceProvider::new(suite.clone(), book, None);
    let provider = tools.map(|tools| provider.clone().with_tools(tools)).unwrap_or(provider);
    provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed)
}

impl AttemptSource for LearningRun {
    fn attempt<'a>(
        &'a self,
        wanted: &'a AttemptRequest,
        book: &'a Snapshot,
    ) -> BoxFuture<'a, Result<AttemptOutcome, String>> {
        Box::pin(async move { self.run(wanted, book).await.map_err(|error| error_chain(&error)) })
    }

    fn between(&self) -> BoxFuture<'_, Result<(), String>> {
        match &self.between {
            Some(between) => {
                let done = between();
                Box::pin(async move { done.await.map_err(|error| error_chain(&error)) })
            }
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

/// Reads one attempt of a run for learning: its row and its trajectory.
pub fn recorded_attempt(
    run: &Path,
    row: TrialRow,
    suite: &Suite,
) -> Result<AttemptOutcome, RecordedAttemptError> {
    let seen = match row.verdict {
        Verdict::Void => None,
        Verdict::Pass | Verdict::Fail => Some(seen(run, &row, suite)?),
    };
    let said = seen.as_ref().and_then(|_| load_conversation(&run.join(&row.trace), &run.join(BLOBS_FOLDER)));
    let files = TraceFiles { run: run.to_owned(), attempt: PathBuf::from(&row.trace) };
    Ok(AttemptOutcome { row, trajectory: seen, conversation: said, files: Some(files) })
}

fn seen(run: &Path, row: &TrialRow, suite: &Suite) -> Result<(Trajectory, Timestamp), RecordedAttemptError> {
    let task =
        suite.task(row.task.as_str()).ok_or_else(|| RecordedAttemptError::NoTask(row.task.to_string()))?;
    let trace = Trace::read(&run.join(&row.trace).join(EVENTS_FILE))?;
    let blobs = run.join(BLOBS_FOLDER);
    let text_of = |hash: &BlobHash| apprentice_files::read_to_string(blob_path(&blobs, hash, "txt")).ok();
    Ok(trajectory(&trace, row, apps_of(task), &text_of)?)
}

/// Reads the results of a run in plan order: the last attempt of each trial that has one.
pub fn last_attempts(folder: &RunFolder) -> Vec<TrialRow> {
    folder.plan().trials.iter().filter_map(|trial| folder.attempts(&trial.trial).pop()).collect()
}
