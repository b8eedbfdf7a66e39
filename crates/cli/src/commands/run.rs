//! `apprentice run`: runs a suite's tasks with one model.

mod inputs;
mod resuming;
mod selection;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::arms::GuidanceProvider;
#[cfg(feature = "fleet")]
use apprentice_evaluator::experiment::SharedGuidance;
use apprentice_evaluator::run::{
    ArmPlan, Contender, Conversations, ModelSource as _, PlanRequest, PlannedRun, RunPlan, RunSummary, plan,
    start_plan,
};
#[cfg(feature = "fleet")]
use apprentice_evaluator::run::{ResumeInputs, RunDeps};
use apprentice_protocol::{CapOverrides, Clock, TaskId};
use apprentice_results::arm::Arm;
use apprentice_runs::row::{Role, Split};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::verification::AdmissionPolicy;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use clap::Args;

use self::inputs::{Loaded, RunInputs, load};
pub(crate) use self::resuming::{Resume, run_resume};
use self::selection::{eligible, selected, with_tries};
use crate::commands::bench::Bench;
use crate::commands::ci::{self, CiArgs};
use crate::commands::demo::Demo;
use crate::commands::distill::Distill;
use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::options::guidance_args::GuidanceArgs;
use crate::runs::run_progress::{RunProgress, run_failure};
use crate::settings::config::Config;
#[cfg(feature = "fleet")]
use crate::settings::config::WorldChoice;
#[cfg(feature = "fleet")]
use crate::settings::overrides;
use crate::settings::overrides::Overrides;
use crate::suite::pick::Pick;
use crate::suite::preflight::Preflight;
use crate::{process_env, terminal, wire};

/// Runs tasks of a suite with one model.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The suite's folder, its suite file, or one task file.
    pub(crate) suite: PathBuf,
    /// The model of the agent.
    #[arg(long, short)]
    model: String,
    /// The help that the agent gets.
    #[arg(long, default_value = "none", value_parser = arm, long_help = format!("The help that the agent gets:\n{}", Arm::help()))]
    arm: Arm,
    /// A finished run on dev tasks by which the arm `auto` chooses; may be repeated.
    #[arg(long, value_name = "RUN")]
    dev_run: Vec<PathBuf>,
    /// The skillbook of the arm [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Skills to provide: auto (all), verified (seen to help on another task or other values), human (written by a
    /// person).
    #[arg(long, alias = "admit", default_value = "auto", value_parser = policy)]
    only_skills: AdmissionPolicy,
    #[command(flatten)]
    guidance: GuidanceArgs,
    /// Run only this task; may be repeated.
    #[arg(long = "task", value_name = "ID")]
    tasks: Vec<String>,
    #[command(flatten)]
    pick: Pick,
    /// The locked split; rows then record their part of it.
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// Run only tasks of this part of the split.
    #[arg(long, value_name = "PART", requires = "split", value_parser = part)]
    only: Option<Split>,
    /// Number of variations per task, for tasks whose world varies.
    #[arg(long, default_value_t = 1, value_parser = crate::options::count::at_least_one::<u32>)]
    seeds: u32,
    /// Number of tries at each variation, in the arm `none`; a model that accepts a seed gets another one in each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    tries: u32,
    /// Maximum number of actions per trial, and twice as many turns, in place of the tasks' own.
    #[arg(long, alias = "steps", value_name = "N", value_parser = crate::options::count::at_least_one::<u32>)]
    max_steps: Option<u32>,
    /// Maximum working time per trial in seconds, without the time in which the model answers, in place of the tasks' own.
    #[arg(long, value_name = "SECONDS", value_parser = crate::options::count::at_least_one::<u64>)]
    working_s: Option<u64>,
    /// Seed for the order of trials.
    #[arg(long, alias = "order", value_name = "N", default_value_t = 0)]
    order_seed: u64,
    /// Store each attempt's conversation beside its trace, for `learn --reflection in-context`.
    #[arg(long)]
    keep_conversations: bool,
    /// Parent folder of the run's own folder [default: the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    consent: SpendingArgs,
    #[command(flatten)]
    ci: CiArgs,
    /// Print one JSON object (`apprentice.run-summary/1`).
    #[arg(long)]
    pub(crate) json: bool,
}

