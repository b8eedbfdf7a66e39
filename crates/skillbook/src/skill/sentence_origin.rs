//! Where the sentences of a text come from, as the program found by comparing them with the material of the attempt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a sentence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SentenceSource {
    /// The agent did it, or the instruction asked for it.
    Acted,
    /// The agent said it, and did not do it. It may have read it in a picture.
    Said,
    /// It stood on the screen, also if the agent repeated it afterwards, and was neither done nor asked for.
    Quoted,
    /// A tool's answer held it, also if the agent repeated it afterwards, and it was neither done nor asked for.
    Tool,
    /// No step that is cited for it shows any of it.
    NotSeen,
    /// A model wrote it without an attempt to compare it with.
    Model,
}

impl SentenceSource {
    /// Returns the word used in the log and on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::Said => "said",
            Self::Quoted => "quoted",
            Self::Tool => "tool",
            Self::NotSeen => "not_seen",
            Self::Model => "model",
        }
    }

    /// Returns whether the words are somebody else's: a page's, a file's, or a tool's.
    pub fn is_foreign(self) -> bool {
        matches!(self, Self::Quoted | Self::Tool)
    }

    /// Returns whether the words were read or said, and no act of the attempt shows them.
    pub fn is_only_words(self) -> bool {
        match self {
            Self::Quoted | Self::Tool | Self::Said => true,
            Self::Acted | Self::NotSeen | Self::Model => false,
        }
    }
}

/// A sentence with its source. What a person writes has none: the operation names the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentenceOrigin {
    /// The sentence, as it stands in the text.
    pub sentence: String,
    /// Where it comes from.
    pub source: SentenceSource,
}
