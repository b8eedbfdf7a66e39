//! An experiment: the teacher fills a book on training tasks, the book is frozen, and the student is measured
//! on test tasks with and without it.
//!
//! Below one folder: `learning/<run>` and `measure/<run>` are runs like any other, `skillbook` is the book,
//! `report.json` and `report.html` say what came of it.

mod account;
mod measure;
mod note;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{ChatModel, Clock};
use apprentice_skills::Staff;
use apprentice_skills::book::{BookError, Gateway, GatewayOptions, Snapshot, freeze};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::arm::{Arm, ArmError};
use crate::learn::{
    Classroom, CycleError, CycleOptions, LearningRun, Pupils, SealedIndex, Worked, cycle, learning_plan,
    results, training_tasks,
};
use crate::report::{PageError, Report, render_page};
use crate::row::{Split, TrialRow};
use crate::run::{
    Contender, PlanRequest, Progress, RunDeps, RunError, RunFolder, RunSummary, StoreError, plan,
};
use crate::split::{SplitError, SplitLock};
use crate::suite::Suite;

use note::Noted;

/// What an experiment is.
pub struct Experiment {
    /// The suite.
    pub suite: Arc<Suite>,
    /// Its split.
    pub lock: SplitLock,
    /// The capable model, by name.
    pub teacher: String,
    /// The small model, by name.
    pub student: String,
    /// The arms in which the student is measured.
    pub arms: Vec<Arm>,
    /// Variations of each test task for the student.
    pub seeds: u32,
    /// Whether the solution, doing nothing and giving up are run on the test tasks too.
    pub baselines: bool,
    /// How learning goes.
    pub learning: CycleOptions,
    /// Tries at one trial.
    pub attempts: u32,
    /// What the order of trials is shuffled by.
    pub order_seed: u64,
    /// The command as it was given.
    pub command: Vec<String>,
    /// The program's version.
    pub program: String,
}

/// What an experiment needs of the outside.
pub struct Laboratory {
    /// Models, worlds, time and redaction; what is lent is the experiment's own affair.
    pub deps: RunDeps,
    /// The model that reviews attempts and keeps the book.
    pub learner: Arc<dyn ChatModel>,
    /// Worlds active at once.
    pub jobs: usize,
    /// Hears of every attempt.
    pub progress: UnboundedSender<Progress>,
    /// Hears of every trajectory that was worked in.
    pub lessons: UnboundedSender<Worked>,
    /// Stops it.
    pub cancel: CancellationToken,
}

/// What came of it.
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// The run that was measured.
    pub measured: RunSummary,
    /// The page.
    pub page: PathBuf,
    /// The same numbers as JSON.
    pub json: PathBuf,
}

