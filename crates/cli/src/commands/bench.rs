//! `apprentice bench`: measures the effect of a skillbook on a student, with statistics and a report.

use apprentice_protocol::{CapOverrides, counted};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::experiment::{
    BookSource, Definition, Experiment, PrimaryComparison, finished_rows, plan_measurement,
};
use apprentice_evaluator::run::{ModelSource as _, RunPlan};
#[cfg(feature = "fleet")]
use apprentice_protocol::Clock;
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::report::Report;
use apprentice_runs::layout::REPORT_HTML;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::experiment_command;
use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::options::guidance_args::GuidanceArgs;
use crate::runs::experiment_progress::{Verbosity, parts};
use crate::settings::config::Config;
use crate::suite::pick::Pick;
use crate::{process_env, terminal, wire};

/// Measures the effect of a skillbook on a model: the same tasks and variations with and without it, in pairs.
///
/// The primary comparison, fixed before the run, is `pull` against `placebo-inert`: the skillbook against correct
/// skills of the same program and length that do not bear on the task. The unit of analysis is the template; with
/// fewer than eight templates there is no verdict. With a locked split, only the test tasks are measured.
///
/// To continue a bench that was stopped, repeat the command with the same `--out`, or run `apprentice resume DIR`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Bench {
    /// The suite's folder, its suite file, or one task file.
    suite: PathBuf,
    /// The model to measure in every arm.
    #[arg(long, short)]
    student: String,
    #[command(flatten)]
    measurement: Measurement,
    /// The skillbook; a frozen copy is stored with the run [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Number of variations per task, for tasks whose world varies.
    #[arg(long, default_value_t = 3, value_parser = crate::options::count::at_least_one::<u32>)]
    seeds: u32,
    /// The locked split [default: `split.json` beside the suite, if there is one].
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    #[command(flatten)]
    pick: Pick,
    /// Seed for the order of trials.
    #[arg(long, alias = "order", value_name = "N", default_value_t = 0)]
    order_seed: u64,
    /// Maximum working time per trial in seconds, without the time in which the model answers, in place of the tasks' own.
    #[arg(long, value_name = "SECONDS", value_parser = crate::options::count::at_least_one::<u64>)]
    working_s: Option<u64>,
    /// Folder for the run and the report; must be new, empty, or the folder of this bench
    /// [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    guidance: GuidanceArgs,
    #[command(flatten)]
    consent: SpendingArgs,
    /// Print one JSON object: the report (`apprentice.report/1`), or with `--dry-run` the outline
    /// (`apprentice.bench-outline/1`).
    #[arg(long)]
    json: bool,
}

/// What a bench has beyond a run of one arm.
#[derive(Clone, Debug, Args)]
pub(crate) struct Measurement {
    /// A stronger model, measured once without help, as the reference for the gap that the skillbook closes.
    #[arg(long)]
    teacher: Option<String>,
    /// Arms, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "none,pull,placebo-inert", value_parser = arm,
        long_help = format!("Arms, separated by commas:\n{}", Arm::help()))]
    arms: Vec<Arm>,
    /// Measure all tasks, regardless of any split.
    #[arg(long, conflicts_with = "split")]
    unsplit: bool,
    /// Measure only the tasks that this file selects.
    #[arg(long, value_name = "FILE")]
    select: Option<PathBuf>,
    /// Also run the baselines on each task: the solution, doing nothing, giving up.
    #[arg(long)]
    baselines: bool,
    /// Leave-one-out ablation: repeat the measurement without one skill, for each of the N most requested skills.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    leave_one_out: Option<u32>,
    /// Compute-matched baseline: without help, with all caps multiplied by TIMES.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(2..=100))]
    more_steps: Option<u32>,
    /// Compute-matched baseline: without help, best of TRIES attempts at each task.
    #[arg(long, value_name = "TRIES", value_parser = clap::value_parser!(u32).range(2..=20))]
    best_of: Option<u32>,
    /// Also ask for each task in N other wordings, from the suite's `paraphrases.json`: the student alone and with the
    /// book, the teacher alone.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    wordings: Option<u32>,
}

fn arm(text: &str) -> Result<Arm, String> {
    Arm::parse(text).map_err(|error| error.to_string())
}

/// The plan that a dry run prints.
#[derive(Serialize, JsonSchema)]
pub(super) struct Outline {
    schema: &'static str,
    suite: String,
    student: String,
    book: Option<String>,
    tasks: usize,
    templates: usize,
    arms: Vec<OutlinedArm>,
    trials: usize,
}

