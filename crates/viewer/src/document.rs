//! The documents that the pages ask for, by their paths. Served pages ask over HTTP; an exported page brings them along.

use std::fmt::Write as _;

use apprentice_protocol::{BlobHash, SkillId};
use apprentice_runs::StoredRun;
use apprentice_runs::layout::TRIALS_FOLDER;
use apprentice_skillbook::BookError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Serialize;

use crate::attempt::{AttemptDocument, AttemptName};
use crate::compare::Side;
use crate::error_chain::chain;
use crate::library::Library;
use crate::{book, compare, grid, step, turn};

/// What a segment of a path writes with percent signs.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// JSON text.
    Json(String),
    /// A picture, checked against its hash.
    Picture {
        /// Its media type.
        media: &'static str,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// A document that cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// There is nothing of that name.
    #[error("{0}")]
    Absent(String),
    /// It is there and cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl From<BookError> for DocumentError {
    fn from(error: BookError) -> Self {
        Self::Unreadable(chain(&error))
    }
}

/// Joins the parts of a path.
pub(crate) fn path_of(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts {
        let slash = if path.is_empty() { "" } else { "/" };
        let _ = write!(path, "{slash}{}", utf8_percent_encode(part, SEGMENT));
    }
    path
}

impl Library {
    /// Makes the document at a path: `grid`, `attempt/RUN/TRIAL/N`, `step/RUN/TRIAL/N/TURN`,
    /// `compare/RUN/TRIAL/N/RUN/TRIAL/N`, `book/BOOK`, `skill/BOOK/SKILL`, `picture/RUN/HASH.EXTENSION`,
    /// `figure/BOOK/HASH`. Each part is percent-encoded.
    ///
    /// # Errors
    ///
    /// Fails if nothing has this path, or if what it names cannot be read.
    pub fn document(&self, path: &str) -> Result<Document, DocumentError> {
        let parts: Vec<String> =
            path.split('/').map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["grid"] => json(&grid::document(self)),
            ["attempt", run, trial, attempt] => self.attempt(&name(run, trial, attempt)?),
            ["step", run, trial, attempt, place] => self.step(&name(run, trial, attempt)?, place),
            ["compare", run, trial, attempt, other_run, other_trial, other_attempt] => {
                self.comparison(&name(run, trial, attempt)?, &name(other_run, other_trial, other_attempt)?)
            }
            ["book", book] => json(&book::document(book, &self.book_folder(book)?)?),
            ["skill", book, skill] => self.skill(book, skill),
            ["picture", run, file] => self.picture(run, file),
            ["figure", book, hash] => {
                let bytes = book::figure(&self.book_folder(book)?, hash)?;
                let bytes = bytes.ok_or_else(|| absent(format!("the book {book:?} has no figure {hash}")))?;
                Ok(Document::Picture { media: "image/png", bytes })
            }
            _ => Err(absent(format!("there is no page {path:?}"))),
        }
    }

    fn opened(&self, run: &str) -> Result<StoredRun, DocumentError> {
        let opened = self.run(run).ok_or_else(|| absent(format!("there is no run {run:?}")))?;
        opened.map_err(|error| DocumentError::Unreadable(chain(&error)))
    }

    /// The folder of an attempt, relative to its run: as its row says, or as it lies on disk.
    fn attempt_folder(&self, run: &StoredRun, name: &AttemptName<'_>) -> Result<String, DocumentError> {
        let of_row = |row: &&apprentice_runs::row::TrialRow| {
            row.trial.as_str() == name.trial && row.attempt == name.attempt
        };
        if let Some(row) = run.rows.iter().find(of_row) {
            return Ok(row.trace.clone());
        }
        let missing = || {
            absent(format!(
                "the run {:?} has no attempt {} of the trial {:?}",
                name.run, name.attempt, name.trial
            ))
        };
        let entries = std::fs::read_dir(run.folder.join(TRIALS_FOLDER)).map_err(|_| missing())?;
        let mut names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_it =
            |folder: &String| folder.rsplit_once('-').map_or(folder.as_str(), |(_, id)| id) == name.trial;
        let folder = names.find(is_it).ok_or_else(missing)?;
        Ok(format!("trials/{folder}/attempt-{:02}", name.attempt))
    }

    fn traced(&self, name: &AttemptName<'_>) -> Result<Traced, DocumentError> {
        let run = self.opened(name.run)?;
        let folder = self.attempt_folder(&run, name)?;
        let trace = self.trace_at(&run, &folder).map_err(|error| DocumentError::Unreadable(chain(&error)))?;
        Ok(Traced { run, folder, trace })
    }

    fn attempt(&self, name: &AttemptName<'_>) -> Result<Document, DocumentError> {
        let Traced { run, folder, trace } = self.traced(name)?;
        json(&AttemptDocument::of(name, &run, &folder, &trace))
    }

    fn step(&self, name: &AttemptName<'_>, place: &str) -> Result<Document, DocumentError> {
        let Traced { run, trace, .. } = self.traced(name)?;
        let missing = || absent(format!("the attempt has no turn {place:?}"));
        let number: usize = place.parse().map_err(|_| missing())?;
        let turns = turn::turns(&trace.events).turns;
        json(&step::document(&turns, number, &run.blobs).ok_or_else(missing)?)
    }

    fn comparison(&self, left: &AttemptName<'_>, right: &AttemptName<'_>) -> Result<Document, DocumentError> {
        let (left, right) = (self.traced(left)?, self.traced(right)?);
        json(&compare::document(
            &Side { trace: &left.trace, blobs: &left.run.blobs },
            &Side { trace: &right.trace, blobs: &right.run.blobs },
        ))
    }

    fn book_folder(&self, book: &str) -> Result<std::path::PathBuf, DocumentError> {
        self.books().remove(book).ok_or_else(|| absent(format!("there is no skillbook {book:?}")))
    }

    fn skill(&self, book: &str, skill: &str) -> Result<Document, DocumentError> {
        let folder = self.book_folder(book)?;
        let missing = || absent(format!("the book {book:?} has no skill {skill:?}"));
        let id = SkillId::parse(skill).map_err(|_| missing())?;
        json(&book::skill(self, book, &folder, &id)?.ok_or_else(missing)?)
    }

    fn picture(&self, run: &str, file: &str) -> Result<Document, DocumentError> {
        let folder = self.folder_of(run).ok_or_else(|| absent(format!("there is no run {run:?}")))?;
        let (hash, extension) = file.split_once('.').unwrap_or((file, "png"));
        let (extension, media) = match extension {
            "png" => ("png", "image/png"),
            "jpg" => ("jpg", "image/jpeg"),
            "webp" => ("webp", "image/webp"),
            other => return Err(absent(format!("{other:?} is no kind of picture"))),
        };
        let read = self.blobs(&folder).read(&BlobHash::new(hash), extension);
        let bytes = read.map_err(|error| absent(chain(&error)))?;
        Ok(Document::Picture { media, bytes })
    }
}

/// An attempt's trace and where it came from.
struct Traced {
    run: StoredRun,
    folder: String,
    trace: std::sync::Arc<apprentice_trace::Trace>,
}

fn absent(what: String) -> DocumentError {
    DocumentError::Absent(what)
}

fn name<'a>(run: &'a str, trial: &'a str, attempt: &str) -> Result<AttemptName<'a>, DocumentError> {
    let attempt = attempt.parse().map_err(|_| absent(format!("{attempt:?} is no number of an attempt")))?;
    Ok(AttemptName { run, trial, attempt })
}

fn json(document: &impl Serialize) -> Result<Document, DocumentError> {
    let text = serde_json::to_string(document);
    text.map(Document::Json).map_err(|error| DocumentError::Unreadable(error.to_string()))
}
