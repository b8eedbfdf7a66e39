//! Notes on a skill: remarks beside its text. Repeated notes are counted. When there are many, the oldest are hidden.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::operation::Actor;
use super::serialization::Operation;
use super::state::{Skill, renew};

/// Number of notes that a page shows. Older notes stay in the log.
pub const VISIBLE_NOTES: usize = 12;

/// A note on a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Text of the note.
    pub text: String,
    /// How often the same note was made.
    pub count: u32,
    /// Author of the first occurrence.
    pub author: Actor,
    /// The trajectory that produced the note, if any.
    pub trajectory: Option<String>,
    /// Time of the first occurrence.
    pub time: Timestamp,
}

impl Note {
    /// Returns the note as it is shown on the page.
    pub(super) fn shown(&self) -> String {
        if self.count > 1 { format!("{} (×{})", self.text, self.count) } else { self.text.clone() }
    }
}

/// Parses a note as it stands on a page, including the count at its end.
pub(super) fn read_note(text: &str, operation: &Operation) -> Note {
    let counted = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (×"));
    let counted = counted.and_then(|(text, count)| count.parse().ok().map(|count| (text, count)));
    let (text, count) = counted.unwrap_or((text, 1));
    Note {
        text: text.to_owned(),
        count,
        author: operation.actor,
        trajectory: operation.cause.as_ref().map(|cause| cause.trajectory.clone()),
        time: operation.time,
    }
}

/// Adds a note, or increments the count of an equal one.
pub(super) fn annotate(skill: &mut Skill, note: Note) {
    match skill.notes.iter_mut().find(|known| known.text == note.text) {
        Some(known) => known.count += note.count,
        None => skill.notes.push(note),
    }
    skill.hidden_notes = skill.hidden_notes.max(skill.notes.len().saturating_sub(VISIBLE_NOTES));
}

/// Applies a person's edit of the visible notes. Notes that stay keep their author.
pub(super) fn edit(
    skill: &mut Skill,
    texts: (&String, &String),
    annotations: &[String],
    operation: &Operation,
) {
    let mut notes: Vec<Note> = skill.notes.drain(..skill.hidden_notes).collect();
    for text in annotations {
        let note = read_note(text, operation);
        let known = skill.notes.iter().find(|known| known.text == note.text).cloned();
        notes.push(known.map_or_else(|| note.clone(), |known| Note { count: note.count, ..known }));
    }
    skill.notes = notes;
    let (situation, guidance) = texts;
    if skill.text.situation != *situation || skill.text.guidance != *guidance {
        skill.text.situation.clone_from(situation);
        skill.text.guidance.clone_from(guidance);
        renew(skill, operation.id);
    }
}
