//! An experiment freezes a skillbook (learned from a teacher on training tasks, or given) and measures the student on
//! test tasks with and without it.
//!
//! Folder layout: `experiment.json` is the definition, `learning/<run>`, `dev/<run>` and `measure/<run>` are
//! ordinary run folders, `skillbook` is the learned book, `prereg.lock` is the preregistration, `hygiene.json` reports how well training and
//! test data are separated, and `report.json` and `report.html` are the results. Starting an experiment again in the
//! same folder resumes it.

mod cleanup;
mod definition;
mod dev_trials;
mod empty_book;
mod execution;
pub mod experiment_config;
mod forecast;
mod learning_half;
mod learning_summary;
mod logged_model;
mod measure;
mod open_run;
mod planned_reviews;
mod power_forecast;
mod prereg;
mod replicate;
mod reviewer_quality;
mod shared_guidance;
mod stored_report;
mod stored_run;
mod trial_guidance;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{CapOverrides, ChatModel, TaskId, Verdict, counted};
use apprentice_screening::effect::EffectRule;
use apprentice_skillbook::{At, BookError, Snapshot};
use apprentice_wording::EmbeddingModel;
use tokio::sync::mpsc::UnboundedSender;

use crate::arms::ArmError;
use crate::arms::function_scope::FunctionScope;
use crate::arms::hidden_skills::HiddenSkills;
use crate::arms::tool_servers::ToolSettings;
use crate::audits::contamination::examine;
use crate::learn::{CycleError, CycleOptions, DemonstrationError, LearningRecord, LockedSuitesError};
use crate::run::{
    ArmPlan, Contender, Conversations, PlanRequest, RunControl, RunDeps, RunError, RunPlan, RunSummary,
    Runner, StoreError, execute_plan, plan,
};
use crate::split::{SplitError, SplitLock};
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::report::{PageError, Report, ReportFileError, write_report};
use apprentice_runs::WrongPlace;
use apprentice_runs::layout::{CONTAMINATION_FILE, PREREG_FILE, SKILLBOOK_FOLDER};
use apprentice_runs::row::Split;
use apprentice_runs::rows::RowsError;
use apprentice_tasks::suite::{Suite, WORDINGS_FILE};
use definition::StartState;

pub use apprentice_results::report::PrimaryComparison;
pub use cleanup::CleanupRule;
pub use definition::{BookPlan, Definition, DefinitionError, EXPERIMENT_SCHEMA};
pub use dev_trials::TooFewDevTrials;
pub use execution::{RunsElsewhere, SharedRun};
pub use experiment_config::{
    ExperimentConfig, ExperimentConfigError, ProgramDefaults, ResolveContext, ResolvedConfig,
};
pub use forecast::{
    Forecast, LearningModels, ModelCost, PLAN_SCHEMA, PlannedPart, finished_rows, forecast, remaining_cost,
};
pub use power_forecast::Power;
pub use prereg::{PREREG_SCHEMA, Prereg, PreregError};
pub use shared_guidance::{SHARED_GUIDANCE_SCHEMA, SharedGuidance, SharedGuidanceError};
pub use stored_report::{report, runs};

/// The full configuration of an experiment.
#[derive(Clone)]
pub struct Experiment {
    /// The suite that tasks come from.
    pub suite: Arc<Suite>,
    /// The suite's locked split. Without a split, every task is measured and learning is impossible.
    pub lock: Option<SplitLock>,
    /// The tasks that take part; `None` means all.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// Where the skillbook comes from.
    pub book: BookSource,
    /// Name of the model that is measured once on the test tasks, without a book.
    pub teacher: Option<String>,
    /// Name of the model that compares answers with references; `None` if the user names none.
    pub judge: Option<String>,
    /// Name of the small model. It rehearses during learning and is measured in every arm.
    pub student: String,
    /// Names of further models that are measured in every arm.
    pub others: Vec<String>,
    /// The arms in which the students are measured.
    pub arms: Vec<Arm>,
    /// The primary comparison, made with the student.
    pub primary: PrimaryComparison,
    /// Seeds per test task for the student.
    pub seeds: u32,
    /// Whether to run the baselines (reference solution, no-op, give up) on the test tasks.
    pub baselines: bool,
    /// Maximum attempts per trial; void attempts are retried.
    pub attempts: u32,
    /// Seed of the shuffle that orders the trials.
    pub order_seed: u64,
    /// Limits for every trial, overriding the tasks' own.
    pub limits: Option<CapOverrides>,
    /// Limits for the student's trials, in place of all others.
    pub student_limits: Option<CapOverrides>,
    /// Ablations and compute-matched baselines run with the student, in addition to the arms.
    pub ablations: Ablations,
    /// Skills hidden from the tasks of certain apps.
    pub suppress: HiddenSkills,
    /// Which functions the arms `code` and `code+pull` lend.
    pub functions: FunctionScope,
    /// Folders of runs whose training attempts the arm `raw-trace` shows, besides those of the learning run.
    pub demonstrations: Vec<PathBuf>,
    /// Number of books learned with the same method, including this one; 1 means no replicates.
    pub replicates: u32,
    /// The tool servers that skills may use.
    pub tools: ToolSettings,
    /// The preregistration, if there is one. Without it, the experiment registers itself when it starts.
    pub registered: Option<Prereg>,
    /// The command line that started the experiment.
    pub command: Vec<String>,
    /// The version of the `apprentice` program.
    pub program: String,
}