/// The run of a `collect` or a recording: without help.
pub(crate) struct CollectedRun {
    pub(crate) suite: PathBuf,
    pub(crate) model: String,
    pub(crate) seeds: u32,
    pub(crate) tries: u32,
    pub(crate) tasks: Vec<String>,
    pub(crate) max_steps: Option<u32>,
    pub(crate) consent: SpendingArgs,
    pub(crate) json: bool,
}

impl Run {
    /// The model of the agent.
    #[cfg(feature = "fleet")]
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Names an option that holds on one machine only, if it is given, and what to do in its place.
    #[cfg(feature = "fleet")]
    pub(crate) fn bound_to_a_machine(&self) -> Option<(&'static str, &'static str)> {
        if self.out.is_some() {
            Some(("--out", "`apprentice fetch RUN --out DIR` brings the run's folder"))
        } else if !self.dev_run.is_empty() {
            Some(("--dev-run", "name `auto` among the arms of an experiment: its dev trials choose the arm"))
        } else {
            let hint = "fetch the run, and judge its rows: `apprentice report RUN --json`";
            self.ci.given().map(|option| (option, hint))
        }
    }

    /// The arguments of a collection's run.
    pub(crate) fn for_collection(collected: CollectedRun) -> Self {
        let CollectedRun { suite, model, seeds, tries, tasks, max_steps, consent, json } = collected;
        Self {
            suite,
            model,
            arm: Arm::None,
            dev_run: Vec::new(),
            skillbook: None,
            only_skills: AdmissionPolicy::Auto,
            guidance: GuidanceArgs::default(),
            tasks,
            pick: Pick::default(),
            split: None,
            only: None,
            seeds,
            tries,
            max_steps,
            working_s: None,
            order_seed: 0,
            keep_conversations: false,
            out: None,
            consent,
            ci: CiArgs::default(),
            json,
        }
    }
}

/// A command line that a plan or an experiment records, parsed.
pub(crate) struct RecordedCommand {
    /// Its global flags.
    pub(crate) flags: Overrides,
    /// Its subcommand.
    pub(crate) started: StartedBy,
}

/// The subcommand that started a run or an experiment, with its arguments.
pub(crate) enum StartedBy {
    /// `run`.
    Run(Run),
    /// `demo`.
    Demo(Demo),
    /// `bench`.
    Bench(Bench),
    /// `distill`.
    Distill(Distill),
    /// `skills measure`.
    Measure(crate::commands::skills::measure::Measure),
    /// A command that cannot be resumed.
    Other,
}

/// Parses a recorded command line. The caller gives this function, because it knows all subcommands.
pub(crate) type ParseCommand = fn(&[String]) -> Result<RecordedCommand, Failure>;

fn arm(text: &str) -> Result<Arm, String> {
    Arm::parse(text).map_err(|error| error.to_string())
}

fn policy(text: &str) -> Result<AdmissionPolicy, String> {
    serde_json::from_value(text.into()).map_err(|_| "expected auto, verified or human".to_owned())
}

fn part(text: &str) -> Result<Split, String> {
    serde_json::from_value(text.into()).map_err(|_| "expected train, dev or test".to_owned())
}

/// Runs the command.
pub(crate) fn run(arguments: &Run, config: &Config) -> Result<(), Failure> {
    let summary = execute(arguments, config)?;
    summary.map_or(Ok(()), |summary| ci::conclude(&arguments.ci, &summary, arguments.json))
}

/// A run that is planned, with what it is made from.
pub(crate) struct PlannedCommand {
    pub(crate) models: Arc<Models>,
    pub(crate) plan: RunPlan,
    pub(crate) suite: Suite,
    /// The skillbook, of which the run keeps a copy.
    pub(crate) book: Option<Snapshot>,
    pub(crate) provider: GuidanceProvider,
}

