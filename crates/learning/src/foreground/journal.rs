//! The journal of foreground learning: an append-only list, stored beside the book, of what was learned, tried and
//! signalled. Folding it yields the counters that trigger a review.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use apprentice_protocol::{SkillEventKind, SkillId};
use apprentice_skillbook::{Actor, BookError, OpId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gate::{Budgets, Counters};

/// Version of the line format.
const VERSION: u32 = 1;

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalLine {
    /// Version of the line format.
    pub v: u32,
    /// Id of the line, `l<n>`.
    pub id: String,
    /// Time of the event.
    #[schemars(with = "String")]
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
    pub entry: JournalEntry,
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
        match apprentice_files::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().filter_map(readable).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Appends lines and sets their id and version. Locks out other processes meanwhile.
    pub(crate) fn append(&self, lines: Vec<JournalLine>) -> Result<(), BookError> {
        self.write(lines).map_err(|source| self.failed(source))
    }

    fn write(&self, lines: Vec<JournalLine>) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = apprentice_files::open_append(&self.path)?;
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

fn readable(line: &str) -> Option<JournalLine> {
    serde_json::from_str(line).ok().filter(|line: &JournalLine| line.v <= VERSION)
}

/// Returns the number of lines, and whether the last one is complete.
fn end_of(file: &mut File) -> std::io::Result<(usize, bool)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes.last().is_none_or(|last| *last == b'\n');
    Ok((bytes.iter().filter(|byte| **byte == b'\n').count() + usize::from(!whole), whole))
}

/// Where the events of a turn are, in the turn's journal line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnPlace {
    /// Folder of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Number of the turn in a session; `None` for an attempt at one instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

/// The journal's record of a finished review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRecord {
    /// Outcome. `None` in lines of earlier versions: such a review covers all turns before it.
    pub outcome: Option<ReviewOutcome>,
    /// Journal lines of the turns that count as reviewed.
    pub turns: Vec<String>,
    /// Those of them whose trace could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Keys of the candidates that were decided.
    pub decided: Vec<String>,
    /// Keys of candidates for the next review.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_for_later: Vec<String>,
    /// Cost in US dollars. It is also in a line of its own per reply, and counted there.
    pub usd: f64,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ReviewRecord {
    /// Returns the record of a line that ends a review.
    pub(crate) fn finished(line: &JournalLine) -> Option<Self> {
        let ends = matches!(line.entry, JournalEntry::Event { event: SkillEventKind::ReviewFinished });
        ends.then(|| serde_json::from_value(line.data.clone()).unwrap_or_default())
    }
}

/// How a review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOutcome {
    /// A skill was created or changed, or is proposed.
    Learned,
    /// Candidates were looked at, and nothing was changed.
    Nothing,
    /// No turn held anything to look at.
    NoCandidate,
    /// The model failed.
    Failed,
    /// The money of the review or of the day was used up on the way.
    Budget,
    /// The process ended on the way.
    Interrupted,
}

impl ReviewOutcome {
    /// Returns whether the review came to its end.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Learned | Self::Nothing | Self::NoCandidate)
    }
}

/// The counters of one turn, until a review has covered it.
#[derive(Clone, Copy, Debug, Default)]
struct CountedTurn<'a> {
    line: Option<&'a str>,
    tool_iters: u32,
    hints: u32,
    skipped: u32,
}

/// Returns the counters over the turns that no review has covered. A review that came to no end covers none, but the next
/// one keeps the interval all the same.
pub fn counters(lines: &[JournalLine]) -> Counters {
    let mut turns: Vec<CountedTurn<'_>> = Vec::new();
    let mut open: BTreeMap<&str, CountedTurn<'_>> = BTreeMap::new();
    let mut last_review_at = None;
    for line in lines {
        let run = line.run.as_str();
        if let Some(record) = ReviewRecord::finished(line) {
            last_review_at = Some(line.time);
            match record.outcome {
                // Reviews of earlier versions covered everything.
                None => {
                    turns.clear();
                    open.clear();
                }
                Some(_) => turns
                    .retain(|turn| !record.turns.iter().any(|reviewed| Some(reviewed.as_str()) == turn.line)),
            }
            continue;
        }
        match &line.entry {
            JournalEntry::Event { event: SkillEventKind::LearningSignal } => match line.data["kind"].as_str()
            {
                Some("update_candidate") => open.entry(run).or_default().hints += 1,
                _ => open.entry(run).or_default().skipped += 1,
            },
            // A rejected signal beside a finished skill still counts as a hint.
            JournalEntry::Event { event: SkillEventKind::LearningSignalRejected }
                if line.data["code"] == "finish_recorded" =>
            {
                open.entry(run).or_default().hints += 1;
            }
            JournalEntry::Turn { tool_iters, .. } if line.actor != Actor::Background => {
                let counted = open.remove(run).unwrap_or_default();
                turns.push(CountedTurn { line: Some(&line.id), tool_iters: *tool_iters, ..counted });
            }
            JournalEntry::Event { .. } | JournalEntry::Turn { .. } => {}
        }
    }
    let mut counters = Counters { last_review_at, ..Counters::default() };
    for turn in turns.iter().chain(open.values()) {
        counters.turns_since_review += u32::from(turn.line.is_some());
        counters.tool_iters_since_review = counters.tool_iters_since_review.saturating_add(turn.tool_iters);
        counters.skill_issue_hints_since_review += turn.hints;
        counters.skipped_foreground += turn.skipped;
    }
    counters
}

/// Returns the usage of the UTC day that contains `now`, and whether a review began and did not end. Whoever holds the
/// lock of reviews knows that none is running.
pub fn budgets(lines: &[JournalLine], now: Timestamp) -> Budgets {
    let day = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
    let mut budgets = Budgets::default();
    for line in lines {
        match &line.entry {
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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Actor, Journal, JournalEntry, JournalLine, OpId};

    #[test]
    fn a_line_is_of_the_first_version_and_one_of_a_later_version_is_not_read() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let journal = Journal::beside(folder.path());
        let line = JournalLine {
            v: 7,
            id: String::new(),
            time: Timestamp::UNIX_EPOCH,
            run: "r".to_owned(),
            step: None,
            actor: Actor::Agent,
            entry: JournalEntry::Turn { tool_iters: 3, usd: 0.0 },
            skill: None,
            version: None,
            book_before: OpId(1),
            book_after: OpId(1),
            data: serde_json::Value::Null,
        };
        journal.append(vec![line.clone(), line]).expect("written");
        let lines = journal.read().expect("read");
        let told: Vec<(u32, &str)> = lines.iter().map(|line| (line.v, line.id.as_str())).collect();
        assert_eq!(told, [(1, "l1"), (1, "l2")]);

        let path = folder.path().join(".meta/learning.jsonl");
        let text = std::fs::read_to_string(&path).expect("a journal");
        let later = text.replace("\"v\":1", "\"v\":2");
        std::fs::write(&path, format!("{later}{text}")).expect("written");
        assert_eq!(journal.read().expect("read"), lines, "nobody knows what a later version means");
    }
}
