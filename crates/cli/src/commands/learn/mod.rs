//! `apprentice learn RUN…`: reviews the attempts of finished runs and of `apprentice do`, and traces of other programs, and updates a
//! skillbook.

pub(super) mod foreign;
pub(super) mod own;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::learn::{
    CycleError, HeldOutTasks, LearningRecord, LockedSuites, Phase, UnreadReview, last_attempts, learn_from,
    lock_book, recorded_attempt, reviews_ahead,
};
use apprentice_evaluator::run::{RunFolder, final_results, has_conversation, read_run};
use apprentice_evaluator::split::{SplitLock, check_wording};
use apprentice_learning::reflect::ReflectOptions;
use apprentice_learning::{LearnOptions, LearnerModels};
use apprentice_protocol::{Clock as _, Limits, Verdict, counted};
use apprentice_runs::row::Split;
use apprentice_sandbox::SystemClock;
use apprentice_screening::leak::HeldOutIndex;
use apprentice_skillbook::review::ReflectMode;
use apprentice_skillbook::{Gateway, GatewayOptions};
use apprentice_tasks::suite::{SPLIT_FILE, Suite};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::forecast::{AttemptReview, Forecast, Proceed, SpendingArgs};
use crate::commands::learn::foreign::{ForeignTally, Inputs};
use crate::commands::learn::own::{Judging, OpenBook, OwnTally};
use crate::commands::skills::curate::{apply_failure, learner};
use crate::commands::skills::proposals::WriteModeArg;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::Config;
use crate::{terminal, wire};

/// The suite of runs, if none is named.
const SUITE: &str = "tasks/starter";

/// Updates the skillbook from the training attempts of finished runs, in the order of each run's plan, and then from
/// attempts of `apprentice do` and traces of other programs.
#[derive(Debug, Args)]
pub(crate) struct Learn {
    /// Folders of runs, and of attempts that `apprentice do` wrote; files and folders that other programs wrote, as `apprentice trace
    /// read` takes them.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The suite of the runs; attempts of `do` need none [default: tasks/starter].
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    /// The suite's locked split [default: `split.json` beside the suite].
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// The skillbook; the shipped one is changed only if it is named here [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// The model that reviews attempts and edits the skillbook. `scripted:FILE` replays its lines in order over all
    /// requests.
    #[arg(long, short, default_value = "builtin/explorer")]
    model: String,
    /// How attempts are reviewed.
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    reflection: Reflection,
    /// Largest number of pictures of an attempt for a reviewer that sees; 0 shows none.
    #[arg(long, default_value_t = ReflectOptions::default().pictures, value_name = "N")]
    reflector_pictures: usize,
    #[command(flatten)]
    judging: Judging,
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

/// The output of `learn --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Learned<'a> {
    schema: &'static str,
    skillbook: &'a Path,
    sealed: usize,
    void: usize,
    /// Attempts whose reviews could not be read. They stay unlearned.
    unread: usize,
    /// Attempts of `do` that nobody judged although somebody was asked. They stay unlearned.
    unjudged: usize,
    trajectories: &'a [LearningRecord],
}

/// A suite with its locked split.
struct LockedSuite {
    suite: Suite,
    lock: SplitLock,
}