/// Plans the run and carries it out; `None` if nothing was to be run.
pub(crate) fn execute(arguments: &Run, config: &Config) -> Result<Option<RunSummary>, Failure> {
    let Some(planned) = planned(arguments, config, process_env::command_line())? else { return Ok(None) };
    let PlannedCommand { models, plan, suite, book, provider } = planned;
    let words = !arguments.json && models.hear_trials(plan.trials.len());
    let judge = plan.judge.as_ref().and_then(|_| models.judge());
    let planned = PlannedRun { plan, suite: &suite, book: book.as_ref() };
    let root = arguments.out.as_deref().unwrap_or(&config.runs);
    let summary = wire::runtime()?.block_on(async {
        models.reach([arguments.model.as_str()].into_iter().chain(judge.as_deref())).await?;
        let deps = wire::deps(config, wire::guidance(provider), &models)?;
        let mut display = RunProgress::show(arguments.json).with_words(words);
        let (control, _socket) = display.offer(config, "run");
        control.live.take_acts(models.acts());
        let ended = start_plan(planned, root, wire::jobs(config), deps, control).await;
        display.finish().await;
        ended.map_err(|error| run_failure(error, arguments.json))
    })?;
    Ok(Some(summary))
}

/// Plans the run and has its cost agreed to; `None` if nothing is to be run. The plan records `command`.
pub(crate) fn planned(
    arguments: &Run,
    config: &Config,
    command: Vec<String>,
) -> Result<Option<PlannedCommand>, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, Arc::clone(&clock))?;
    if arguments.consent.dry_run {
        models.check_name(&arguments.model)?;
    } else {
        models.check(&arguments.model)?;
    }
    if let Some(file) = arguments.out.as_deref().filter(|out| out.is_file()) {
        let failure =
            format!("{} is a file; --out names the folder in which runs get a folder each", file.display());
        return Err(Failure::say(Kind::Usage, failure));
    }
    arguments.ci.check()?;
    let loaded = load(&RunInputs::given(arguments), config, &models)?;
    let tasks = selected(arguments, &loaded, config)?;
    let books = with_tries(loaded.books.clone(), arguments)?;
    let model = models.resolve(&arguments.model)?.to_owned();
    let tasks_of_arm = eligible(arguments.arm, &loaded.provider, &tasks)?;
    let contender = |book: &ArmPlan| Contender {
        role: Role::Solo,
        model: model.clone(),
        arm: book.arm.clone(),
        tasks: Some(tasks_of_arm.clone()),
        seeds: None,
    };
    let request = PlanRequest {
        suite: &loaded.suite,
        split: loaded.split.as_ref(),
        tasks: Some(tasks.clone()),
        contenders: books.iter().map(contender).collect(),
        seeds: arguments.seeds.max(1),
        limits: Some(CapOverrides {
            world_steps: arguments.max_steps,
            working_s: arguments.working_s,
            ..CapOverrides::default()
        })
        .filter(|caps| *caps != CapOverrides::default()),
        attempts: config.attempts.max(1),
        order_seed: arguments.order_seed,
        conversations: if arguments.keep_conversations {
            Conversations::Kept
        } else {
            Conversations::Dropped
        },
        command,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        books,
    };
    let plan = plan(&request, clock.now()).kind(Kind::NothingMatched)?;
    if plan.judge.is_some() {
        if arguments.consent.dry_run { models.check_forecast_judge()? } else { models.check_judge()? }
    }
    before_the_start(arguments, &loaded, &tasks, config, &models)?;
    let forecast = Forecast::of_plan(&models, &plan, &loaded.suite, &[])?;
    if forecast.agree(config, arguments.consent.in_json(arguments.json))? == Proceed::Off {
        return Ok(None);
    }
    let Loaded { suite, provider, book, .. } = loaded;
    Ok(Some(PlannedCommand { models, plan, suite, book, provider }))
}

/// A run of a queue, ready on this machine.
#[cfg(feature = "fleet")]
pub(crate) struct BroughtRun {
    pub(crate) deps: RunDeps,
    /// Whether its desktop tasks run on VMs.
    pub(crate) on_vm: bool,
    /// Hosts that its cells may reach.
    pub(crate) network: apprentice_sandbox::NetworkPolicy,
    /// The inputs as they are here, for comparison with the plan.
    pub(crate) current: ResumeInputs,
}