/// Why an experiment stopped. What was run so far stays.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A run could not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// The split leaves nothing to do.
    #[error("the split has no {0} task")]
    Empty(&'static str),
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A file cannot be written.
    #[error("{path}: cannot be written")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The report cannot be put into words.
    #[error("the report could not be written as JSON")]
    Json(#[from] serde_json::Error),
    /// It was stopped from outside.
    #[error("the experiment was stopped; what is finished is kept")]
    Stopped,
}

/// Carries an experiment out below `folder`. Begun again after a stop, learning goes on where it was.
pub async fn distill(
    experiment: &Experiment,
    laboratory: &Laboratory,
    folder: &Path,
) -> Result<Outcome, ExperimentError> {
    experiment.lock.check_suite(&experiment.suite.hash)?;
    let (learned, rows) = learn(experiment, laboratory, folder).await?;
    let book = Snapshot::open(&folder.join("skillbook"), apprentice_skills::book::At::Now)?.clean()?;
    let measured = measure::measure(experiment, laboratory, (folder, book.clone(), &rows)).await?;
    freeze(&book, &measured.folder.join("book"))?;
    let account = account::Account { experiment, book: &book, learned: &learned, learning_rows: &rows };
    let report = account.report(&measured)?;
    let (page, json) = (folder.join("report.html"), folder.join("report.json"));
    write(&json, &format!("{}\n", serde_json::to_string_pretty(&report)?))?;
    write(&page, &render_page(&report)?)?;
    Ok(Outcome { report, measured, page, json })
}

/// The learning half: fills the book, and returns what was worked in and the rows behind it.
pub async fn learn(
    experiment: &Experiment,
    laboratory: &Laboratory,
    folder: &Path,
) -> Result<(Vec<Worked>, Vec<TrialRow>), ExperimentError> {
    let clock: &dyn Clock = laboratory.deps.clock.as_ref();
    let tasks = training_tasks(&experiment.suite, &experiment.lock);
    if tasks.is_empty() {
        return Err(ExperimentError::Empty("train"));
    }
    let leaks = Arc::new(SealedIndex::build(&experiment.lock, &experiment.suite));
    let options = GatewayOptions { time: clock.now(), leaks };
    let (mut gateway, _) = Gateway::open(&folder.join("skillbook"), options)?;
    let run = learning_run(experiment, laboratory, &folder.join("learning"))?;
    let kept = run.folder().path().join("learning");
    let noted = |name| {
        let (model, cancel) = (Arc::clone(&laboratory.learner), laboratory.cancel.clone());
        Noted::new(model, kept.clone(), name, cancel)
    };
    let staff = Staff { reflector: Arc::new(noted("reflect")), manager: Arc::new(noted("manage")) };
    let room = Classroom { lock: &experiment.lock, tasks: &tasks, attempts: &run, staff: &staff };
    let mut tell = |worked: &Worked| {
        // Nobody need listen.
        let _ = laboratory.lessons.send(worked.clone());
    };
    let worked = cycle(&mut gateway, &room, &experiment.learning, &mut tell).await;
    if laboratory.cancel.is_cancelled() {
        return Err(ExperimentError::Stopped);
    }
    Ok((worked?, results(run.folder())))
}

/// Opens the learning run below `root`, or plans it.
fn learning_run(
    experiment: &Experiment,
    laboratory: &Laboratory,
    root: &Path,
) -> Result<LearningRun, ExperimentError> {
    let folder = match existing(root) {
        Some(path) => RunFolder::open(&path)?,
        None => {
            let plan = planned(experiment, laboratory)?;
            let concessions = laboratory.deps.worlds.concessions();
            RunFolder::create(root, crate::run::RunPlan { concessions, ..plan })?
        }
    };
    let ends = (laboratory.progress.clone(), laboratory.cancel.clone());
    Ok(LearningRun::new(folder, &experiment.suite, laboratory.deps.clone(), ends))
}

fn existing(root: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(root).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.join("run.json").is_file()).max()
}

fn planned(experiment: &Experiment, laboratory: &Laboratory) -> Result<crate::run::RunPlan, ExperimentError> {
    let pupils = Pupils { teacher: experiment.teacher.clone(), student: experiment.student.clone() };
    let request = PlanRequest {
        suite: &experiment.suite,
        split: Some(&experiment.lock),
        tasks: None,
        contenders: vec![Contender {
            role: crate::row::Role::Teacher,
            model: experiment.teacher.clone(),
            arm: Arm::Pull.to_string(),
            tasks: None,
            seeds: Some(1),
        }],
        seeds: 1,
        limits: None,
        attempts: experiment.attempts,
        order_seed: experiment.order_seed,
        command: experiment.command.clone(),
        books: Vec::new(),
    };
    let base = plan(&request, laboratory.deps.clock.now(), &experiment.program).map_err(RunError::from)?;
    Ok(learning_plan(base, (&experiment.suite, &experiment.lock), &pupils, &experiment.learning))
}

impl Experiment {
    /// The tasks of one part of the split, in the suite's order.
    pub(crate) fn tasks(&self, part: Split) -> Vec<apprentice_protocol::TaskId> {
        let of_part =
            |id: &&apprentice_protocol::TaskId| self.lock.split_of_task(id).is_ok_and(|split| split == part);
        self.suite.tasks.iter().map(|task| &task.id).filter(of_part).cloned().collect()
    }
}

fn write(path: &Path, text: &str) -> Result<(), ExperimentError> {
    std::fs::write(path, text).map_err(|source| ExperimentError::Write { path: path.to_owned(), source })
}
