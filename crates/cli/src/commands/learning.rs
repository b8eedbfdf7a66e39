//! Learning while working, as options of `apprentice do`, and what is left of it at the end.

use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::Clock;
use apprentice_skills::foreground::{FinalOutput, Language, Workshop, WorkshopPlan};
use apprentice_trace::Redactor;
use clap::Args;
use serde::Serialize;

use super::skills::proposals::{Writing, conclude as conclude_proposals};
use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::terminal;

/// What an attempt reported stands in this file beside its trace.
const FILE: &str = "final.json";

/// Whether the agent may write skills, and in which language the user is told.
#[derive(Debug, Args)]
pub(super) struct Learning {
    /// Let the agent write skills while it works, in a folder of its world, and report on skills at the end; what it
    /// finishes is published into the skillbook as a whole.
    #[arg(long, requires = "skillbook")]
    learn: bool,
    /// The language in which learning is told to you: `en` or `de`.
    #[arg(long, value_name = "TAG", default_value = "en", requires = "learn")]
    language: String,
    #[command(flatten)]
    writing: Writing,
}

#[derive(Serialize)]
struct Final<'a> {
    schema: &'static str,
    #[serde(flatten)]
    output: &'a FinalOutput,
}

impl Learning {
    /// The place where an attempt learns, if the user turned that on.
    pub(super) fn workshop(
        &self,
        book: Option<&Path>,
        run: &Path,
        (clock, config): (&Arc<dyn Clock>, &Config),
    ) -> Result<Option<Arc<Workshop>>, Failure> {
        if self.writing.is_named() && !self.learn {
            return Err(Failure::say(
                Kind::Usage,
                "--write-mode says how skills are written, and none are without --learn",
            ));
        }
        let Some(book) = book.filter(|_| self.learn) else { return Ok(None) };
        let language = Language::of_tag(&self.language);
        if language == Language::English && !self.language.starts_with("en") {
            terminal::note(format_args!("{:?} has no catalogue; English it is", self.language));
        }
        let run = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plan = WorkshopPlan {
            book: book.to_owned(),
            clock: Arc::clone(clock),
            language,
            run,
            mode: self.writing.mode(config),
        };
        Ok(Some(Workshop::new(plan)))
    }
}

impl Learning {
    /// Says what waits for the user's word, or asks.
    pub(super) fn settle(&self, book: Option<&Path>, config: &Config) -> Result<(), Failure> {
        match book.filter(|_| self.learn) {
            Some(book) => conclude_proposals(book, self.writing.mode(config)),
            None => Ok(()),
        }
    }
}

/// Counts the turn, tells the receipts, and keeps the report beside the trace.
pub(super) fn conclude(workshop: &Workshop, folder: &Path, redactor: &Redactor) -> Result<(), Failure> {
    let output = workshop.close().kind(Kind::Config)?;
    for receipt in &output.receipts {
        terminal::note(format_args!("{receipt}"));
    }
    let kept = Final { schema: "apprentice.final/1", output: &output };
    let text = serde_json::to_string(&kept).kind(Kind::Bug)?;
    let path = folder.join(FILE);
    std::fs::write(&path, format!("{}\n", redactor.apply_to_json(&text)))
        .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", path.display())))
}
