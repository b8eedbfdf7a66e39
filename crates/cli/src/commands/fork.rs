//! `apprentice fork TRIAL --at STEP`: goes on from a recorded step in fresh worlds, with one thing changed in the help.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::run::{ArmPlan, frozen_book};
use apprentice_fork::{Fork, ForkError, ForkOutcome, ForkSite, Variant, find_trial, fork_text};
use apprentice_protocol::{Clock, SkillId, StepId};
use apprentice_results::arm::Arm;
use apprentice_runs::layout::FORK_FILE;
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::verification::admit;
use clap::Args;

use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::commands::run::{ParseCommand, StartedBy};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::options::guidance_args::GuidanceArgs;
use crate::runs::run_progress::RunProgress;
use crate::settings::config::Config;
use crate::{process_env, terminal, wire};

/// Goes on from a step of a recorded trial, several times with its own help and with one thing changed in it.
///
/// A fresh world is brought to the step by repeating the recorded actions. Where its screen differs from the recorded
/// one, the attempt is void before the model is asked, and the report says where it parted. The report gives the
/// difference of the two arms with its 95 % interval.
#[derive(Debug, Args)]
pub(crate) struct ForkCommand {
    /// The recorded trial: its id, or the beginning of it.
    trial: String,
    /// The step from which the model acts, as `s3` or `3`.
    #[arg(long, value_name = "STEP", value_parser = step)]
    at: StepId,
    /// Second arm: the same help over a book without this skill.
    #[arg(long, value_name = "SKILL", value_parser = skill, group = "variant")]
    without: Option<SkillId>,
    /// Second arm: the same help, and the text of this skill in the prompt.
    #[arg(long, value_name = "SKILL", value_parser = skill, group = "variant")]
    with: Option<SkillId>,
    /// Second arm: true skills that do not bear on the task.
    #[arg(long, group = "variant")]
    placebo: bool,
    /// The model that goes on [default: the recorded model].
    #[arg(long, short)]
    model: Option<String>,
    /// Number of attempts of each arm.
    #[arg(short = 'n', long = "times", value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// The run of the trial, or a folder with runs [default: the setting `runs`].
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// The attempt of the trial [default: the last judged one].
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<u32>,
    /// The suite of the run [default: as in the command that started the run].
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    /// The skillbook, if the run kept no frozen one [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Folder for the attempts and `fork.json`; must be new or empty [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    guidance: GuidanceArgs,
    #[command(flatten)]
    consent: SpendingArgs,
    /// Print one JSON object (`apprentice.fork/1`).
    #[arg(long)]
    json: bool,
}

fn step(text: &str) -> Result<StepId, String> {
    let number = text.strip_prefix('s').unwrap_or(text).parse().ok().filter(|number| *number > 0);
    number.map(StepId).ok_or_else(|| format!("{text:?} is no step; write it as s3 or 3"))
}

fn skill(text: &str) -> Result<SkillId, String> {
    SkillId::parse(text).map_err(|error| error.to_string())
}

impl ForkCommand {
    fn variant(&self) -> Option<Variant> {
        let without = self.without.clone().map(Variant::Without);
        let with = self.with.clone().map(Variant::With);
        without.or(with).or_else(|| self.placebo.then_some(Variant::Placebo))
    }

    fn folder(&self, config: &Config, clock: &dyn Clock, site: &ForkSite) -> PathBuf {
        let name = || format!("fork-{}-{}-{}", wire::stamp(clock), site.trial.trial, site.point.step);
        self.out.clone().unwrap_or_else(|| config.runs.join(name()))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &ForkCommand, config: &Config, parse: ParseCommand) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, Arc::clone(&clock))?;
    let root = arguments.run.as_deref().unwrap_or(&config.runs);
    let found = find_trial(root, &arguments.trial).map_err(failure)?;
    let site = ForkSite::load(&found, arguments.attempt, arguments.at).map_err(failure)?;
    let model = site.live_model(arguments.model.as_deref()).map_err(failure)?;
    models.check(&model)?;
    let suite = crate::suite::load(&suite_path(arguments, &site, parse)?)?;
    site.check_suite(&suite).map_err(failure)?;
    let recorded = recorded_arm(&site);
    let (book, unfrozen) = book(arguments, &found.run, &recorded, config)?;
    let book = book.with_embedding(models.embedding()?);
    let provider = arguments.guidance.provider(&suite, book, &clock)?;
    let notes = unfrozen.into_iter().chain(differences(&site, &recorded, &provider)).collect();
    let folder = arguments.folder(config, &*clock, &site);
    let fork = Fork {
        site,
        suite,
        provider: provider.clone(),
        variant: arguments.variant(),
        model: models.resolve(&model)?.to_owned(),
        times: arguments.times,
        command: process_env::command_line(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        notes,
    };
    fork.check().map_err(failure)?;
    let mut planned = fork.plan(1, clock.now()).map_err(failure)?;
    planned.trials = vec![planned.trials; arguments.times as usize].concat();
    let forecast = Forecast::of_plan(&models, &planned, &fork.suite, &[])?;
    if forecast.agree(config, arguments.consent.in_json(arguments.json))? == Proceed::Off {
        return Ok(());
    }
    let outcome = wire::runtime()?.block_on(async {
        let deps = wire::deps(config, wire::guidance(provider), &models)?;
        let mut display = RunProgress::show(arguments.json);
        let (control, _socket) = display.offer(config, "fork");
        let ended = fork.work(&folder, wire::jobs(config), deps, control).await;
        display.finish().await;
        ended.map_err(failure)
    })?;
    conclude(&outcome, arguments.json)
}

