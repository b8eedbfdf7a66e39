//! What was learned, tried and signalled while working: an append-only list beside the book, whose fold gives the
//! counters that a review would be called for by.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use apprentice_protocol::{SkillHappening, SkillId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gate::{Budgets, Counters};
use crate::book::{Actor, BookError, OpId};

/// The version of the line format.
const VERSION: u32 = 1;

/// What a line tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Told {
    /// Something of the vocabulary of events.
    Event {
        /// What.
        event: SkillHappening,
    },
    /// A turn ended.
    Turn {
        /// Actions and calls of tools in it.
        tool_iters: u32,
        /// The money of its learning, in US dollars; reviews have some.
        #[serde(default)]
        usd: f64,
    },
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// The line format's version.
    pub v: u32,
    /// Its id, `l<n>`.
    pub id: String,
    /// When.
    pub time: Timestamp,
    /// In which run.
    pub run: String,
    /// In which step of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who.
    pub actor: Actor,
    /// What.
    #[serde(flatten)]
    pub told: Told,
    /// About which skill; a package that is none yet has a name only, in the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The book's last operation before it.
    pub book_before: OpId,
    /// The book's last operation after it.
    pub book_after: OpId,
    /// The call, the signal, the verdict.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

/// The list beside one book.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The list beside the book in a folder; it need not be there yet.
    pub fn beside(folder: &Path) -> Self {
        Self { path: folder.join(".meta").join("learning.jsonl") }
    }

    /// Every line that is whole, oldest first. A line that was cut off, or that a later version wrote, is passed over.
    pub fn read(&self) -> Result<Vec<JournalLine>, BookError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Appends lines; each gets its id and version. Other processes wait meanwhile.
    pub(super) fn append(&self, lines: Vec<JournalLine>) -> Result<(), BookError> {
        self.write(lines).map_err(|source| self.failed(source))
    }

    fn write(&self, lines: Vec<JournalLine>) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&self.path)?;
        file.lock()?;
        let (mut next, whole) = end_of(&mut file)?;
        // What was cut off stays a line of its own, which readers pass over.
        let mut text = if whole { String::new() } else { "\n".to_owned() };
        for line in lines {
            next += 1;
            let line = JournalLine { v: VERSION, id: format!("l{next}"), ..line };
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    fn failed(&self, source: std::io::Error) -> BookError {
        BookError::Io { path: self.path.clone(), source }
    }
}

/// How many lines there are, and whether the last one is whole.
fn end_of(file: &mut File) -> std::io::Result<(usize, bool)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes.last().is_none_or(|last| *last == b'\n');
    Ok((bytes.iter().filter(|byte| **byte == b'\n').count() + usize::from(!whole), whole))
}

/// The counters since the last review.
pub fn counters(lines: &[JournalLine]) -> Counters {
    let mut counters = Counters::default();
    for line in lines {
        match &line.told {
            Told::Event { event: SkillHappening::ReviewFinished } => {
                counters = Counters { last_review_at: Some(line.time), ..Counters::default() };
            }
            Told::Event { event: SkillHappening::LearningSignal } => match line.data["kind"].as_str() {
                Some("update_candidate") => counters.skill_issue_hints_since_review += 1,
                _ => counters.skipped_foreground += 1,
            },
            // A signal beside a finished skill is not acted on, and still counts as a hint.
            Told::Event { event: SkillHappening::LearningSignalRejected }
                if line.data["code"] == "finish_recorded" =>
            {
                counters.skill_issue_hints_since_review += 1;
            }
            Told::Turn { tool_iters, .. } => {
                counters.turns_since_review += 1;
                counters.tool_iters_since_review =
                    counters.tool_iters_since_review.saturating_add(*tool_iters);
            }
            Told::Event { .. } => {}
        }
    }
    counters
}

/// What the day of a moment has used, by UTC, and whether a review is running.
pub fn budgets(lines: &[JournalLine], now: Timestamp) -> Budgets {
    let day = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
    let mut budgets = Budgets::default();
    for line in lines {
        match &line.told {
            Told::Event { event: SkillHappening::ReviewStarted } => budgets.running = true,
            Told::Event { event: SkillHappening::ReviewFinished } => {
                budgets.running = false;
                budgets.reviews_today += u32::from(day(line.time) == day(now));
            }
            Told::Turn { usd, .. } if day(line.time) == day(now) => budgets.spent_today_usd += usd,
            Told::Event { .. } | Told::Turn { .. } => {}
        }
    }
    budgets
}
