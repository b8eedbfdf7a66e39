//! The document of two attempts side by side.

use apprentice_trace::{Blobs, Trace};
use serde::Serialize;

use crate::align::{Aligned, WorldState, align, parting};
use crate::turn::{Turn, turns};

/// The most turns of an attempt that are aligned by their states; of longer attempts, the first ones.
const TURNS: usize = 300;

/// Two attempts side by side. The turns themselves stand in the attempts' documents.
#[derive(Debug, Serialize)]
pub(crate) struct ComparisonDocument {
    rows: Vec<Aligned>,
    /// The row where they part; `None` if they do the same to the end.
    parting: Option<usize>,
    /// The turns that were left out, of both.
    left_out: usize,
    /// Outlines that could not be read; their states were compared by title.
    unread: usize,
}

/// One side of a comparison.
pub(crate) struct Side<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) blobs: &'a Blobs,
}

/// Aligns two attempts.
pub(crate) fn document(left: &Side<'_>, right: &Side<'_>) -> ComparisonDocument {
    let (one, other) = (turns(&left.trace.events).turns, turns(&right.trace.events).turns);
    let mut unread = 0;
    let mut states = |turns: &[Turn], blobs: &Blobs| -> Vec<WorldState> {
        let taken = turns.iter().take(TURNS);
        taken
            .map(|turn| {
                let Some(screen) = &turn.before else { return WorldState::default() };
                let outline = screen.outline.as_ref().map(|hash| blobs.text(hash));
                let text = outline.and_then(|read| read.map_err(|_| unread += 1).ok()).unwrap_or_default();
                WorldState::of(&screen.title, &text)
            })
            .collect()
    };
    let rows = align(&states(&one, left.blobs), &states(&other, right.blobs));
    let conduct = |turns: &[Turn]| -> Vec<Vec<String>> { turns.iter().map(Turn::conduct).collect() };
    let parting = parting(&rows, &conduct(&one), &conduct(&other));
    let left_out = one.len().saturating_sub(TURNS) + other.len().saturating_sub(TURNS);
    ComparisonDocument { rows, parting, left_out, unread }
}