/// One role, model and arm of the plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct OutlinedArm {
    role: &'static str,
    model: String,
    arm: String,
    trials: usize,
    templates: usize,
}

impl Bench {
    /// The path of the suite.
    pub(crate) fn suite(&self) -> &Path {
        &self.suite
    }

    /// Returns the same arguments with an output folder, for `apprentice resume`.
    pub(crate) fn again(&self, out: PathBuf, consent: SpendingArgs, json: bool) -> Self {
        Self { out: Some(out), consent, json, ..self.clone() }
    }

    /// The skillbook's folder.
    pub(crate) fn book<'a>(&'a self, config: &'a Config) -> &'a Path {
        self.skillbook.as_deref().unwrap_or(&config.skillbook)
    }
}

impl Measurement {
    fn ablations(&self) -> Ablations {
        Ablations {
            leave_one_out: self.leave_one_out,
            more_steps: self.more_steps,
            best_of: self.best_of,
            wordings: self.wordings,
        }
    }
}

/// The files of a bench that were brought to this machine.
#[cfg(feature = "fleet")]
pub(crate) struct BenchFiles {
    pub(crate) suite: PathBuf,
    pub(crate) split: Option<PathBuf>,
    pub(crate) select: Option<PathBuf>,
    pub(crate) skillbook: Option<PathBuf>,
}

#[cfg(feature = "fleet")]
impl Bench {
    /// Returns the same arguments with the files that were brought to this machine.
    pub(crate) fn brought(&self, files: BenchFiles) -> Self {
        let BenchFiles { suite, split, select, skillbook } = files;
        let measurement = Measurement { select, ..self.measurement.clone() };
        Self { suite, split, skillbook, measurement, ..self.clone() }
    }

    /// The files that it names, besides the suite and the skillbook: its split and its selection.
    pub(crate) fn named_files(&self) -> [Option<&Path>; 2] {
        [self.split.as_deref(), self.measurement.select.as_deref()]
    }

    /// Names an option that holds on one machine only, if it is given.
    pub(crate) fn bound_to_a_machine(&self, clock: &Arc<dyn Clock>) -> Result<Option<&'static str>, Failure> {
        // Which tasks run here is asked anew by each leader, on another machine.
        let picks = self.pick.is_of_this_machine().then_some("--runnable-here");
        Ok(experiment_command::bound_to_a_machine(self.out.is_some(), &self.guidance.servers, clock)?
            .or(picks))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Bench, config: &Config) -> Result<(), Failure> {
    let clock = experiment_command::clock();
    let models = wire::models(config, Arc::clone(&clock))?;
    let experiment = experiment(arguments, config, &models, process_env::command_line())?;
    if agreed(arguments, config, &models, &experiment)? == Proceed::Off {
        return Ok(());
    }
    let folder = experiment_command::folder(arguments.out.as_ref(), "bench", config, &*clock);
    let verbosity = if arguments.json { Verbosity::Silent } else { Verbosity::Aloud };
    let outcome = wire::runtime()?.block_on(experiment_command::perform(
        &experiment,
        config,
        &models,
        &folder,
        verbosity,
    ))?;
    if arguments.json {
        terminal::json(&outcome.report)?;
    } else {
        experiment_command::conclude(&outcome, &folder);
    }
    experiment_command::verdict(&outcome)
}

/// Forecasts the cost of a bench and has it agreed to. A dry run prints the outline.
pub(crate) fn agreed(
    arguments: &Bench,
    config: &Config,
    models: &Models,
    experiment: &Experiment,
) -> Result<Proceed, Failure> {
    let planned = plan_measurement(experiment, models.clock().now()).map_err(experiment_command::failure)?;
    let Some(plan) = &planned else { return Ok(Proceed::On) };
    let done = arguments.out.as_deref().map(finished_rows).unwrap_or_default();
    let forecast = Forecast::of_plan(models, plan, &experiment.suite, &done)?;
    let quiet = arguments.consent.dry_run && arguments.json;
    if quiet || forecast.agree(config, arguments.consent)? == Proceed::Off {
        dry_run(arguments, experiment, plan)?;
        return Ok(Proceed::Off);
    }
    Ok(Proceed::On)
}

