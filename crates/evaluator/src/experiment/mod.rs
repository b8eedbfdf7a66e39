//! An experiment: a book, learned by a teacher on training tasks or given, is frozen, and the student is
//! measured on test tasks with and without it.
//!
//! Below one folder: `experiment.json` says what it is, `learning/<run>` and `measure/<run>` are runs like any
//! other, `skillbook` is the book that was learned, `prereg.lock` what was registered before it began,
//! `hygiene.json` how clean the parting of training and test is; `report.json` and `report.html` say what came
//! of it. Begun again in the same folder, an experiment goes on where it was.

mod account;
mod cleanup;
mod definition;
mod forecast;
mod lesson;
mod measure;
mod note;
mod prereg;
mod replicate;
mod reviewer;
pub mod sheet;
mod study;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{ChatModel, Limits, TaskId, Verdict};
use apprentice_skills::Meaning;
use apprentice_skills::book::{At, BookError, Snapshot, freeze};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::arm::ArmError;
use crate::hygiene::examine;
use crate::learn::{CycleError, CycleOptions, Worked};
use crate::run::{Progress, RunDeps, RunError, RunFolder, RunPlan, RunSummary, StoreError, plan};
use crate::servers::ToolBox;
use crate::split::{SplitError, SplitLock};
use crate::suppress::Suppressed;
use apprentice_results::arm::Arm;
use apprentice_results::contamination::HYGIENE_FILE;
use apprentice_results::further::FurtherArms;
use apprentice_results::report::{PageError, Report, ReportFileError, write_report};
use apprentice_results::row::Split;
use apprentice_results::rows::RowsError;
use apprentice_tasks::suite::Suite;
use definition::Begun;

pub use account::{report, runs};
pub use apprentice_results::report::Primary;
pub use cleanup::CleanupRule;
pub use definition::{BookPlan, Definition, DefinitionError, EXPERIMENT_SCHEMA};
pub use forecast::{Forecast, ModelCost, PLAN_SCHEMA, PlannedPart, Power, done, expense, forecast};
pub use prereg::{PREREG_FILE, PREREG_SCHEMA, Prereg, PreregError};
pub use sheet::{Draft, Setting, Sheet, SheetError, Ways};

/// What an experiment is.
#[derive(Clone)]
pub struct Experiment {
    /// The suite.
    pub suite: Arc<Suite>,
    /// Its split. Without one every task is measured, and nothing can be learned.
    pub lock: Option<SplitLock>,
    /// The tasks that take part; all, if absent.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// Where the book comes from.
    pub book: BookSource,
    /// The model that is measured once on the test tasks, without help, by name.
    pub teacher: Option<String>,
    /// The small model, by name: it rehearses, and is measured in every arm.
    pub student: String,
    /// Further models that are measured in every arm.
    pub others: Vec<String>,
    /// The arms in which the students are measured.
    pub arms: Vec<Arm>,
    /// The comparison that decides, for the student.
    pub primary: Primary,
    /// Variations of each test task for the student.
    pub seeds: u32,
    /// Whether the solution, doing nothing and giving up are run on the test tasks too.
    pub baselines: bool,
    /// Tries at one trial.
    pub attempts: u32,
    /// What the order of trials is shuffled by.
    pub order_seed: u64,
    /// Caps of every trial, in place of the tasks' own.
    pub limits: Option<Limits>,
    /// What else is run with the student, beside the arms.
    pub further: FurtherArms,
    /// Skills that are hidden from the tasks of some programs.
    pub suppress: Suppressed,
    /// Books that are learned alike, this one included; 1 where it is the only one.
    pub replicates: u32,
    /// The tools that skills may bring.
    pub tools: ToolBox,
    /// What was registered beforehand; if nothing was, the experiment registers itself as it begins.
    pub registered: Option<Prereg>,
    /// The command as it was given.
    pub command: Vec<String>,
    /// The program's version.
    pub program: String,
}

/// Where the book comes from.
#[derive(Clone)]
pub enum BookSource {
    /// It is learned on the training tasks.
    Learned(Lessons),
    /// It was there before.
    Given(Snapshot),
}

