//! Options of `apprentice do` for learning during an attempt, and the report at its end.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use apprentice_evaluator::background::lock_session;
use apprentice_learning::foreground::{AttemptLearning, AttemptLearningOptions, FinalOutput, Language};
use apprentice_trace::Redactor;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::commands::skills::learning::{self as review, ReviewOptions, Reviewed};
use crate::commands::skills::proposals::{WriteModeArg, conclude as conclude_proposals};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::{BackgroundChoice, Config};
use crate::terminal;

/// The attempt's report, beside its trace.
const FILE: &str = "final.json";

/// Options for learning during an attempt.
#[derive(Debug, Default, Args)]
pub(in crate::commands) struct Learning {
    /// Let the agent write skills while it works, in a folder of its world, and report on skills at the end; finished
    /// skills are published to the skillbook together.
    #[arg(long, requires = "skillbook")]
    learn: bool,
    /// Language of messages about learning: `en` or `de`.
    #[arg(long, value_name = "TAG", default_value = "en", requires = "learn")]
    language: String,
    #[command(flatten)]
    writing: WriteModeArg,
}

/// What `do --learn` writes to `final.json`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Final<'a> {
    schema: &'static str,
    #[serde(flatten)]
    output: &'a FinalOutput,
}

impl Learning {
    /// Creates the learning of an attempt that writes skills, if `--learn` is given.
    pub(in crate::commands) fn attempt_learning(
        &self,
        book: Option<&Path>,
        run: &Path,
        models: &Models,
        model: &str,
    ) -> Result<Option<Arc<AttemptLearning>>, Failure> {
        if self.writing.is_named() && !self.learn {
            return Err(Failure::say(
                Kind::Usage,
                "--write-mode requires --learn: without it no skills are written",
            ));
        }
        let Some(book) = book.filter(|_| self.learn) else { return Ok(None) };
        let language = Language::of_tag(&self.language);
        if language == Language::English && !self.language.starts_with("en") {
            terminal::note(format_args!("no translation for {:?}; using English", self.language));
        }
        let run_folder = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
        let run = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plan = AttemptLearningOptions {
            book: book.to_owned(),
            clock: Arc::clone(models.clock()),
            language,
            run,
            trace: Some(run_folder),
            mode: self.writing.mode(models.config()),
            readers: models.safety_readers(model)?,
        };
        Ok(Some(AttemptLearning::new(plan)))
    }
}

impl Learning {
    /// Reports changes that wait for review, or asks about them.
    pub(in crate::commands) fn settle(&self, book: Option<&Path>, config: &Config) -> Result<(), Failure> {
        match book.filter(|_| self.learn) {
            Some(book) => conclude_proposals(book, self.writing.mode(config)),
            None => Ok(()),
        }
    }
}

impl Learning {
    /// Reviews what waits, if the settings say so and a review is due. The answer was given before: a review that fails is
    /// no failure of the work, and only what it changed is told.
    pub(in crate::commands) async fn review_after(&self, book: &Path, config: &Config, models: &Models) {
        if !self.learn || config.learning.background == BackgroundChoice::Off {
            return;
        }
        let (mode, cancel) = (self.writing.mode(config), CancellationToken::new());
        let options = ReviewOptions { model: review::ROLE, at_once: false, mode, cancel };
        match review::review(book, config, models, options).await {
            Ok(Reviewed::Done(summary)) => review::tell_changes(&summary, Language::of_tag(&self.language)),
            Ok(Reviewed::NotDue | Reviewed::HeldBack(_)) => {}
            Err(failure) => tracing::warn!(%failure, "the background review failed; its turns wait"),
        }
    }
}

/// The learning of one session: each turn is judged, counted and reported by itself. The lock tells a background review
/// that the session is still going on; the system releases it even if the process is killed.
pub(in crate::commands) struct SessionLearning<'a> {
    learning: &'a Arc<AttemptLearning>,
    folder: &'a Path,
    redactor: &'a Redactor,
    _lock: File,
}

impl<'a> SessionLearning<'a> {
    /// Begins the learning of a session whose trace is in this folder.
    pub(in crate::commands) fn begin(
        learning: &'a Arc<AttemptLearning>,
        folder: &'a Path,
        redactor: &'a Redactor,
    ) -> Result<Self, Failure> {
        let lock = lock_session(folder)
            .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", folder.display())))?;
        Ok(Self { learning, folder, redactor, _lock: lock })
    }

    /// The learning that the tools of the agent share.
    pub(in crate::commands) fn attempt(&self) -> &AttemptLearning {
        self.learning
    }

    /// Begins a turn, which may make a report of its own.
    pub(in crate::commands) fn begin_turn(&self) {
        self.learning.begin_turn();
    }

    /// Ends a turn of a session with several: counts it, prints its receipts, and writes `final-<turn>.json`.
    pub(in crate::commands) fn end_turn(&self, turn: u32) -> Result<(), Failure> {
        let output = self.learning.end_turn(Some(turn)).kind(Kind::Config)?;
        self.tell(&output, &format!("final-{turn}.json"))
    }

    /// Ends an attempt at one instruction: counts it, prints its receipts, and writes `final.json`.
    pub(in crate::commands) fn end_attempt(&self) -> Result<(), Failure> {
        let output = self.learning.end_turn(None).kind(Kind::Config)?;
        self.tell(&output, FILE)
    }

    fn tell(&self, output: &FinalOutput, name: &str) -> Result<(), Failure> {
        for receipt in &output.receipts {
            terminal::note(format_args!("{receipt}"));
        }
        let kept = Final { schema: "apprentice.final/1", output };
        let text = serde_json::to_string(&kept).kind(Kind::Bug)?;
        let path = self.folder.join(name);
        std::fs::write(&path, format!("{}\n", self.redactor.apply_to_json(&text)))
            .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", path.display())))
    }
}
