//! The rule-based policies by name, and the decision that a policy makes in one turn.

use apprentice_protocol::{Action, Finish, ImagePoint};
use serde_json::Value;

/// A rule-based policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Searches the interface.
    Explorer,
    /// Weak: presses visible controls and follows guidance.
    Novice,
}

impl Policy {
    /// All policies.
    pub const ALL: &'static [Self] = &[Self::Explorer, Self::Novice];

    /// Returns the model's name, as it is selected and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Explorer => "builtin/explorer",
            Self::Novice => "builtin/novice",
        }
    }

    /// Returns the policy with this name; `None` if there is no such policy.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|policy| policy.name() == name)
    }
}

/// A policy's decision in one turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    /// Performs world actions.
    Act {
        /// The stated reason.
        say: String,
        /// The actions, in order.
        actions: Vec<Action<ImagePoint>>,
    },
    /// Calls a function tool.
    Ask {
        /// The stated reason.
        say: String,
        /// The name of the tool.
        tool: String,
        /// The arguments of the call.
        arguments: Value,
    },
    /// Ends the attempt.
    End {
        /// The stated reason.
        say: String,
        /// The outcome that is declared.
        finish: Finish,
    },
    /// Answers with text: prose or JSON.
    Say(String),
}
