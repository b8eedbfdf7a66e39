//! Reads reviews from the journal: waiting turns, decided candidates, and a review that was cut off.

use std::collections::BTreeSet;

use apprentice_protocol::SkillEventKind;
use apprentice_skillbook::Actor;

use crate::foreground::{JournalEntry, JournalLine, ReviewRecord, TurnPlace};

/// A turn that no review has covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTurn {
    /// Id of the journal line.
    pub line: String,
    /// Name of the run.
    pub run: String,
    /// Where its events are.
    pub place: TurnPlace,
}

/// Returns the turns that wait for a review, oldest first. Turns without a trace cannot be reviewed, and a review is no
/// turn.
pub fn pending_turns(lines: &[JournalLine]) -> Vec<PendingTurn> {
    let records: Vec<ReviewRecord> = lines.iter().filter_map(ReviewRecord::finished).collect();
    let reviewed: BTreeSet<&str> =
        records.iter().flat_map(|record| &record.turns).map(String::as_str).collect();
    let waiting = lines.iter().filter(|line| {
        matches!(line.entry, JournalEntry::Turn { .. })
            && line.actor != Actor::Background
            && !reviewed.contains(line.id.as_str())
    });
    waiting
        .filter_map(|line| {
            let place: TurnPlace = serde_json::from_value(line.data.clone()).ok()?;
            place.trace.is_some().then(|| PendingTurn { line: line.id.clone(), run: line.run.clone(), place })
        })
        .collect()
}

/// Returns the keys of candidates that reviews have decided, complete or not.
pub(super) fn decided(lines: &[JournalLine]) -> BTreeSet<String> {
    lines.iter().filter_map(ReviewRecord::finished).flat_map(|record| record.decided).collect()
}

/// Returns the review that began and did not end, if the last one did not. Only the holder of the lock may ask: another
/// review may be running.
pub(super) fn cut_off(lines: &[JournalLine]) -> Option<String> {
    let mut open = None;
    for line in lines {
        match line.entry {
            JournalEntry::Event { event: SkillEventKind::ReviewStarted } => open = Some(line.run.clone()),
            JournalEntry::Event { event: SkillEventKind::ReviewFinished } => open = None,
            JournalEntry::Event { .. } | JournalEntry::Turn { .. } => {}
        }
    }
    open
}

/// Returns the name of the next review.
pub(super) fn next_name(lines: &[JournalLine]) -> String {
    let begun = |line: &&JournalLine| {
        matches!(line.entry, JournalEntry::Event { event: SkillEventKind::ReviewStarted })
    };
    format!("review-{}", lines.iter().filter(begun).count() + 1)
}