/// Builds the experiment. `command` is the command line that starts it.
pub(crate) fn experiment(
    arguments: &Bench,
    config: &Config,
    models: &Models,
    command: Vec<String>,
) -> Result<Experiment, Failure> {
    let measurement = &arguments.measurement;
    for model in measurement.teacher.iter().chain([&arguments.student]) {
        if arguments.consent.dry_run { models.check_name(model)? } else { models.check(model)? }
    }
    let suite = crate::suite::load(&arguments.suite)?;
    let lock =
        if measurement.unsplit { None } else { experiment_command::split(arguments.split.as_ref(), &suite)? };
    let mut arms = Vec::new();
    for arm in &measurement.arms {
        if !arms.contains(arm) {
            arms.push(*arm);
        }
    }
    let selected = measurement.select.as_ref().map(|path| experiment_command::selected(path, &suite));
    Ok(Experiment {
        tasks: arguments.pick.narrow(&suite, config, selected.transpose()?)?,
        suite: Arc::new(suite),
        lock,
        book: BookSource::Given(frozen(arguments.book(config), &arms)?),
        teacher: measurement
            .teacher
            .as_deref()
            .map(|name| models.resolve(name))
            .transpose()?
            .map(str::to_owned),
        judge: models.judge(),
        student: models.resolve(&arguments.student)?.to_owned(),
        others: Vec::new(),
        arms,
        primary: PrimaryComparison::default(),
        seeds: arguments.seeds.max(1),
        baselines: measurement.baselines,
        attempts: config.attempts.max(1),
        order_seed: arguments.order_seed,
        limits: arguments
            .working_s
            .map(|seconds| CapOverrides { working_s: Some(seconds), ..CapOverrides::default() }),
        student_limits: None,
        ablations: measurement.ablations(),
        suppress: arguments.guidance.suppressed(),
        functions: arguments.guidance.functions(),
        demonstrations: Vec::new(),
        replicates: 1,
        tools: arguments.guidance.servers.tool_box(models.clock())?,
        registered: None,
        command,
        program: env!("CARGO_PKG_VERSION").into(),
    })
}

/// Returns the frozen skillbook, or an empty one if no arm needs it.
fn frozen(folder: &Path, arms: &[Arm]) -> Result<apprentice_skillbook::Snapshot, Failure> {
    if !arms.iter().any(|arm| arm.needs_book()) {
        return Ok(apprentice_skillbook::Snapshot::empty());
    }
    let book = crate::commands::skills::open(folder)?.clean().kind(Kind::Config)?;
    if book.is_empty() {
        Err(Failure::say(Kind::NothingMatched, format!("{} contains no skills", folder.display())))
    } else {
        Ok(book)
    }
}

fn dry_run(arguments: &Bench, experiment: &Experiment, plan: &RunPlan) -> Result<(), Failure> {
    let outline = outlined(experiment, plan)?;
    if arguments.json {
        return terminal::json(&outline);
    }
    terminal::line(format_args!(
        "{} on {} ({}) of {}:",
        counted(outline.trials, "trial"),
        counted(outline.tasks, "task"),
        counted(outline.templates, "template"),
        outline.suite
    ));
    for (part, count) in parts(&plan.trials) {
        terminal::line(format_args!("  {part}: {count}"));
    }
    for arm in outline.arms.iter().filter(|arm| arm.role == "student" && arm.templates < outline.templates) {
        terminal::line(format_args!(
            "the arm {} has no eligible skill for {}; it is skipped there",
            arm.arm,
            counted(outline.templates - arm.templates, "template")
        ));
    }
    Ok(())
}

fn outlined(experiment: &Experiment, plan: &RunPlan) -> Result<Outline, Failure> {
    let definition = Definition::of(experiment).kind(Kind::Config)?;
    let mut arms = Vec::new();
    let parts: BTreeSet<_> =
        plan.trials.iter().map(|trial| (trial.role, trial.model.clone(), trial.arm.clone())).collect();
    for (role, model, arm) in parts {
        let own = || {
            plan.trials.iter().filter(|trial| trial.role == role && trial.model == model && trial.arm == arm)
        };
        let templates = own().map(|trial| &trial.template).collect::<BTreeSet<_>>().len();
        arms.push(OutlinedArm { role: role.as_str(), trials: own().count(), templates, model, arm });
    }
    Ok(Outline {
        schema: "apprentice.bench-outline/1",
        suite: plan.suite.clone(),
        student: experiment.student.clone(),
        book: plan.arms.iter().find_map(|arm| arm.skillbook_hash.clone()),
        tasks: definition.test.len(),
        templates: definition.test.values().collect::<BTreeSet<_>>().len(),
        arms,
        trials: plan.trials.len(),
    })
}

/// Prints the summary of a report and the path of its page.
pub(crate) fn show(report: &Report, folder: &Path) {
    experiment_command::print_summary(report);
    terminal::line(format_args!("report: {}", folder.join(REPORT_HTML).display()));
}
