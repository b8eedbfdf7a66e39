//! `apprentice learn RUN…`: reviews the attempts of finished runs and updates a skillbook.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::learn::{
    CycleError, HeldOutTasks, LearningRecord, Phase, UnreadReview, last_attempts, learn_from,
    recorded_attempt,
};
use apprentice_evaluator::run::{RunFolder, final_results, has_conversation, read_run};
use apprentice_evaluator::split::{SplitLock, check_wording};
use apprentice_protocol::{Clock as _, Verdict, counted};
use apprentice_results::row::Split;
use apprentice_sandbox::SystemClock;
use apprentice_skills::book::{Gateway, GatewayOptions};
use apprentice_skills::reflect::{ReflectMode, ReflectOptions};
use apprentice_skills::{LearnOptions, LearnerModels};
use apprentice_tasks::suite::Suite;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::skills::curate::apply_failure;
use super::skills::proposals::WriteModeArg;
use crate::config::Config;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::forecast::{Forecast, Proceed, SpendingArgs};
use crate::models::Models;
use crate::{terminal, wire};

/// Updates the skillbook from the training attempts of finished runs, in the order of each run's plan.
#[derive(Debug, Args)]
pub(crate) struct Learn {
    /// Folders of the runs.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The suite of the runs.
    #[arg(long, default_value = "tasks/starter", value_name = "PATH")]
    suite: PathBuf,
    /// The suite's locked split [default: `split.json` beside the suite].
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// The skillbook; the shipped one is changed only if it is named here [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// The model that reviews attempts and edits the skillbook.
    #[arg(long, short, default_value = "builtin/explorer")]
    model: String,
    /// How attempts are reviewed.
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    reflection: Reflection,
    /// Largest number of pictures of an attempt for a reviewer that sees; 0 shows none.
    #[arg(long, default_value_t = ReflectOptions::default().pictures, value_name = "N")]
    reflector_pictures: usize,
    #[command(flatten)]
    consent: SpendingArgs,
    #[command(flatten)]
    writing: WriteModeArg,
    /// Print one JSON object (`apprentice.learn/1`).
    #[arg(long)]
    json: bool,
}

/// How attempts are reviewed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Reflection {
    /// In a new conversation that shows what happened.
    #[default]
    Fresh,
    /// In the conversation of the model that acted, if it was stored (`run --keep-conversations`); otherwise, or if
    /// another model acted, as with `fresh`.
    InContext,
}

impl From<Reflection> for ReflectMode {
    fn from(chosen: Reflection) -> Self {
        match chosen {
            Reflection::Fresh => Self::Fresh,
            Reflection::InContext => Self::InContext,
        }
    }
}

#[derive(Serialize)]
struct Learned<'a> {
    schema: &'static str,
    skillbook: &'a Path,
    sealed: usize,
    void: usize,
    /// Attempts whose reviews could not be read. They stay unlearned.
    unread: usize,
    trajectories: &'a [LearningRecord],
}

/// Runs the command.
pub(crate) fn run(arguments: &Learn, config: &Config) -> Result<(), Failure> {
    let folder = super::skills::writable(arguments.skillbook.as_deref(), config)?;
    let suite = crate::suite::load(&arguments.suite)?;
    let split = arguments.split.clone().unwrap_or_else(|| suite.root.join("split.json"));
    if arguments.split.is_none() && !split.is_file() {
        return Err(super::split::unlocked(&suite, &arguments.suite));
    }
    let lock = SplitLock::read(&split).kind(Kind::Config)?;
    lock.check_suite(&suite).kind(Kind::Config)?;
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    let consent = arguments.consent.in_json(arguments.json);
    if forecast(arguments, &lock, &models)?.agree(config, consent)? == Proceed::Off {
        return Ok(());
    }
    check_runs(&arguments.runs, &lock, &suite)?;
    wire::runtime()?.block_on(models.reach([arguments.model.as_str()]))?;
    let model = models.get(&arguments.model, "learn")?;
    let staff = LearnerModels { reflector: Arc::clone(&model), manager: model };
    let mode = arguments.writing.mode(config);
    let leaks = Arc::new(HeldOutTasks::build(&lock, &suite));
    let (time, authored) = (SystemClock::default().now(), config.authored_pages);
    let (mut gateway, _) =
        Gateway::open(folder, GatewayOptions { time, leaks, mode, authored }).kind(Kind::Config)?;
    gateway.set_embedding(models.meaning()?);
    let mut tally = Tally::default();
    let reflect = ReflectOptions {
        mode: arguments.reflection.into(),
        pictures: arguments.reflector_pictures,
        ..ReflectOptions::default()
    };
    let options = LearnOptions { reflect, ..LearnOptions::default() };
    let cancel = wire::cancel_on_interrupt();
    for path in &arguments.runs {
        let learning = tally.learn(&mut gateway, (&lock, &suite, &staff), (path, &options));
        wire::runtime()?.block_on(async {
            // The same command continues with a trajectory that was interrupted.
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(stopped(folder)),
                learned = learning => learned,
            }
        })?;
    }
    drop(gateway);
    let concluded = conclude(&tally, folder, arguments.json);
    super::skills::proposals::conclude(folder, mode)?;
    concluded
}

