//! What an agent may read of a page beyond its view, and the values that form fields take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NodeRef;

/// The default depth of a tree that is read on request.
pub const READ_DEPTH: u32 = 15;

/// The value of a form field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FieldValue {
    /// On or off: a checkbox, a switch, a radio button.
    Checked(bool),
    /// A text, a number, a date, a color, or the option of a list box.
    Text(String),
    /// The chosen options of a list box that takes several.
    Several(Vec<String>),
}

/// Which elements of a tree are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadFilter {
    /// All elements.
    #[default]
    All,
    /// Elements that can be acted on.
    Interactive,
}

/// Something to read without changing it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "read", rename_all = "snake_case")]
pub enum PageReading {
    /// The accessibility tree as an outline, or a part of it.
    Tree {
        /// Which elements.
        #[serde(default)]
        filter: ReadFilter,
        /// Levels below the root or below `part`.
        #[serde(default = "read_depth")]
        depth: u32,
        /// The element whose part of the tree is read; the whole tree if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<NodeRef>,
    },
    /// The elements whose names, values or roles hold the words of a query.
    Find {
        /// The words.
        query: String,
    },
    /// The visible text (browser worlds).
    Text,
    /// What the page wrote to its console (browser worlds).
    Console,
    /// The requests that the page made (browser worlds).
    Network,
    /// The tabs (browser worlds).
    Tabs,
}

impl PageReading {
    /// The line above the answer, which keeps what a page says apart from what the program says.
    pub fn heading(&self) -> &'static str {
        match self {
            Self::Tree { .. } => "Elements of the page:",
            Self::Find { .. } => "Found by words:",
            Self::Text => "Text of the page:",
            Self::Console => "Console of the page:",
            Self::Network => "Requests of the page:",
            Self::Tabs => "Tabs:",
        }
    }

    /// Returns whether an observation holds the answer. The agent loop then answers it, and a world treats it as a no-op.
    pub fn is_in_observation(&self) -> bool {
        matches!(self, Self::Tree { .. } | Self::Find { .. } | Self::Tabs)
    }
}

const fn read_depth() -> u32 {
    READ_DEPTH
}
