//! `apprentice explore`: proposes tasks in a program or on a page, practises them in fresh worlds, and learns from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::learn::{CycleError, HeldOutTasks, LockedSuites, lock_book};
use apprentice_evaluator::split::SplitLock;
use apprentice_explore::{
    EXPLORE_SCHEMA, Episode, ExploreEnd, ExploreError, ExploreFolder, ExploreLimits, ExplorePlan, Explorer,
    Outcome, Start, training_starts,
};
use apprentice_protocol::{Clock, Limits, counted};
use apprentice_sandbox::SystemClock;
use apprentice_screening::leak::HeldOutIndex;
use apprentice_skillbook::{Gateway, GatewayOptions};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::commands::skills::curate::{apply_failure, learner};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::runs::run_progress::RunProgress;
use crate::settings::config::{Config, WorldChoice};
use crate::suite::preflight::check_app;
use crate::{process_env, terminal, wire};

/// World actions for which the forecast is made where only money limits an exploration.
const FORECAST_STEPS: u32 = 1000;
/// World actions for each review in the forecast.
const STEPS_PER_REVIEW: u32 = 5;

/// Has a model propose tasks in a program or on a page, practises them in fresh worlds, and learns from them.
///
/// A check of the state (a file, the output of a command, the elements on the screen) decides whether an attempt did it; it
/// must fail in an untouched world. Where no state shows it, a model gives its opinion, which proves nothing. Worlds have no
/// network and no accounts, and every attempt gets a fresh one.
#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// Explore the worlds in which the training tasks of this suite begin. Their instructions are not read.
    #[arg(conflicts_with_all = ["app", "url", "resume"], value_name = "SUITE")]
    suite: Option<PathBuf>,
    /// The suite's locked split [default: `split.json` beside the suite].
    #[arg(long, value_name = "FILE", requires = "suite")]
    split: Option<PathBuf>,
    /// Explore a desktop on which this command runs, for example `mousepad notes.txt`.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["url", "resume"])]
    app: Option<String>,
    /// Explore this page in a browser.
    #[arg(long, conflicts_with = "resume")]
    url: Option<String>,
    /// Copy this file into the home folder of every world first; may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "resume"])]
    file: Vec<PathBuf>,
    /// The model that acts.
    #[arg(long, short, required_unless_present = "resume", conflicts_with = "resume")]
    model: Option<String>,
    /// The model that proposes, judges, reviews, decides and writes functions [default: --model].
    #[arg(long, value_name = "MODEL", conflicts_with = "resume")]
    learner: Option<String>,
    /// The skillbook [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    skillbook: Option<PathBuf>,
    /// Stop after so much money, in US dollars, over all model calls.
    #[arg(long, value_name = "USD", conflicts_with = "resume", value_parser = crate::options::count::dollars)]
    budget: Option<f64>,
    /// Stop after so many world actions.
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = crate::options::count::at_least_one::<u32>)]
    steps: Option<u32>,
    /// Stop after so many episodes.
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = crate::options::count::at_least_one::<u32>)]
    episodes: Option<u32>,
    /// Go on with the exploration in this folder.
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Folder of the exploration [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    #[command(flatten)]
    consent: SpendingArgs,
    /// Print one JSON object (`apprentice.explored/1`).
    #[arg(long)]
    json: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Explored<'a> {
    schema: &'static str,
    folder: &'a Path,
    ended: &'a str,
    spent_usd: f64,
    episodes: &'a [Episode],
}