/// Runs the command.
pub(crate) fn run(arguments: &Learn, config: &Config) -> Result<(), Failure> {
    let folder = crate::commands::skills::writable(arguments.skillbook.as_deref(), config)?;
    let Inputs { own, runs, traces } = Inputs::of(&arguments.runs)?;
    arguments.judging.check(&own)?;
    let suite = match runs.is_empty() && arguments.suite.is_none() {
        true => None,
        false => Some(locked_suite(arguments)?),
    };
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    let consent = arguments.consent.in_json(arguments.json);
    let forecast = forecast(
        arguments,
        &Counted { runs: &runs, own: own.len(), traces: &traces.turns },
        suite.as_ref(),
        &models,
    )?;
    if forecast.agree(config, consent)? == Proceed::Off {
        return Ok(());
    }
    if let Some(suite) = &suite {
        check_runs(&runs, suite)?;
    }
    wire::runtime()?.block_on(models.reach([arguments.model.as_str()]))?;
    let model = learner(&arguments.model, &models, "learn")?;
    let learners = LearnerModels { reflector: Arc::clone(&model), manager: model };
    let mode = arguments.writing.mode(config);
    let (time, authored) = (SystemClock::default().now(), config.authored_pages);
    let effects = models.effect_rule(&arguments.model)?;
    let options = GatewayOptions { mode, authored, effects, ..GatewayOptions::at(time) };
    let (mut gateway, held_out) =
        open_book(folder, &options, suite.as_ref(), own.is_empty() && traces.is_empty())?;
    gateway.set_embedding(models.embedding()?);
    gateway.set_readers(models.safety_readers(&arguments.model)?);
    let mut tally = Tally::default();
    let in_batches = models.waits_for_batches(&arguments.model)?;
    let reflect = reflect_options(arguments, in_batches && suite.is_some());
    let options = LearnOptions { reflect, ..LearnOptions::default() };
    let cancel = wire::cancel_on_interrupt();
    let mut book = OpenBook { gateway: &mut gateway, learners: &learners, options: &options };
    let learning = async {
        if let Some(suite) = &suite {
            tally.learn_runs(&mut book, suite, &runs, in_batches).await?;
        }
        for path in &own {
            let learned = tally.own.learn(&mut book, &held_out, &arguments.judging, path).await?;
            learned.iter().for_each(print_record);
        }
        tally.foreign.learn(&mut book, &held_out, &traces, print_record).await
    };
    wire::runtime()?.block_on(async {
        // The same command continues with a trajectory that was interrupted.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(stopped(folder)),
            learned = learning => learned,
        }
    })?;
    drop(gateway);
    models.close_batches()?;
    let concluded = conclude(tally, folder, arguments.json);
    crate::commands::skills::proposals::conclude(folder, mode)?;
    concluded
}

/// Opens the book for writing, locks it to the suite of the runs, and returns what is known of held-out tasks.
fn open_book(
    folder: &Path,
    options: &GatewayOptions,
    suite: Option<&LockedSuite>,
    only_runs: bool,
) -> Result<(Gateway, LockedSuites), Failure> {
    let held_out = held_out(folder, suite, only_runs)?;
    let leaks: Arc<dyn HeldOutIndex> = Arc::new(held_out.clone());
    let GatewayOptions { time, mode, authored, effects, .. } = *options;
    let (gateway, _) =
        Gateway::open(folder, GatewayOptions { time, leaks, mode, authored, effects }).kind(Kind::Config)?;
    match suite {
        Some(LockedSuite { suite, lock }) => {
            lock_book(folder, lock, &HeldOutTasks::build(lock, suite)).kind(Kind::Config)?;
        }
        None => own::check_book(gateway.state(), &held_out)?,
    }
    Ok((gateway, held_out))
}

/// Returns how attempts are reviewed. Reviews that share a batch are asked for before the book has the pages of the attempts
/// before them, so they show none.
fn reflect_options(arguments: &Learn, share_a_batch: bool) -> ReflectOptions {
    let known = ReflectOptions::default();
    ReflectOptions {
        mode: arguments.reflection.into(),
        pictures: arguments.reflector_pictures,
        pages: if share_a_batch { 0 } else { known.pages },
        ..known
    }
}

/// Asks for the reviews of all runs at once, so that they share a batch. What is missing is told at its attempt's turn.
async fn ask_ahead(book: &OpenBook<'_>, locked: &LockedSuite, runs: &[&Path]) -> Result<(), Failure> {
    let mut attempts = Vec::new();
    for path in runs {
        let run = RunFolder::open(path).kind(Kind::Config)?;
        for row in last_attempts(&run) {
            if locked.lock.split_of_task(&row.task).kind(Kind::Config)? == Split::Train {
                attempts.push(recorded_attempt(path, row, &locked.suite).kind(Kind::Config)?);
            }
        }
    }
    terminal::note(format_args!(
        "  reviews are asked for in a batch, whose answers may take a day; the same command takes up a batch that was sent"
    ));
    let ahead = reviews_ahead(book.gateway, &locked.lock, book.learners, attempts, book.options).await;
    let ahead = ahead.map_err(learn_failure)?;
    if !ahead.missing.is_empty() {
        let (missing, of) = (ahead.missing.len(), counted(ahead.asked, "review"));
        terminal::note(format_args!("  {missing} of {of} have no answer: {}", ahead.missing[0]));
    }
    Ok(())
}