/// The path of the suite: the given one, else the one in the command that started the run.
fn suite_path(arguments: &ForkCommand, site: &ForkSite, parse: ParseCommand) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.suite {
        return Ok(path.clone());
    }
    let started = parse(&site.plan.command).ok().map(|command| command.started);
    let path = match started {
        Some(StartedBy::Run(run)) => Some(run.suite),
        Some(StartedBy::Bench(bench)) => Some(bench.suite().to_owned()),
        Some(StartedBy::Demo(demo)) => Some(demo.suite().to_owned()),
        Some(StartedBy::Distill(_) | StartedBy::Measure(_) | StartedBy::Other) | None => None,
    };
    path.ok_or_else(|| {
        let failure = Failure::say(Kind::Usage, "the run does not say where its suite is");
        failure.hint(format!("name the suite {:?} with --suite", site.plan.suite))
    })
}

/// Returns the recorded run's entry for the trial's arm.
fn recorded_arm(site: &ForkSite) -> ArmPlan {
    site.plan.arms.iter().find(|arm| arm.arm == site.trial.arm).cloned().unwrap_or_default()
}

/// Opens the book of the recorded run, or the configured one with a note if the run kept none.
fn book(
    arguments: &ForkCommand,
    run: &Path,
    recorded: &ArmPlan,
    config: &Config,
) -> Result<(Snapshot, Option<String>), Failure> {
    if recorded.skillbook_hash.is_none() && arguments.variant().is_none() {
        return Ok((Snapshot::empty(), None));
    }
    if let Some(frozen) = frozen_book(run) {
        return Ok((crate::commands::skills::open(&frozen)?, None));
    }
    let configured = arguments.skillbook.as_ref().unwrap_or(&config.skillbook);
    let note = format!("the run kept no frozen skillbook; guidance comes from: {}", configured.display());
    let book = crate::commands::skills::open(configured)?.clean().kind(Kind::Config)?;
    let admitted = match &recorded.admission {
        Some(admission) => admit(&book, admission.policy).0,
        None => book,
    };
    Ok((admitted, Some(note)))
}

/// Returns notes on what differs from the recorded run.
fn differences(site: &ForkSite, recorded: &ArmPlan, provider: &GuidanceProvider) -> Vec<String> {
    let mut notes = Vec::new();
    let then = recorded.skillbook_hash.as_deref();
    if Arm::parse(&site.trial.arm).is_ok_and(Arm::needs_book)
        && then.is_some_and(|then| then != provider.hash())
    {
        notes.push("the skillbook has changed since the run".to_owned());
    }
    if then.is_some() && recorded.aids != provider.inputs(Arm::Pull) {
        notes.push("tool servers, embeddings or hidden skills differ from those of the run".to_owned());
    }
    if site.plan.prompt_hash != apprentice_harness::agent::prompt_hash() {
        notes.push("the prompts have changed since the run".to_owned());
    }
    notes
}

fn failure(error: ForkError) -> Failure {
    let hint = match &error {
        ForkError::Ambiguous { .. } => Some("write more of the id, or name the run with --run".to_owned()),
        ForkError::NoTrial { .. } => {
            Some("`apprentice run … --json` and trials.jsonl name the trials".to_owned())
        }
        ForkError::SuiteChanged { .. } => {
            Some("name the unchanged suite with --suite, or run the trial again".to_owned())
        }
        ForkError::NoSkill { .. } => Some("`apprentice skills list` shows the book's skills".to_owned()),
        _ => None,
    };
    let kind = match &error {
        ForkError::NoTrial { .. } | ForkError::NoAttempt { .. } | ForkError::Plan(_) => Kind::NothingMatched,
        ForkError::Ambiguous { .. }
        | ForkError::Void { .. }
        | ForkError::NoStep { .. }
        | ForkError::Secret(_)
        | ForkError::NoSkill { .. }
        | ForkError::SameHelp(_)
        | ForkError::NoTimes
        | ForkError::Baseline(_) => Kind::Usage,
        ForkError::Store(_)
        | ForkError::Other(_)
        | ForkError::Trace(_)
        | ForkError::Incomplete { .. }
        | ForkError::Blob { .. }
        | ForkError::SuiteChanged { .. }
        | ForkError::NoTask(_)
        | ForkError::Help { .. } => Kind::Config,
        ForkError::Write { .. } => Kind::Environment,
        ForkError::Run(_) => match error {
            ForkError::Run(error) => return wire::run_failure(error),
            other => return Failure::new(Kind::Bug, other),
        },
    };
    let failed = Failure::new(kind, error);
    match hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

/// Prints the report. Failed and parted attempts are results; a fork without any judged attempt has none.
fn conclude(outcome: &ForkOutcome, json: bool) -> Result<(), Failure> {
    if json {
        terminal::json(&outcome.report)?;
    } else {
        terminal::line(format_args!("{}{}", fork_text(&outcome.report), outcome_path(&outcome.folder)));
    }
    if outcome.runs.iter().any(|run| run.has_bug()) {
        return Err(Failure::say(Kind::Bug, "a bug in this program ended an attempt"));
    }
    if outcome.runs.len() < outcome.report.times as usize || outcome.runs.iter().any(|run| run.interrupted) {
        return Err(Failure::say(Kind::Interrupted, "interrupted"));
    }
    if outcome.report.arms.iter().any(|arm| arm.judged > 0) {
        Ok(())
    } else {
        Err(Failure::say(Kind::TrialsVoid, "no attempt was judged"))
    }
}

fn outcome_path(folder: &Path) -> String {
    folder.join(FORK_FILE).display().to_string()
}