/// Where the skillbook comes from.
#[derive(Clone)]
pub enum BookSource {
    /// Learned on the training tasks.
    Learned(LearningPlan),
    /// A given book.
    Given(Snapshot),
}

/// How a skillbook is learned.
#[derive(Clone)]
pub struct LearningPlan {
    /// Name of the teacher model.
    pub teacher: String,
    /// The model that reviews attempts and manages the book.
    pub learner: Arc<dyn ChatModel>,
    /// Options of the learning cycle.
    pub cycle: CycleOptions,
}

/// The runtime dependencies of an experiment.
pub struct ExperimentDeps {
    /// Models, environments, clock and redaction. The experiment replaces the guidance provider with its own.
    pub run: RunDeps,
    /// Maximum number of environments running at once.
    pub jobs: usize,
    /// Who carries out the measurement in place of this process, and keeps copies of the folder.
    pub elsewhere: Option<Arc<dyn RunsElsewhere>>,
    /// Where its runs report their progress, and what cancels the experiment.
    pub control: RunControl,
    /// Receives a record for every trajectory that was learned from.
    pub records: UnboundedSender<LearningRecord>,
    /// Embeddings for skill search and comparison, used in addition to word matching.
    pub embedding: Option<Arc<EmbeddingModel>>,
    /// The models that read each text before it enters the skillbook.
    pub readers: Vec<Arc<dyn ChatModel>>,
    /// What happens to a text that has an effect.
    pub effects: EffectRule,
    /// Whether arms with a book are measured although learning wrote no skill.
    pub measures_empty_book: bool,
}

/// The result of an experiment.
pub struct ExperimentResult {
    /// The report.
    pub report: Report,
    /// Summary of the measuring run.
    pub measured: RunSummary,
    /// Summaries of the measuring runs of later replicates, in order.
    pub later: Vec<RunSummary>,
}

impl ExperimentDeps {
    /// Has a copy of the experiment's folder kept, if somebody keeps copies.
    async fn keep_copy(&self) -> Result<(), RunError> {
        match &self.elsewhere {
            Some(keeper) => keeper.keep_copy().await,
            None => Ok(()),
        }
    }

    /// Carries out a run of the experiment, here or elsewhere.
    async fn carry_out(&self, run: SharedRun) -> Result<RunSummary, RunError> {
        if let Some(others) = &self.elsewhere {
            return others.carry_out(run).await;
        }
        let suite = run.suite.as_ref().clone();
        execute_plan(Runner::new(run.folder, suite, run.deps, self.control.clone()), self.jobs).await
    }
}

impl ExperimentResult {
    /// Counts void trials over all measuring runs, replicates included.
    pub fn void(&self) -> usize {
        [&self.measured].into_iter().chain(&self.later).map(|run| run.count(Verdict::Void)).sum()
    }
}