/// Converts an error of learning from an attempt into a failure.
fn learn_failure(error: CycleError) -> Failure {
    match error {
        CycleError::Learn(error) => apply_failure(error),
        other @ (CycleError::Attempt { .. }
        | CycleError::Stopped(_)
        | CycleError::Split(_)
        | CycleError::Pictures(_)
        | CycleError::Keep { .. }) => Failure::new(Kind::Config, other),
    }
}

/// Loads the suite of the runs and its lock.
fn locked_suite(arguments: &Learn) -> Result<LockedSuite, Failure> {
    let named = arguments.suite.as_deref().unwrap_or(Path::new(SUITE));
    let suite = crate::suite::load(named)?;
    let split = arguments.split.clone().unwrap_or_else(|| suite.root.join(SPLIT_FILE));
    if arguments.split.is_none() && !split.is_file() {
        return Err(crate::commands::installation::split::unlocked(&suite, named));
    }
    let lock = SplitLock::read(&split).kind(Kind::Config)?;
    lock.check_suite(&suite).kind(Kind::Config)?;
    Ok(LockedSuite { suite, lock })
}

/// Returns what is known of held-out tasks: of the runs' suite, and for attempts of `do` of every suite that the book is
/// locked to.
fn held_out(folder: &Path, suite: Option<&LockedSuite>, only_runs: bool) -> Result<LockedSuites, Failure> {
    let known = match only_runs {
        true => LockedSuites::default(),
        false => LockedSuites::of_book(folder).kind(Kind::Config)?,
    };
    Ok(known.with(suite.map(|LockedSuite { suite, lock }| HeldOutTasks::build(lock, suite))))
}

/// Checks every training attempt of the runs against the split and the suite, before the first review.
fn check_runs(runs: &[&Path], locked: &LockedSuite) -> Result<(), Failure> {
    let LockedSuite { suite, lock } = locked;
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

/// What there is to learn from.
struct Counted<'a> {
    runs: &'a [&'a Path],
    own: usize,
    /// Turns of each trace of another program.
    traces: &'a [u32],
}

/// Computes the cost forecast. It is an upper bound: attempts that were learned from before cost no further calls.
fn forecast(
    arguments: &Learn,
    Counted { runs, own, traces }: &Counted<'_>,
    suite: Option<&LockedSuite>,
    models: &Models,
) -> Result<Forecast, Failure> {
    let mut forecast = Forecast::default();
    let model = models.resolve(&arguments.model)?;
    let options = ReflectOptions { pictures: arguments.reflector_pictures, ..ReflectOptions::default() };
    arguments.judging.add_requests(&mut forecast, models, &arguments.model, *own)?;
    for (path, LockedSuite { lock, .. }) in runs.iter().flat_map(|path| suite.map(|suite| (path, suite))) {
        let (_, rows) = read_run(path).kind(Kind::Config)?;
        for row in final_results(rows).iter().filter(|row| row.verdict != Verdict::Void) {
            if lock.split_of_task(&row.task).kind(Kind::Config)? != Split::Train {
                continue;
            }
            let in_context = match arguments.reflection {
                Reflection::InContext => row.model == model && has_conversation(&path.join(&row.trace)),
                Reflection::Fresh => false,
            };
            let review = AttemptReview { options: &options, turns: row.turns, in_context };
            forecast.add_attempt_review(models, &arguments.model, review)?;
        }
    }
    // Attempts of `do` are not read before the cost is agreed to: each may have as many turns as `do` allows.
    for turns in std::iter::repeat_n(Limits::default().turns, *own).chain(traces.iter().copied()) {
        let review = AttemptReview { options: &options, turns, in_context: false };
        forecast.add_attempt_review(models, &arguments.model, review)?;
    }
    Ok(forecast)
}

fn stopped(folder: &Path) -> Failure {
    let message = format!("interrupted; {} contains the results so far", folder.display());
    Failure::say(Kind::Interrupted, message).hint("repeat the command to continue")
}

/// Counts over the runs.
#[derive(Default)]
struct Tally {
    records: Vec<LearningRecord>,
    own: OwnTally,
    foreign: ForeignTally,
    sealed: usize,
    void: usize,
}

