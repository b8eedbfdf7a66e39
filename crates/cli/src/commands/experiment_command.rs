//! Shared code of `demo`, `bench` and `distill`: runs an experiment in a folder and prints its progress and result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::experiment::{
    BookSource, Experiment, ExperimentDeps, ExperimentError, ExperimentResult, RunsElsewhere, run_experiment,
};
use apprentice_evaluator::run::{ModelSource, RunControl};
use apprentice_evaluator::split::SplitLock;
use apprentice_protocol::{ChatModel, Clock, TaskId, counted};
use apprentice_results::report::Report;
use apprentice_runs::layout::REPORT_HTML;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::suite::requirements::needs_judge;
use apprentice_tasks::suite::{Selection, Suite};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::runs::control_socket::offered_run;
use crate::runs::experiment_progress::{ExperimentProgress, Verbosity};
use crate::settings::config::{Config, OnOff};
use crate::terminal::live_lines::LiveLines;
use crate::{terminal, wire};

/// Returns the clock of a command.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

/// Returns the given folder, or a new one in the runs folder.
pub(crate) fn folder(named: Option<&PathBuf>, kind: &str, config: &Config, clock: &dyn Clock) -> PathBuf {
    named.cloned().unwrap_or_else(|| config.runs.join(format!("{kind}-{}", wire::stamp(clock))))
}

/// Reads the given split, or the one beside the suite if it exists.
pub(crate) fn split(named: Option<&PathBuf>, suite: &Suite) -> Result<Option<SplitLock>, Failure> {
    let beside = suite.root.join("split.json");
    match named {
        Some(path) => SplitLock::read(path).kind(Kind::Config).map(Some),
        None if beside.is_file() => SplitLock::read(&beside).kind(Kind::Config).map(Some),
        None => Ok(None),
    }
}

/// Reads the tasks of a selection file.
pub(crate) fn selected(path: &Path, suite: &Suite) -> Result<std::collections::BTreeSet<TaskId>, Failure> {
    Ok(Selection::read(path, suite).kind(Kind::Config)?.chosen())
}

/// How an experiment is carried out.
pub(crate) struct Performance {
    /// Whether its progress is printed.
    verbosity: Verbosity,
    /// Who carries out its measurement; `None` for this process.
    elsewhere: Option<Arc<dyn RunsElsewhere>>,
    /// Where its runs report; `None` for this command's own display.
    control: Option<RunControl>,
    /// What wraps each model.
    wrap: Option<WrapModels>,
    /// What wraps each reader of what is learned.
    wrap_reader: Option<WrapReader>,
}

/// Names an option of an experiment that holds on one machine only, if it is given.
#[cfg(feature = "fleet")]
pub(crate) fn bound_to_a_machine(
    names_folder: bool,
    servers: &crate::options::servers::Servers,
    clock: &Arc<dyn Clock>,
) -> Result<Option<&'static str>, Failure> {
    let has_servers = !servers.tool_box(clock)?.fingerprint().is_empty();
    Ok(match (names_folder, has_servers) {
        (true, _) => Some("--out"),
        (false, true) => Some("an option of tool servers"),
        (false, false) => None,
    })
}

/// Wraps the source of models.
pub(crate) type WrapModels = Box<dyn FnOnce(Arc<dyn ModelSource>) -> Arc<dyn ModelSource>>;
/// Wraps a model that reads what is learned.
pub(crate) type WrapReader = Box<dyn Fn(Arc<dyn ChatModel>) -> Arc<dyn ChatModel>>;

impl From<Verbosity> for Performance {
    fn from(verbosity: Verbosity) -> Self {
        Self { verbosity, elsewhere: None, control: None, wrap: None, wrap_reader: None }
    }
}

#[cfg(feature = "fleet")]
impl Performance {
    /// The leader's part of an experiment whose measurement others carry out.
    pub(crate) fn led(
        elsewhere: Arc<dyn RunsElsewhere>,
        control: RunControl,
        wrap: WrapModels,
        wrap_reader: WrapReader,
    ) -> Self {
        Self {
            verbosity: Verbosity::Silent,
            elsewhere: Some(elsewhere),
            control: Some(control),
            wrap: Some(wrap),
            wrap_reader: Some(wrap_reader),
        }
    }
}

/// Runs or continues an experiment.
pub(crate) async fn perform(
    experiment: &Experiment,
    config: &Config,
    models: &Arc<Models>,
    folder: &Path,
    performance: impl Into<Performance>,
) -> Result<ExperimentResult, Failure> {
    let Performance { verbosity, elsewhere, control, wrap, wrap_reader } = performance.into();
    reach(experiment, models).await?;
    let display = ExperimentProgress::open(&experiment.suite, Arc::clone(models.clock()), verbosity);
    let (progress, records) = display.senders();
    let learner = match &experiment.book {
        BookSource::Learned(plan) => Some(plan.learner.profile().name.as_str()),
        BookSource::Given(_) => None,
    };
    let (control, _socket) = control.map_or_else(
        || {
            let (control, socket) = offered_run(config, "experiment", progress);
            (control, Some(socket))
        },
        |control| (control, None),
    );
    let lines = (verbosity == Verbosity::Aloud).then(|| LiveLines::show(&control.live));
    let mut run = wire::deps(config, Arc::new(|_| Ok(ArmGuidance::unaided())), models)?;
    let mut readers = match learner {
        Some(learner) => models.safety_readers(learner)?,
        None => Vec::new(),
    };
    if let Some(wrap) = wrap {
        run.models = wrap(run.models);
    }
    if let Some(wrap) = wrap_reader {
        readers = readers.into_iter().map(wrap).collect();
    }
    let deps = ExperimentDeps {
        run,
        jobs: match config.jobs {
            // Attempts often wait for their world to settle. Measured on two cores: three in parallel took two
            // thirds of the time of two, and four hardly less than three.
            0 => (wire::cores() * 3).div_ceil(2),
            jobs => jobs,
        },
        elsewhere,
        control,
        records,
        embedding: models.embedding()?,
        readers,
        measures_empty_book: config.measure_empty_book == OnOff::On,
        effects: learner.map(|learner| models.effect_rule(learner)).transpose()?.unwrap_or_default(),
    };
    let outcome = run_experiment(experiment, &deps, folder).await;
    drop((deps, lines));
    let times = display.close().await;
    if verbosity == Verbosity::Aloud && !times.is_empty() {
        terminal::note(format_args!("\ntime: {times}"));
    }
    outcome.map_err(|error| unfinished(error, folder))
}

