//! Options of `apprentice do` for learning during an attempt, and the report at its end.

use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::Clock;
use apprentice_skills::foreground::{AttemptLearning, AttemptLearningOptions, FinalOutput, Language};
use apprentice_trace::Redactor;
use clap::Args;
use serde::Serialize;

use super::skills::proposals::{WriteModeArg, conclude as conclude_proposals};
use crate::config::Config;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// The attempt's report, beside its trace.
const FILE: &str = "final.json";

/// Options for learning during an attempt.
#[derive(Debug, Args)]
pub(super) struct Learning {
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

#[derive(Serialize)]
struct Final<'a> {
    schema: &'static str,
    #[serde(flatten)]
    output: &'a FinalOutput,
}

impl Learning {
    /// Creates the learning of an attempt that writes skills, if `--learn` is given.
    pub(super) fn attempt_learning(
        &self,
        book: Option<&Path>,
        run: &Path,
        clock: &Arc<dyn Clock>,
        config: &Config,
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
        let run = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plan = AttemptLearningOptions {
            book: book.to_owned(),
            clock: Arc::clone(clock),
            language,
            run,
            mode: self.writing.mode(config),
        };
        Ok(Some(AttemptLearning::new(plan)))
    }
}

impl Learning {
    /// Reports changes that wait for review, or asks about them.
    pub(super) fn settle(&self, book: Option<&Path>, config: &Config) -> Result<(), Failure> {
        match book.filter(|_| self.learn) {
            Some(book) => conclude_proposals(book, self.writing.mode(config)),
            None => Ok(()),
        }
    }
}

/// Closes the learning of an attempt, prints its receipts, and writes the report beside the trace.
pub(super) fn conclude(
    learning: &AttemptLearning,
    folder: &Path,
    redactor: &Redactor,
) -> Result<(), Failure> {
    let output = learning.close().kind(Kind::Config)?;
    for receipt in &output.receipts {
        terminal::note(format_args!("{receipt}"));
    }
    let kept = Final { schema: "apprentice.final/1", output: &output };
    let text = serde_json::to_string(&kept).kind(Kind::Bug)?;
    let path = folder.join(FILE);
    std::fs::write(&path, format!("{}\n", redactor.apply_to_json(&text)))
        .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", path.display())))
}