impl Tally {
    async fn learn_runs(
        &mut self,
        book: &mut OpenBook<'_>,
        suite: &LockedSuite,
        runs: &[&Path],
        in_batches: bool,
    ) -> Result<(), Failure> {
        if in_batches {
            ask_ahead(book, suite, runs).await?;
        }
        for path in runs {
            self.learn(book, suite, path).await?;
        }
        Ok(())
    }

    async fn learn(
        &mut self,
        book: &mut OpenBook<'_>,
        locked: &LockedSuite,
        path: &Path,
    ) -> Result<(), Failure> {
        let LockedSuite { suite, lock } = locked;
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
            let record = learn_from(book.gateway, lock, book.learners, attempted, book.options).await;
            let record = record.map_err(learn_failure)?;
            print_record(&record);
            self.records.push(record);
        }
        Ok(())
    }
}

/// Prints in one line what the review of one trajectory changed in the skillbook.
fn print_record(record: &LearningRecord) {
    let phase = match record.phase {
        Phase::Teach { epoch } => format!("lesson, epoch {}", epoch + 1),
        Phase::Rehearse => "rehearsal".into(),
        Phase::Recorded => "recorded".into(),
        Phase::Own => "own attempt".into(),
        Phase::Foreign => "trace of another program".into(),
    };
    if let Some(unread) = &record.unread {
        terminal::note(format_args!("  {phase}, {}: not learned; {}", record.task, unread.why));
        if let Some(path) = &unread.answers {
            terminal::note(format_args!("    the answers are in {}", path.display()));
        }
        return;
    }
    let wrote: Vec<&str> = record.decisions.iter().filter_map(|(_, tool)| tool.as_deref()).collect();
    let wrote = if wrote.is_empty() { "no changes".into() } else { wrote.join(", ") };
    terminal::note(format_args!(
        "  {phase}, {}: {}, {}; {wrote}; {} in the skillbook",
        record.task,
        counted(record.reviews, "review"),
        counted(record.learnings, "learning"),
        counted(record.skills, "skill")
    ));
    for lost in &record.not_written {
        terminal::note(format_args!("    not written: {lost}"));
    }
    if let Some(why) = &record.fallback {
        terminal::note(format_args!("    reviewed in a new conversation: {why}"));
    }
}

fn conclude(mut tally: Tally, folder: &Path, json: bool) -> Result<(), Failure> {
    let own = std::mem::take(&mut tally.own);
    let ForeignTally { records: foreign, sealed, void } = std::mem::take(&mut tally.foreign);
    let (sealed, void) = (sealed + tally.sealed + own.sealed, void + tally.void + own.void);
    let records: Vec<LearningRecord> = tally.records.into_iter().chain(own.records).chain(foreign).collect();
    let unread: Vec<&UnreadReview> = records.iter().filter_map(|one| one.unread.as_ref()).collect();
    if json {
        terminal::json(&Learned {
            schema: "apprentice.learn/1",
            skillbook: folder,
            sealed,
            void,
            unread: unread.len(),
            unjudged: own.unjudged.len(),
            trajectories: &records,
        })?;
    } else {
        let unjudged = match own.unjudged.len() {
            0 => String::new(),
            count => format!(", {count} not judged"),
        };
        terminal::line(format_args!(
            "{} trajectories learned from, {sealed} held out and skipped, {void} void{unjudged}; {}",
            records.len() - unread.len(),
            folder.display()
        ));
    }
    if records.is_empty() && own.unjudged.is_empty() {
        let message = "the paths contain no attempt to learn from";
        return Err(Failure::say(Kind::NothingMatched, message));
    }
    match (unread.first(), own.unjudged.first()) {
        (None, None) => Ok(()),
        (None, Some(first)) => Err(own::unjudged(first, own.unjudged.len())),
        (Some(first), _) => {
            let count = unread.len();
            let reviews = if count == 1 { "review" } else { "reviews" };
            let message = format!(
                "{count} {reviews} could not be read; the attempts stay unlearned ({}: {})",
                first.attempt, first.why
            );
            let hint = "repeat the command to ask again, or name another --model";
            Err(Failure::say(Kind::Model, message).hint(hint))
        }
    }
}