/// Runs the command.
pub(crate) fn run(arguments: &Explore, config: &Config) -> Result<(), Failure> {
    if config.world == WorldChoice::Vm {
        return Err(Failure::say(
            Kind::Usage,
            "explore works in cells alone: a VM may reach a network and keep its state",
        )
        .hint("set `world` to \"cell\" for this command"));
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let (path, plan) = plan(arguments, config, &*clock)?;
    let before = match &arguments.resume {
        Some(path) => ExploreFolder::open(path).map_err(failure)?.spent(),
        None => 0.0,
    };
    let config = &limited(config, &plan, before);
    let models = wire::models(config, Arc::clone(&clock))?;
    for name in [&plan.model, &plan.learner] {
        models.check(name)?;
    }
    let forecast = forecast(&plan, &models)?;
    if forecast.agree(config, arguments.consent.in_json(arguments.json))? == Proceed::Off {
        return Ok(());
    }
    let folder = match &arguments.resume {
        Some(path) => ExploreFolder::open(path),
        None => ExploreFolder::create(&path, plan.clone()),
    };
    let folder = folder.map_err(failure)?;
    let ended = explore(folder, config, &models, arguments.json)?;
    conclude(&path, &ended, arguments.json)
}

/// The folder of the exploration and its plan: a new one, or the one to go on with.
fn plan(arguments: &Explore, config: &Config, clock: &dyn Clock) -> Result<(PathBuf, ExplorePlan), Failure> {
    if let Some(path) = &arguments.resume {
        let folder = ExploreFolder::open(path).map_err(failure)?;
        return Ok((path.clone(), folder.plan().clone()));
    }
    let absolute = |path: &Path| std::path::absolute(path).kind(Kind::Environment);
    let files = arguments.file.iter().map(|file| readable(file)).collect::<Result<Vec<_>, _>>()?;
    let suite = arguments.suite.as_deref().map(crate::suite::found).transpose()?;
    let suite = suite.as_deref().map(absolute).transpose()?;
    let starts = match (&arguments.app, &arguments.url, &suite) {
        (Some(command), ..) => {
            check_app(command, config)?;
            vec![Start::App { command: command.clone(), files }]
        }
        (_, Some(url), _) => vec![Start::Page { url: url.clone(), files }],
        (.., Some(path)) => {
            let suite = crate::suite::load(path)?;
            let lock = locked(path, arguments.split.as_deref())?;
            lock.check_suite(&suite).kind(Kind::Config)?;
            training_starts(path, &suite, &lock).map_err(failure)?
        }
        (None, None, None) => {
            return Err(Failure::say(Kind::Usage, "nothing to explore is named")
                .hint("name a program (--app CMD), a page (--url URL) or a suite"));
        }
    };
    if arguments.budget.is_none() && arguments.steps.is_none() && arguments.episodes.is_none() {
        return Err(Failure::say(Kind::Usage, "an exploration needs an end")
            .hint("set --budget USD, --steps N or --episodes N; the first that is reached ends it"));
    }
    let model = arguments.model.clone().unwrap_or_default();
    let book = crate::commands::skills::writable(arguments.skillbook.as_deref(), config)?;
    let plan = ExplorePlan {
        schema: EXPLORE_SCHEMA.to_owned(),
        started_at: clock.now(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        command: process_env::command_line(),
        learner: arguments.learner.clone().unwrap_or_else(|| model.clone()),
        model,
        skillbook: absolute(book)?,
        starts,
        split: arguments.split.as_deref().map(absolute).transpose()?,
        suite,
        limits: ExploreLimits {
            world_steps: arguments.steps,
            usd: arguments.budget,
            episodes: arguments.episodes,
        },
    };
    let name = format!("explore-{}", wire::stamp(clock));
    Ok((arguments.out.clone().unwrap_or_else(|| config.runs.join(name)), plan))
}

fn readable(file: &Path) -> Result<PathBuf, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::say(Kind::Usage, format!("{} cannot be read: {error}", file.display()))
    };
    apprentice_files::open(file).map_err(unreadable)?;
    std::path::absolute(file).map_err(unreadable)
}

fn locked(suite: &Path, split: Option<&Path>) -> Result<SplitLock, Failure> {
    let beside = || apprentice_tasks::suite::root_of(suite).join(apprentice_tasks::suite::SPLIT_FILE);
    let split = split.map_or_else(beside, Path::to_owned);
    if !split.is_file() {
        let message = format!("{} does not exist; only training tasks may be explored", split.display());
        return Err(Failure::say(Kind::Config, message).hint("draw a split first: `apprentice split draw`"));
    }
    SplitLock::read(&split).kind(Kind::Config)
}

/// The settings with what is left of the exploration's money as the cap of this command.
fn limited(config: &Config, plan: &ExplorePlan, before: f64) -> Config {
    let mut config = config.clone();
    if let Some(usd) = plan.limits.usd {
        let left = (usd - before).max(0.0);
        config.cap.run_usd = Some(config.cap.run_usd.map_or(left, |cap| cap.min(left)));
    }
    config
}

fn forecast(plan: &ExplorePlan, models: &Models) -> Result<Forecast, Failure> {
    let mut forecast = Forecast::default();
    let world_steps = plan.limits.world_steps.unwrap_or(FORECAST_STEPS);
    let limits = Limits { world_steps, turns: world_steps.saturating_mul(2), ..Limits::default() };
    forecast.add_attempt(models, &plan.model, &limits)?;
    let reviews = usize::try_from(world_steps / STEPS_PER_REVIEW).unwrap_or(usize::MAX);
    forecast.add_reviews(models, &plan.learner, reviews.max(1))?;
    Ok(forecast)
}

/// What the exploration left.
struct Ended {
    why: String,
    spent: f64,
    episodes: Vec<Episode>,
}