/// Checks every training attempt of the runs against the split and the suite, before the first review.
fn check_runs(runs: &[PathBuf], lock: &SplitLock, suite: &Suite) -> Result<(), Failure> {
    for path in runs {
        let run = RunFolder::open(path).kind(Kind::Config)?;
        for row in last_attempts(&run).into_iter().filter(|row| row.verdict != Verdict::Void) {
            if lock.split_of_task(&row.task).kind(Kind::Config)? != Split::Train {
                continue;
            }
            lock.check_row(&row).kind(Kind::Config)?;
            let attempted = recorded_attempt(path, row, suite).kind(Kind::Config)?;
            if let Some((trajectory, _)) = &attempted.trajectory {
                check_wording(suite, &attempted.row, &trajectory.goal).kind(Kind::Config)?;
            }
        }
    }
    Ok(())
}

/// Computes the cost forecast. It is an upper bound: attempts that were learned from before cost no further calls.
fn forecast(arguments: &Learn, lock: &SplitLock, models: &Models) -> Result<Forecast, Failure> {
    let mut forecast = Forecast::default();
    let (mut read, model) = (0, models.resolve(&arguments.model)?);
    for path in &arguments.runs {
        let (plan, rows) = read_run(path).kind(Kind::Config)?;
        for row in final_results(&plan, rows).iter().filter(|row| row.verdict != Verdict::Void) {
            if lock.split_of_task(&row.task).kind(Kind::Config)? != Split::Train {
                continue;
            }
            match arguments.reflection {
                Reflection::InContext if row.model == model && has_conversation(&path.join(&row.trace)) => {
                    forecast.add_in_context_review(models, &arguments.model, row.turns)?;
                }
                Reflection::InContext | Reflection::Fresh => read += 1,
            }
        }
    }
    forecast.add_reviews(models, &arguments.model, read)?;
    Ok(forecast)
}

fn stopped(folder: &Path) -> Failure {
    let story = format!("interrupted; {} contains the results so far", folder.display());
    Failure::say(Kind::Interrupted, story).hint("repeat the command to continue")
}

/// Counts over the runs.
#[derive(Default)]
struct Tally {
    worked: Vec<LearningRecord>,
    sealed: usize,
    void: usize,
}

impl Tally {
    async fn learn(
        &mut self,
        gateway: &mut Gateway,
        (lock, suite, staff): (&SplitLock, &Suite, &LearnerModels),
        (path, options): (&Path, &LearnOptions),
    ) -> Result<(), Failure> {
        let run = RunFolder::open(path).kind(Kind::Config)?;
        for row in last_attempts(&run) {
            if lock.split_of_task(&row.task).kind(Kind::Config)? != Split::Train {
                self.sealed += 1;
                continue;
            }
            if row.verdict == Verdict::Void {
                self.void += 1;
                continue;
            }
            let attempted = recorded_attempt(path, row, suite).kind(Kind::Config)?;
            let worked = learn_from(gateway, (lock, staff), attempted, options).await;
            let worked = worked.map_err(|error| match error {
                CycleError::Learn(error) => apply_failure(error),
                other @ (CycleError::Attempt { .. }
                | CycleError::Split(_)
                | CycleError::Pictures(_)
                | CycleError::Keep { .. }) => Failure::new(Kind::Config, other),
            })?;
            tell(&worked);
            self.worked.push(worked);
        }
        Ok(())
    }
}

/// Prints in one line what the review of one trajectory changed in the skillbook.
fn tell(worked: &LearningRecord) {
    let phase = match worked.phase {
        Phase::Teach { epoch } => format!("lesson, epoch {}", epoch + 1),
        Phase::Rehearse => "rehearsal".into(),
        Phase::Recorded => "recorded".into(),
    };
    if let Some(unread) = &worked.unread {
        terminal::note(format_args!("  {phase}, {}: not learned; {}", worked.task, unread.why));
        if let Some(path) = &unread.answers {
            terminal::note(format_args!("    the answers are in {}", path.display()));
        }
        return;
    }
    let wrote: Vec<&str> = worked.decisions.iter().filter_map(|(_, tool)| tool.as_deref()).collect();
    let wrote = if wrote.is_empty() { "no changes".into() } else { wrote.join(", ") };
    terminal::note(format_args!(
        "  {phase}, {}: {}, {}; {wrote}; {} in the skillbook",
        worked.task,
        counted(worked.reviews, "review"),
        counted(worked.learnings, "learning"),
        counted(worked.skills, "skill")
    ));
    if let Some(why) = &worked.fallback {
        terminal::note(format_args!("    reviewed in a new conversation: {why}"));
    }
}

fn conclude(tally: &Tally, folder: &Path, json: bool) -> Result<(), Failure> {
    let Tally { worked, sealed, void } = tally;
    let unread: Vec<&UnreadReview> = worked.iter().filter_map(|one| one.unread.as_ref()).collect();
    if json {
        let (sealed, void) = (*sealed, *void);
        terminal::json(&Learned {
            schema: "apprentice.learn/1",
            skillbook: folder,
            sealed,
            void,
            unread: unread.len(),
            trajectories: worked,
        })?;
    } else {
        terminal::line(format_args!(
            "{} trajectories learned from, {sealed} held out and skipped, {void} void; {}",
            worked.len() - unread.len(),
            folder.display()
        ));
    }
    if worked.is_empty() {
        let story = "the runs contain no training attempt to learn from";
        return Err(Failure::say(Kind::NothingMatched, story));
    }
    match unread.first() {
        None => Ok(()),
        Some(first) => {
            let count = unread.len();
            let reviews = if count == 1 { "review" } else { "reviews" };
            let story = format!(
                "{count} {reviews} could not be read; the attempts stay unlearned ({}: {})",
                first.attempt, first.why
            );
            let hint = "repeat the command to ask again, or name another --model";
            Err(Failure::say(Kind::Model, story).hint(hint))
        }
    }
}