/// Makes a run of a queue ready, from its plan and from the suite and skillbook that were brought to this machine.
#[cfg(feature = "fleet")]
pub(crate) fn brought(
    plan: &RunPlan,
    suite: PathBuf,
    book: Option<PathBuf>,
    flags: &Overrides,
    parse: ParseCommand,
) -> Result<BroughtRun, Failure> {
    let command = parse(&plan.command)?;
    let StartedBy::Run(run) = &command.started else {
        return Err(Failure::say(Kind::Config, "the run was not submitted by `apprentice submit`"));
    };
    let config = &overrides::settings(&[&command.flags, flags])?.config()?;
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    plan.models.iter().try_for_each(|one| models.check(&one.model))?;
    let loaded = load(&RunInputs::brought(run, plan, suite, book), config, &models)?;
    let deps = wire::deps(config, wire::guidance(loaded.provider), &models)?;
    let current = ResumeInputs {
        suite: loaded.suite,
        split_hash: plan.split_hash.clone(),
        books: loaded.books,
        program: env!("CARGO_PKG_VERSION").into(),
        accept_drift: false,
    };
    let network = config.network.clone();
    Ok(BroughtRun { deps, on_vm: config.world == WorldChoice::Vm, network, current })
}

/// The files of an experiment's run that were brought to this machine.
#[cfg(feature = "fleet")]
pub(crate) struct BroughtFiles {
    /// The suite's path.
    pub(crate) suite: PathBuf,
    /// The frozen skillbook's folder; `None` if the run kept none.
    pub(crate) book: Option<PathBuf>,
    /// The inputs of its guidance.
    pub(crate) guidance: SharedGuidance,
    /// The folder for results of trials that must end before others.
    pub(crate) prerequisites: PathBuf,
}

/// Makes a run of an experiment ready, whose plan and guidance come from its leader.
#[cfg(feature = "fleet")]
pub(crate) fn brought_measurement(
    plan: &RunPlan,
    files: &BroughtFiles,
    flags: &Overrides,
    parse: ParseCommand,
) -> Result<BroughtRun, Failure> {
    let command = parse(&plan.command)?;
    let config = &overrides::settings(&[&command.flags, flags])?.config()?;
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    plan.models.iter().try_for_each(|one| models.check(&one.model))?;
    let loaded = crate::suite::load(&files.suite)?;
    let suite = Suite { name: plan.suite.clone(), ..loaded };
    let book = match &files.book {
        Some(folder) => crate::commands::skills::open(folder)?.clean().kind(Kind::Config)?,
        None => Snapshot::empty(),
    };
    let book = book.with_embedding(models.embedding()?);
    let guidance = files.guidance.factory(plan, &Arc::new(suite.clone()), &book, &files.prerequisites);
    let deps = wire::deps(config, guidance.kind(Kind::Config)?, &models)?;
    let current = ResumeInputs {
        suite,
        split_hash: plan.split_hash.clone(),
        books: plan.arms.clone(),
        program: env!("CARGO_PKG_VERSION").into(),
        accept_drift: false,
    };
    let network = config.network.clone();
    Ok(BroughtRun { deps, on_vm: config.world == WorldChoice::Vm, network, current })
}

/// Says what can be known before the first trial: which tasks cannot run here, and, of a dry run too, what the server of the
/// model lacks.
fn before_the_start(
    arguments: &Run,
    loaded: &Loaded,
    tasks: &BTreeSet<TaskId>,
    config: &Config,
    models: &Models,
) -> Result<(), Failure> {
    let suite = &loaded.suite;
    let chosen = suite.tasks.iter().filter(|task| tasks.contains(&task.id));
    Preflight::of(suite, chosen.clone(), config).print(&arguments.suite);
    if arguments.seeds > 1 && !chosen.clone().any(Task::varies) {
        let told = "no selected task varies, so that each is run once: --tries repeats a task as it is";
        terminal::note(format_args!("--seeds {}: {told}", arguments.seeds));
    }
    if arguments.consent.dry_run {
        wire::runtime()?.block_on(models.foresee(&arguments.model))
    } else {
        Ok(())
    }
}
