//! The journal of foreground learning: an append-only list, stored beside the book, of what was learned, tried and
//! signalled. Folding it yields the counters that trigger a review.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use apprentice_protocol::{SkillEventKind, SkillId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gate::{Budgets, Counters};
use crate::book::{Actor, BookError, OpId};

/// Version of the line format.
const VERSION: u32 = 1;

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JournalEntry {
    /// A skill event.
    Event {
        /// The kind of event.
        event: SkillEventKind,
    },
    /// The end of a turn.
    Turn {
        /// Actions and tool calls in the turn.
        tool_iters: u32,
        /// Cost of learning in the turn, in US dollars. Only reviews have a cost.
        #[serde(default)]
        usd: f64,
    },
}

/// The book's last operation before and after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BookSpan {
    pub(super) before: OpId,
    pub(super) after: OpId,
}

impl BookSpan {
    /// Returns the span of an event that left the book as it was.
    pub(super) fn unchanged(last: OpId) -> Self {
        Self { before: last, after: last }
    }
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// Version of the line format.
    pub v: u32,
    /// Id of the line, `l<n>`.
    pub id: String,
    /// Time of the event.
    pub time: Timestamp,
    /// Name of the run.
    pub run: String,
    /// Step of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Actor of the event.
    pub actor: Actor,
    /// The content.
    #[serde(flatten)]
    pub told: JournalEntry,
    /// The skill concerned. An unpublished package has only a name, in `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// Version of the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The book's last operation before the event.
    pub book_before: OpId,
    /// The book's last operation after the event.
    pub book_after: OpId,
    /// Details: the call, the signal, or the verdict.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

/// The journal of one book.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// Returns the journal beside the book in `folder`. The file need not exist.
    pub fn beside(folder: &Path) -> Self {
        Self { path: folder.join(".meta").join("learning.jsonl") }
    }

    /// Returns every complete line, oldest first. Skips torn lines and lines of a later version.
    pub fn read(&self) -> Result<Vec<JournalLine>, BookError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Appends lines and sets their id and version. Locks out other processes meanwhile.
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
        // A torn line remains as a line of its own, which readers skip.
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

/// Returns the number of lines, and whether the last one is complete.
fn end_of(file: &mut File) -> std::io::Result<(usize, bool)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes.last().is_none_or(|last| *last == b'\n');
    Ok((bytes.iter().filter(|byte| **byte == b'\n').count() + usize::from(!whole), whole))
}

/// Returns the counters since the last review.
pub fn counters(lines: &[JournalLine]) -> Counters {
    let mut counters = Counters::default();
    for line in lines {
        match &line.told {
            JournalEntry::Event { event: SkillEventKind::ReviewFinished } => {
                counters = Counters { last_review_at: Some(line.time), ..Counters::default() };
            }
            JournalEntry::Event { event: SkillEventKind::LearningSignal } => match line.data["kind"].as_str()
            {
                Some("update_candidate") => counters.skill_issue_hints_since_review += 1,
                _ => counters.skipped_foreground += 1,
            },
            // A rejected signal beside a finished skill still counts as a hint.
            JournalEntry::Event { event: SkillEventKind::LearningSignalRejected }
                if line.data["code"] == "finish_recorded" =>
            {
                counters.skill_issue_hints_since_review += 1;
            }
            JournalEntry::Turn { tool_iters, .. } => {
                counters.turns_since_review += 1;
                counters.tool_iters_since_review =
                    counters.tool_iters_since_review.saturating_add(*tool_iters);
            }
            JournalEntry::Event { .. } => {}
        }
    }
    counters
}

/// Returns the usage of the UTC day that contains `now`, and whether a review is running.
pub fn budgets(lines: &[JournalLine], now: Timestamp) -> Budgets {
    let day = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
    let mut budgets = Budgets::default();
    for line in lines {
        match &line.told {
            JournalEntry::Event { event: SkillEventKind::ReviewStarted } => budgets.running = true,
            JournalEntry::Event { event: SkillEventKind::ReviewFinished } => {
                budgets.running = false;
                budgets.reviews_today += u32::from(day(line.time) == day(now));
            }
            JournalEntry::Turn { usd, .. } if day(line.time) == day(now) => budgets.spent_today_usd += usd,
            JournalEntry::Event { .. } | JournalEntry::Turn { .. } => {}
        }
    }
    budgets
}