/// The failure of an experiment that can go on, with the command that does.
fn unfinished(error: ExperimentError, folder: &Path) -> Failure {
    let empty = matches!(error, ExperimentError::EmptyBook { .. });
    let (failure, folder) = (failure(error), folder.display());
    match failure.kind {
        _ if empty => failure
            .hint(format!("{folder}/report.html says what learning left"))
            .hint(format!("to measure all the same: apprentice resume {folder} --measure-empty-book")),
        Kind::Interrupted | Kind::Environment | Kind::Model => {
            failure.hint(format!("to continue: apprentice resume {folder}"))
        }
        _ => failure,
    }
}

/// Asks for the models that an experiment names, before anything is done.
async fn reach(experiment: &Experiment, models: &Models) -> Result<(), Failure> {
    let learned = match &experiment.book {
        BookSource::Learned(plan) => vec![plan.teacher.clone(), plan.learner.profile().name.clone()],
        BookSource::Given(_) => Vec::new(),
    };
    let judge = experiment.judge.as_ref().filter(|_| experiment.suite.tasks.iter().any(needs_judge));
    if judge.is_some() {
        models.check_judge()?;
    }
    let named = experiment.others.iter().chain([&experiment.student]).chain(&experiment.teacher);
    let named = named.chain(judge);
    models.reach(named.chain(&learned).map(String::as_str)).await
}

/// Converts an experiment's error into a failure of the command.
pub(crate) fn failure(error: ExperimentError) -> Failure {
    let kind = match &error {
        ExperimentError::Stopped => Kind::Interrupted,
        ExperimentError::EmptyBook { all_void: true, .. } => Kind::TrialsVoid,
        ExperimentError::EmptyBook { .. } => Kind::NothingMatched,
        ExperimentError::Split(_)
        | ExperimentError::NoSplit
        | ExperimentError::NoTasks(_)
        | ExperimentError::Arm(_)
        | ExperimentError::InlineNeedsPull
        | ExperimentError::BaselinesNeedNone
        | ExperimentError::AblationNeedsPull
        | ExperimentError::TooFewWordings { .. }
        | ExperimentError::TooFewDevTrials(_)
        | ExperimentError::Definition(_)
        | ExperimentError::Drift { .. }
        | ExperimentError::Other(_)
        | ExperimentError::NoRun(_)
        | ExperimentError::NoRows(_)
        | ExperimentError::Prereg(_)
        | ExperimentError::Rows(_) => Kind::Config,
        ExperimentError::Store(error) => wire::store_kind(error),
        ExperimentError::Cycle(_)
        | ExperimentError::Demonstrations(_)
        | ExperimentError::Book(_)
        | ExperimentError::Locked(_)
        | ExperimentError::Report(_)
        | ExperimentError::Read { .. } => Kind::Environment,
        ExperimentError::Page(_) => Kind::Bug,
        ExperimentError::Run(_) => return run_failure(error),
    };
    Failure::new(kind, error)
}

fn run_failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Run(error) => wire::run_failure(error),
        other => Failure::new(Kind::Environment, other),
    }
}

/// Prints the summary of an experiment and the path of its report.
pub(crate) fn conclude(outcome: &ExperimentResult, folder: &Path) {
    print_summary(&outcome.report);
    terminal::line(format_args!("report: {}", folder.join(REPORT_HTML).display()));
}

/// Returns a failure if trials are void, whatever the other trials resulted in.
pub(crate) fn verdict(outcome: &ExperimentResult) -> Result<(), Failure> {
    match outcome.void() {
        0 => Ok(()),
        void => {
            let what = counted(void, "void trial");
            Err(Failure::say(Kind::TrialsVoid, what).hint("the report lists their causes"))
        }
    }
}

/// Prints a report's headline, arms and notes.
pub(crate) fn print_summary(report: &Report) {
    terminal::line(format_args!("\n{}", report.headline.title));
    let claim = match report.headline.claim.as_str() {
        "" => String::new(),
        claim => format!("{claim}: "),
    };
    terminal::line(format_args!("{claim}{}", report.headline.result));
    if let Some(sentence) = &report.headline.in_other_words {
        terminal::line(format_args!("{sentence}"));
    }
    terminal::line(format_args!(""));
    if let Some(several) = &report.replicates {
        terminal::line(format_args!("{}\n", several.sentence));
    }
    let width = report.arms.iter().map(|arm| arm.key.model.chars().count()).max().unwrap_or(0);
    for arm in &report.arms {
        let tally = &arm.tally;
        terminal::line(format_args!(
            "  {:7} {:width$}  {:13} {:3} of {:3} passed{}",
            arm.key.role.as_str(),
            arm.key.model,
            arm.key.arm,
            tally.passed,
            tally.trials,
            if tally.void == 0 { String::new() } else { format!(", {} void", tally.void) }
        ));
    }
    for note in &report.notes {
        terminal::line(format_args!("note: {note}"));
    }
}