/// The reason an experiment stopped. Finished work is kept.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The folder cannot hold this experiment.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The book cannot be locked to its suite.
    #[error(transparent)]
    Locked(#[from] LockedSuitesError),
    /// Trial rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The skillbook cannot be used.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The attempts that an arm shows cannot be read.
    #[error(transparent)]
    Demonstrations(#[from] DemonstrationError),
    /// Learning failed.
    #[error("learning stopped")]
    Cycle(#[from] CycleError),
    /// The split does not match the suite.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// An arm has no guidance to provide.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// Learning needs training tasks, and those need a split.
    #[error(
        "learning a skillbook needs a locked split that names the training tasks: `apprentice split draw SUITE` makes one"
    )]
    NoSplit,
    /// The arm `inline` replays what the arm `pull` retrieved, and `pull` is not run.
    #[error("the arm inline inserts the guidance that the arm pull retrieved: add pull to the arms")]
    InlineNeedsPull,
    /// Compute-matched baselines are compared with the arm `none`, which is not run.
    #[error("more_steps and best_of are compared with the arm none: add none to the arms")]
    BaselinesNeedNone,
    /// The arm `auto` has too few dev trials to choose by.
    #[error(transparent)]
    TooFewDevTrials(#[from] TooFewDevTrials),
    /// Skill ablations are compared with the arm `pull`, which is not run.
    #[error("leave_one_out compares the arm pull with and without a skill: add pull to the arms")]
    AblationNeedsPull,
    /// A test task has fewer other wordings than are requested.
    #[error("wordings = {wanted}, but task {task} has {} in the suite's {WORDINGS_FILE}", counted(*known, "other wording"))]
    TooFewWordings {
        /// The task.
        task: TaskId,
        /// The number of its other wordings.
        known: usize,
        /// The requested number.
        wanted: u32,
    },
    /// The selection contains no task of the named split.
    #[error("no {0} task is selected: check the split and the task selection")]
    NoTasks(&'static str),
    /// The run in the folder was planned with a different configuration.
    #[error("{} was planned with different settings: {} differ; start again in another folder", run.display(), fields.join(", "))]
    Drift {
        /// The run folder.
        run: PathBuf,
        /// Names of the settings that differ.
        fields: Vec<String>,
    },
    /// The path holds neither an experiment nor a run nor rows.
    #[error(transparent)]
    Other(#[from] WrongPlace),
    /// The experiment has not begun its first run.
    #[error("the experiment in {} has no run yet; `apprentice resume` goes on with it", .0.display())]
    NoRun(PathBuf),
    /// A trial file has no rows.
    #[error("{} contains no rows", .0.display())]
    NoRows(PathBuf),
    /// The HTML page cannot be rendered.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] ReportFileError),
    /// A file cannot be read or written.
    #[error("{} cannot be read or written", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The preregistration cannot be read or written.
    #[error(transparent)]
    Prereg(#[from] PreregError),
    /// Learning wrote no skill, so that arms with a book would be measured without one.
    #[error("nothing is measured, because {why}")]
    EmptyBook {
        /// What learning left.
        why: String,
        /// Whether every attempt that was to be learned from is void.
        all_void: bool,
        /// The experiment's folder.
        folder: PathBuf,
    },
    /// The experiment was cancelled.
    #[error("the experiment was stopped; finished work is kept")]
    Stopped,
}

/// Runs an experiment in `folder`, or resumes it: first with the first book, then with its replicates.
pub async fn run_experiment(
    experiment: &Experiment,
    deps: &ExperimentDeps,
    folder: &Path,
) -> Result<ExperimentResult, ExperimentError> {
    let first = run_one_book(experiment, deps, folder).await?;
    let mut later = Vec::new();
    for (number, again) in experiment.later_replicates() {
        let one = run_one_book(&again, deps, &folder.join(replicate::name(number))).await?;
        later.push(one.measured);
    }
    if later.is_empty() {
        return Ok(first);
    }
    let report = report(folder)?;
    write_report(&report, folder)?;
    deps.keep_copy().await?;
    Ok(ExperimentResult { report, later, ..first })
}

async fn run_one_book(
    experiment: &Experiment,
    deps: &ExperimentDeps,
    folder: &Path,
) -> Result<ExperimentResult, ExperimentError> {
    validate(experiment)?;
    let definition = Definition::of(experiment)?;
    if definition.start_or_resume(folder)? == StartState::New {
        let new = || Prereg::new(definition, None, deps.run.clock.now());
        let registered = experiment.registered.clone().unwrap_or_else(new);
        registered.write(&folder.join(PREREG_FILE))?;
    }
    let (book, learned) = match &experiment.book {
        BookSource::Learned(learning) => {
            let learned = learning_half::learn(experiment, learning, deps, folder);
            let rows = Box::pin(learned).await?;
            (Snapshot::open(&folder.join(SKILLBOOK_FOLDER), At::Now)?.clean()?, rows)
        }
        BookSource::Given(book) => (book.clone(), Vec::new()),
    };
    let book = book.with_embedding(deps.embedding.clone());
    let examined = examine(&experiment.suite, experiment.lock.as_ref(), &book, &learned);
    let kept = examined.write(folder);
    kept.map_err(|source| ExperimentError::Read { path: folder.join(CONTAMINATION_FILE), source })?;
    if let Err(empty) = empty_book::refuse(experiment, deps, folder, &book, &learned) {
        write_report(&report(folder)?, folder)?;
        deps.keep_copy().await?;
        return Err(empty);
    }
    let measured = measure::measure(experiment, deps, folder, &book, &learned).await?;
    let report = report(folder)?;
    write_report(&report, folder)?;
    deps.keep_copy().await?;
    Ok(ExperimentResult { report, measured, later: Vec::new() })
}

/// Plans the measuring run of a given book without running anything. Returns `None` for a book that is yet to be
/// learned, since its skills, and so its eligible tasks, are unknown.
pub fn plan_measurement(
    experiment: &Experiment,
    now: jiff::Timestamp,
) -> Result<Option<RunPlan>, ExperimentError> {
    validate(experiment)?;
    let BookSource::Given(book) = &experiment.book else { return Ok(None) };
    let request = measure::assumed_request(experiment, book)?;
    Ok(Some(experiment.capped(plan(&request, now).map_err(RunError::from)?)))
}

fn validate(experiment: &Experiment) -> Result<(), ExperimentError> {
    match (&experiment.lock, &experiment.book) {
        (Some(lock), _) => lock.check_suite(&experiment.suite)?,
        (None, BookSource::Learned(_)) => return Err(ExperimentError::NoSplit),
        (None, BookSource::Given(_)) => {}
    }
    if experiment.arms.contains(&Arm::Inline) && !experiment.arms.contains(&Arm::Pull) {
        return Err(ExperimentError::InlineNeedsPull);
    }
    let ablations = experiment.ablations;
    if ablations.without_book().next().is_some() && !experiment.arms.contains(&Arm::None) {
        return Err(ExperimentError::BaselinesNeedNone);
    }
    if ablations.leave_one_out.is_some_and(|count| count > 0) && !experiment.arms.contains(&Arm::Pull) {
        return Err(ExperimentError::AblationNeedsPull);
    }
    dev_trials::check(experiment)?;
    if let Some((task, known)) = lacks_wordings(experiment) {
        let wanted = ablations.wordings.unwrap_or_default();
        return Err(ExperimentError::TooFewWordings { task, known, wanted });
    }
    match experiment.tasks(Split::Test).is_empty() {
        true => Err(ExperimentError::NoTasks("test")),
        false => Ok(()),
    }
}

/// Returns the first test task with fewer other wordings than are requested, and their number.
fn lacks_wordings(experiment: &Experiment) -> Option<(TaskId, usize)> {
    let wanted = usize::try_from(experiment.ablations.wordings?).ok()?;
    let known = |id: TaskId| {
        let number = experiment.suite.task(id.as_str()).map_or(0, |task| task.wordings.len());
        (id, number)
    };
    experiment.tasks(Split::Test).into_iter().map(known).find(|(_, number)| *number < wanted)
}

impl Experiment {
    /// Returns the tasks of one split, in suite order. Without a lock, every task is a test task.
    pub(crate) fn part(&self, part: Split) -> Vec<TaskId> {
        let of_part = |id: &&TaskId| match &self.lock {
            Some(lock) => lock.split_of_task(id).is_ok_and(|split| split == part),
            None => part == Split::Test,
        };
        self.suite.tasks.iter().map(|task| &task.id).filter(of_part).cloned().collect()
    }

    /// Iterates over the models that are measured in every arm.
    fn students(&self) -> impl Iterator<Item = &String> {
        [&self.student].into_iter().chain(&self.others)
    }

    /// Returns a run's plan with the student's limits.
    fn capped(&self, plan: RunPlan) -> RunPlan {
        RunPlan { student_limits: self.student_limits, ..plan }
    }

    /// Builds the request for a run of the experiment: these contenders on these tasks.
    fn plan_request(
        &self,
        tasks: BTreeSet<TaskId>,
        contenders: Vec<Contender>,
        books: Vec<ArmPlan>,
    ) -> PlanRequest<'_> {
        PlanRequest {
            suite: &self.suite,
            split: self.lock.as_ref(),
            tasks: Some(tasks),
            contenders,
            seeds: self.seeds,
            limits: self.limits,
            attempts: self.attempts,
            order_seed: self.order_seed,
            conversations: Conversations::Dropped,
            command: self.command.clone(),
            program: self.program.clone(),
            books,
        }
    }

    /// Returns the selected tasks of one split.
    pub(crate) fn tasks(&self, part: Split) -> Vec<TaskId> {
        let chosen = |id: &TaskId| self.tasks.as_ref().is_none_or(|tasks| tasks.contains(id));
        self.part(part).into_iter().filter(chosen).collect()
    }
}
