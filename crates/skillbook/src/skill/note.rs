//! Notes on a skill: remarks beside its text. Repeated notes are counted. When there are many, the oldest are hidden.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::Actor;

/// Number of notes that a page shows. Older notes stay in the log.
pub const VISIBLE_NOTES: usize = 12;

/// A note on a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(with = "String")]
    pub time: Timestamp,
}

impl Note {
    /// Returns the note as it is shown on the page.
    pub fn shown(&self) -> String {
        if self.count > 1 { format!("{} (×{})", self.text, self.count) } else { self.text.clone() }
    }
}
