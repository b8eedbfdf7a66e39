//! `skills learning`: what agents learned, tried and signalled, whether a review is due, and the review itself.

use std::path::Path;
use std::sync::Arc;

use apprentice_evaluator::background::{ReviewState, prepare};
use apprentice_learning::background::{ReviewRequest, ReviewSummary, SkillChange};
use apprentice_learning::foreground::{Language, Receipt, ReviewOutcome, receipt};
use apprentice_models::middleware::Ledger;
use apprentice_protocol::{ChatModel, Clock};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::WriteMode;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::curate::learner;
use super::proposals::{WriteModeArg, conclude};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::Config;
use crate::{terminal, wire};

/// The role whose model reviews.
pub(crate) const ROLE: &str = "background";

/// Shows learning activity and signals of agents, the counters since the last review, and whether a review is due.
#[derive(Debug, Args)]
pub(crate) struct Learning {
    #[command(subcommand)]
    what: Option<LearningCommand>,
}

#[derive(Debug, Subcommand)]
enum LearningCommand {
    Run(RunReview),
}

/// Reviews finished sessions of `do --learn` for skills that were not written or not mended, if a review is due.
#[derive(Debug, Args)]
pub(crate) struct RunReview {
    /// Review whatever waits, without a trigger; the interval and the caps of the settings hold all the same.
    #[arg(long)]
    now: bool,
    /// The model that reviews [default: the role `background`].
    #[arg(long, short, default_value = ROLE)]
    model: String,
    /// Language of messages about learning: `en` or `de`.
    #[arg(long, value_name = "TAG", default_value = "en")]
    language: String,
    #[command(flatten)]
    writing: WriteModeArg,
}

/// How a review runs.
pub(crate) struct ReviewOptions<'a> {
    /// The model's name.
    pub(crate) model: &'a str,
    /// Whether waiting turns are reason enough.
    pub(crate) at_once: bool,
    /// Whether changes take effect at once.
    pub(crate) mode: WriteMode,
    /// Stops the review; what it has staged is written by the next one.
    pub(crate) cancel: CancellationToken,
}

/// The end of an attempt to review.
pub(crate) enum Reviewed {
    /// Nothing calls for a review.
    NotDue,
    /// Something does, but not now.
    HeldBack(String),
    /// A review ran.
    Done(Box<ReviewSummary>),
}

impl Learning {
    /// Whether the command may change the skillbook.
    pub(super) fn writes(&self) -> bool {
        self.what.is_some()
    }

    /// Runs the command.
    pub(super) fn run(&self, folder: &Path, as_json: bool, config: &Config) -> Result<(), Failure> {
        match &self.what {
            None => super::events::learning(folder, as_json, config),
            Some(LearningCommand::Run(run)) => run.review(folder, as_json, config),
        }
    }
}

impl RunReview {
    fn review(&self, folder: &Path, as_json: bool, config: &Config) -> Result<(), Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let models = wire::models(config, clock)?;
        let mode = self.writing.mode(config);
        let cancel = wire::cancel_on_interrupt();
        let options = ReviewOptions { model: &self.model, at_once: self.now, mode, cancel };
        let reviewed = wire::runtime()?.block_on(review(folder, config, &models, options))?;
        if as_json {
            return terminal::json(&output(&reviewed));
        }
        match &reviewed {
            Reviewed::NotDue => terminal::line(format_args!("no review is due")),
            Reviewed::HeldBack(why) => terminal::line(format_args!("no review now: {why}")),
            Reviewed::Done(summary) => {
                tell_changes(summary, Language::of_tag(&self.language));
                tell_summary(summary);
            }
        }
        conclude(folder, mode)?;
        failure_of(&reviewed)
    }
}