fn explore(
    folder: ExploreFolder,
    config: &Config,
    models: &Arc<Models>,
    json: bool,
) -> Result<Ended, Failure> {
    let plan = folder.plan().clone();
    let place = folder.path().to_owned();
    let held_out = held_out(&plan)?;
    let options = GatewayOptions {
        leaks: Arc::new(held_out.clone()) as Arc<dyn HeldOutIndex>,
        mode: config.write_mode,
        authored: config.authored_pages,
        effects: models.effect_rule(&plan.learner)?,
        ..GatewayOptions::at(models.clock().now())
    };
    let (mut gateway, _) = Gateway::open(&plan.skillbook, options).kind(Kind::Config)?;
    gateway.set_embedding(models.embedding()?);
    gateway.set_readers(models.safety_readers(&plan.learner)?);
    wire::runtime()?.block_on(async {
        models.reach([plan.model.as_str(), plan.learner.as_str()]).await?;
        let unaided = Arc::new(|_: &_| Ok(ArmGuidance::unaided()));
        let deps = wire::deps(config, unaided, models)?;
        let mut display = RunProgress::show(json);
        let (control, _socket) = display.offer(config, "explore");
        let spent = || models.spent();
        let finished = |episode: &Episode| told(episode);
        let mut explorer = Explorer {
            folder,
            gateway: &mut gateway,
            held_out: &held_out,
            deps,
            control,
            learner: learner(&plan.learner, models, "explore")?,
            spent: &spent,
            finished: &finished,
        };
        let ended = Box::pin(explorer.explore()).await;
        let (spent, episodes) = (explorer.folder.spent(), explorer.folder.episodes().to_vec());
        drop(explorer);
        display.finish().await;
        let hint = format!("go on with: apprentice explore --resume {}", place.display());
        let ExploreEnd { why } = ended.map_err(|error| failure(error).hint(hint))?;
        Ok(Ended { why, spent, episodes })
    })
}

/// What no task may repeat: held-out tasks of the suite, and of the suites that the book is locked to.
fn held_out(plan: &ExplorePlan) -> Result<LockedSuites, Failure> {
    let known = LockedSuites::of_book(&plan.skillbook).kind(Kind::Config)?;
    let Some(path) = &plan.suite else { return Ok(known) };
    let suite = crate::suite::load(path)?;
    let lock = locked(path, plan.split.as_deref())?;
    lock.check_suite(&suite).kind(Kind::Config)?;
    let index = HeldOutTasks::build(&lock, &suite);
    std::fs::create_dir_all(&plan.skillbook).kind(Kind::Environment)?;
    lock_book(&plan.skillbook, &lock, &index).kind(Kind::Config)?;
    Ok(known.with(Some(index)))
}

/// Tells of one finished episode in one line.
fn told(episode: &Episode) {
    let name = if episode.name.is_empty() { "-" } else { &episode.name };
    let again = if episode.try_number > 1 { format!(", try {}", episode.try_number) } else { String::new() };
    let function = match &episode.function {
        Some(one) if one.verified => {
            format!("; function {} verified", one.function.as_deref().unwrap_or_default())
        }
        Some(_) | None => String::new(),
    };
    terminal::note(format_args!(
        "episode {}: {name}{again}: {}; {}; {}{function}",
        episode.episode,
        episode.outcome.told(),
        counted(episode.world_steps as usize, "action"),
        counted(episode.learned.changed.len(), "changed skill"),
    ));
}

fn conclude(folder: &Path, ended: &Ended, json: bool) -> Result<(), Failure> {
    if json {
        return terminal::json(&Explored {
            schema: "apprentice.explored/1",
            folder,
            ended: &ended.why,
            spent_usd: ended.spent,
            episodes: &ended.episodes,
        });
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for episode in &ended.episodes {
        *counts.entry(episode.outcome.told()).or_default() += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|(what, count)| format!("{count} {what}")).collect();
    terminal::line(format_args!(
        "{}: {} ({}); {}",
        folder.display(),
        counted(ended.episodes.len(), "episode"),
        counts.join(", "),
        ended.why
    ));
    if ended.episodes.iter().any(|episode| episode.outcome != Outcome::Void) {
        Ok(())
    } else {
        Err(Failure::say(Kind::TrialsVoid, "no episode could be practised"))
    }
}

fn failure(error: ExploreError) -> Failure {
    let kind = match error {
        ExploreError::Run(error) => return wire::run_failure(error),
        ExploreError::Learn(CycleError::Learn(error)) => return apply_failure(error),
        ExploreError::Interrupted => Kind::Interrupted,
        ExploreError::Practice(_) | ExploreError::Judge(_) => Kind::Model,
        ExploreError::NoStart(_) => Kind::NothingMatched,
        ExploreError::NoView { .. } => Kind::Environment,
        _ => Kind::Config,
    };
    Failure::new(kind, error)
}
