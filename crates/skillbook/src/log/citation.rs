//! Citations of a change: the earlier reports that say the same or the contrary, and the steps that prove it.
//! A reader judges what texts mean; the program checks the ids and keeps them with the operation.

use apprentice_protocol::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::skill::model::OpId;
use crate::skill::sentence_origin::SentenceOrigin;

/// The reports and steps that a change rests on. A report has the id of the operation that recorded it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Citation {
    /// Earlier reports that say the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agrees_with: Vec<OpId>,
    /// Earlier reports that say the contrary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<OpId>,
    /// Steps of the attempt behind the change that prove it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proved_by: Vec<StepId>,
    /// Where each sentence of the text comes from, as the program found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<SentenceOrigin>,
}

impl Citation {
    /// Returns whether nothing is cited.
    pub fn is_empty(&self) -> bool {
        self.agrees_with.is_empty()
            && self.conflicts_with.is_empty()
            && self.proved_by.is_empty()
            && self.origins.is_empty()
    }
}

/// Why the manager left an item without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaveReason {
    /// Whoever can use a computer knows it.
    Basic,
    /// It holds for one task only.
    OneOff,
    /// It is about a person, an account or their data.
    Private,
    /// Too few attempts support it, or they disagree.
    Unsupported,
    /// The book says it already.
    AlreadyKnown,
    /// Another reason, given in words.
    Other,
}

impl LeaveReason {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::Basic, Self::OneOff, Self::Private, Self::Unsupported, Self::AlreadyKnown, Self::Other];

    /// Returns the word used in the log and by models.
    pub fn word(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::OneOff => "one_off",
            Self::Private => "private",
            Self::Unsupported => "unsupported",
            Self::AlreadyKnown => "already_known",
            Self::Other => "other",
        }
    }

    /// Returns whether the knowledge itself is unfit for a book, so that later items do not show it again.
    pub fn is_unfit(self) -> bool {
        match self {
            Self::Basic | Self::OneOff | Self::Private => true,
            Self::Unsupported | Self::AlreadyKnown | Self::Other => false,
        }
    }
}

/// The manager's reason for leaving an item without a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftItem {
    /// The kind of reason.
    pub reason: LeaveReason,
    /// The reason in words.
    pub why: String,
}