/// How a book is learned.
#[derive(Clone)]
pub struct Lessons {
    /// The capable model, by name.
    pub teacher: String,
    /// The model that reviews attempts and keeps the book.
    pub learner: Arc<dyn ChatModel>,
    /// How learning goes.
    pub cycle: CycleOptions,
}

/// What an experiment needs of the outside.
pub struct Laboratory {
    /// Models, worlds, time and redaction; what is lent is the experiment's own affair.
    pub deps: RunDeps,
    /// Worlds active at once.
    pub jobs: usize,
    /// Hears of every attempt.
    pub progress: UnboundedSender<Progress>,
    /// Hears of every trajectory that was worked in.
    pub lessons: UnboundedSender<Worked>,
    /// Stops it.
    pub cancel: CancellationToken,
    /// What skills are searched and compared by beside words.
    pub meaning: Option<Arc<Meaning>>,
}

/// What came of it.
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// The run that was measured.
    pub measured: RunSummary,
    /// The runs of the books that were learned after the first, in order.
    pub later: Vec<RunSummary>,
}

impl Outcome {
    /// Measured trials without a result, whichever book they are of.
    pub fn void(&self) -> usize {
        [&self.measured].into_iter().chain(&self.later).map(|run| run.count(Verdict::Void)).sum()
    }
}