/// Runs a review if one is due.
pub(crate) async fn review(
    folder: &Path,
    config: &Config,
    models: &Models,
    options: ReviewOptions<'_>,
) -> Result<Reviewed, Failure> {
    let clock = models.clock();
    let state = prepare(folder, &config.learning.limits(), clock.as_ref(), options.at_once);
    let due = match state.kind(Kind::Config)? {
        ReviewState::NotDue => return Ok(Reviewed::NotDue),
        ReviewState::HeldBack(why) => return Ok(Reviewed::HeldBack(why)),
        ReviewState::Due(due) => due,
    };
    let ledger = Arc::new(Ledger::new("review", Some(due.budget_usd.max(0.0))));
    let model = learner(models.resolve(options.model)?, models, "review")?;
    let model = models.within(model, options.model, &ledger)?;
    let readers: Vec<Arc<dyn ChatModel>> = models
        .safety_readers(options.model)?
        .into_iter()
        .map(|reader| {
            let name = reader.profile().name.clone();
            models.within(reader, &name, &ledger)
        })
        .collect::<Result<_, _>>()?;
    let spent = || ledger.spent();
    let request = ReviewRequest {
        book: folder,
        model: model.as_ref(),
        readers: &readers,
        clock: clock.as_ref(),
        mode: options.mode,
        spent: &spent,
    };
    let work = due.run(&request);
    tokio::select! {
        biased;
        () = options.cancel.cancelled() => Err(Failure::say(Kind::Interrupted, "interrupted")
            .hint("the sessions wait for the next review: apprentice skills learning run")),
        done = work => Ok(Reviewed::Done(Box::new(done.kind(Kind::Model)?))),
    }
}

/// Tells the user what a review created or changed; nothing else of a review is told unasked.
pub(crate) fn tell_changes(summary: &ReviewSummary, language: Language) {
    for change in &summary.changes {
        let kind = match (change.proposed, change.created) {
            (true, _) => Receipt::Proposed,
            (false, true) => Receipt::Learned,
            (false, false) => Receipt::Updated,
        };
        terminal::note(format_args!("{}", receipt(language, kind, change.skill.as_str())));
    }
}

fn tell_summary(summary: &ReviewSummary) {
    let turns = apprentice_protocol::counted(summary.reviewed, "turn");
    terminal::line(format_args!(
        "{}: {}; {turns} reviewed, ${:.4}",
        summary.review,
        terminal::words(&summary.outcome),
        summary.usd
    ));
    for (key, why) in &summary.left {
        terminal::line(format_args!("  {key}: {why}"));
    }
}

/// The output of `skills learning run --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct ReviewOutput<'a> {
    schema: &'static str,
    /// Whether a review ran. The other fields say why not, or what it did.
    reviewed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(flatten)]
    done: Option<FinishedReview<'a>>,
}

/// What a review did.
#[derive(Serialize, JsonSchema)]
struct FinishedReview<'a> {
    review: &'a str,
    outcome: ReviewOutcome,
    changes: &'a [SkillChange],
    left: Vec<LeftTurn<'a>>,
    /// Number of turns reviewed.
    turns: usize,
    usd: f64,
    error: Option<&'a str>,
}

/// A turn that waits for another review.
#[derive(Serialize, JsonSchema)]
struct LeftTurn<'a> {
    key: &'a str,
    why: &'a str,
}

fn output(reviewed: &Reviewed) -> ReviewOutput<'_> {
    let schema = "apprentice.skills.learning-run/1";
    let none = |why| ReviewOutput { schema, reviewed: false, why: Some(why), done: None };
    match reviewed {
        Reviewed::NotDue => none("no trigger"),
        Reviewed::HeldBack(why) => none(why),
        Reviewed::Done(summary) => {
            let left = summary.left.iter().map(|(key, why)| LeftTurn { key, why }).collect();
            let done = FinishedReview {
                review: &summary.review,
                outcome: summary.outcome,
                changes: &summary.changes,
                left,
                turns: summary.reviewed,
                usd: summary.usd,
                error: summary.error.as_deref(),
            };
            ReviewOutput { schema, reviewed: true, why: None, done: Some(done) }
        }
    }
}

/// A review that did not come to its end is a failure of the command that was asked for it.
fn failure_of(reviewed: &Reviewed) -> Result<(), Failure> {
    match reviewed {
        Reviewed::Done(summary) if !summary.outcome.is_complete() => {
            let why = summary.error.clone().unwrap_or_default();
            Err(Failure::say(Kind::Model, format!("the review came to no end: {why}"))
                .hint("its turns wait for the next review"))
        }
        _ => Ok(()),
    }
}