/// Why an experiment stopped. What was run so far stays.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The folder cannot take it.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A run could not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rows do not read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The book cannot be used.
    #[error(transparent)]
    Book(#[from] BookError),
    /// Learning could not go on.
    #[error("learning stopped")]
    Cycle(#[from] CycleError),
    /// The split does not fit the suite.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// Nothing can be lent.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// A book is learned on training tasks only, and without a split there are none.
    #[error("a book can only be learned where a split says which tasks are for training: lock the suite")]
    Unsplit,
    /// An arm is lent what another one looked at, and that is not run.
    #[error("the arm inline puts in what the arm pull looked at: add pull to the arms")]
    Partner,
    /// What is to be held against the arm without help needs that arm.
    #[error("more steps and more tries are held against the arm none: add none to the arms")]
    Unhelped,
    /// What is to be held against the arm with the book needs that arm.
    #[error("what a skill is worth is told by the arm pull with it and without it: add pull to the arms")]
    Whole,
    /// Nothing is left to do.
    #[error("no {0} task takes part: check the split and the selection of tasks")]
    Empty(&'static str),
    /// What is to be measured is not what the run in the folder was planned for.
    #[error("{} was planned with something else: {} differ; begin again in another folder", run.display(), fields.join(", "))]
    Drift {
        /// The run.
        run: PathBuf,
        /// What differs.
        fields: Vec<String>,
    },
    /// There is nothing to report.
    #[error("{} holds no experiment, no run and no file trials.jsonl", .0.display())]
    Missing(PathBuf),
    /// A file holds no row.
    #[error("{} holds no row", .0.display())]
    NoRows(PathBuf),
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] ReportFileError),
    /// A file cannot be read or written.
    #[error("{} cannot be used", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The registration cannot be kept.
    #[error(transparent)]
    Prereg(#[from] PreregError),
    /// It was stopped from outside.
    #[error("the experiment was stopped; what is finished is kept")]
    Stopped,
}

/// Carries an experiment out below `folder`, or goes on with it: with its first book, then with the others.
pub async fn carry_out(
    experiment: &Experiment,
    laboratory: &Laboratory,
    folder: &Path,
) -> Result<Outcome, ExperimentError> {
    let first = with_one_book(experiment, laboratory, folder).await?;
    let mut later = Vec::new();
    for (number, again) in experiment.later_replicates() {
        let one = with_one_book(&again, laboratory, &folder.join(replicate::name(number))).await?;
        later.push(one.measured);
    }
    if later.is_empty() {
        return Ok(first);
    }
    let report = report(folder)?;
    write_report(&report, folder)?;
    Ok(Outcome { report, later, ..first })
}

async fn with_one_book(
    experiment: &Experiment,
    laboratory: &Laboratory,
    folder: &Path,
) -> Result<Outcome, ExperimentError> {
    check(experiment)?;
    let definition = Definition::of(experiment)?;
    if definition.settle(folder)? == Begun::Now {
        let new = || Prereg::new(definition, None, laboratory.deps.clock.now());
        let registered = experiment.registered.clone().unwrap_or_else(new);
        registered.write(&folder.join(PREREG_FILE))?;
    }
    let (book, learned) = match &experiment.book {
        BookSource::Learned(lessons) => {
            let rows = study::learn((experiment, lessons), laboratory, folder).await?;
            (Snapshot::open(&folder.join("skillbook"), At::Now)?.clean()?, rows)
        }
        BookSource::Given(book) => (book.clone(), Vec::new()),
    };
    let book = book.understood(laboratory.meaning.clone());
    let sides = (experiment.suite.as_ref(), experiment.lock.as_ref());
    let kept = examine(sides, &book, &learned).write(folder);
    kept.map_err(|source| ExperimentError::Read { path: folder.join(HYGIENE_FILE), source })?;
    let measured = measure::measure(experiment, laboratory, (folder, &book, &learned)).await?;
    let report = report(folder)?;
    write_report(&report, folder)?;
    Ok(Outcome { report, measured, later: Vec::new() })
}

/// What measuring a given book would run, without running anything. A book that is yet to be learned has no
/// plan: what can be lent from it is not known.
pub fn outline(experiment: &Experiment, now: jiff::Timestamp) -> Result<Option<RunPlan>, ExperimentError> {
    check(experiment)?;
    let BookSource::Given(book) = &experiment.book else { return Ok(None) };
    let (request, _) = measure::request(experiment, book, (Path::new(""), &[]))?;
    Ok(Some(plan(&request, now, &experiment.program).map_err(RunError::from)?))
}

fn check(experiment: &Experiment) -> Result<(), ExperimentError> {
    match (&experiment.lock, &experiment.book) {
        (Some(lock), _) => lock.check_suite(&experiment.suite.hash)?,
        (None, BookSource::Learned(_)) => return Err(ExperimentError::Unsplit),
        (None, BookSource::Given(_)) => {}
    }
    if experiment.arms.contains(&Arm::Inline) && !experiment.arms.contains(&Arm::Pull) {
        return Err(ExperimentError::Partner);
    }
    let further = experiment.further;
    if further.unhelped().next().is_some() && !experiment.arms.contains(&Arm::None) {
        return Err(ExperimentError::Unhelped);
    }
    if further.leave_one_out.is_some_and(|count| count > 0) && !experiment.arms.contains(&Arm::Pull) {
        return Err(ExperimentError::Whole);
    }
    match experiment.tasks(Split::Test).is_empty() {
        true => Err(ExperimentError::Empty("test")),
        false => Ok(()),
    }
}

impl Experiment {
    /// The tasks of one part of the split, in the suite's order. Without a split all tasks are for the test.
    pub(crate) fn part(&self, part: Split) -> Vec<TaskId> {
        let of_part = |id: &&TaskId| match &self.lock {
            Some(lock) => lock.split_of_task(id).is_ok_and(|split| split == part),
            None => part == Split::Test,
        };
        self.suite.tasks.iter().map(|task| &task.id).filter(of_part).cloned().collect()
    }

    /// The tasks of one part of the split that take part.
    pub(crate) fn tasks(&self, part: Split) -> Vec<TaskId> {
        let chosen = |id: &TaskId| self.tasks.as_ref().is_none_or(|tasks| tasks.contains(id));
        self.part(part).into_iter().filter(chosen).collect()
    }
}

/// The last run below a folder of runs.
fn existing(root: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(root).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.join("run.json").is_file()).max()
}

/// Keeps the very book that a run uses beside it.
fn keep(book: &Snapshot, run: &RunFolder) -> Result<(), ExperimentError> {
    Ok(freeze(book, &run.path().join("book"))?)
}
