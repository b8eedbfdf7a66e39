//! The calls with which an agent starts and finishes writing a skill, and the codes that they use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signal::{CreateTrigger, Issue};

/// What is to become of the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LearnAction {
    /// A new skill.
    Create,
    /// Another text of a skill that is there.
    Update,
}

/// Why a skill is written: what calls for a new one, or what is wrong with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LearnReason {
    /// What calls for it.
    Trigger(CreateTrigger),
    /// What is wrong with it.
    Issue(Issue),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LearnStatus {
    /// The package is complete and is to be a new skill.
    Created,
    /// The package is complete and is to be the skill's new text.
    Updated,
    /// It could not be written.
    Failed,
    /// It turned out not to be worth it.
    Skipped,
}

impl LearnStatus {
    /// Returns whether the status leads to a publication.
    pub fn publishes(self) -> bool {
        matches!(self, Self::Created | Self::Updated)
    }

    pub(super) fn fits(self, action: LearnAction) -> bool {
        match self {
            Self::Created => action == LearnAction::Create,
            Self::Updated => action == LearnAction::Update,
            Self::Failed | Self::Skipped => true,
        }
    }
}

/// The arguments of `skill_learning_start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartCall {
    /// Whether a new skill is written or one is changed.
    pub action: LearnAction,
    /// A new skill: `rl-` and lower-case words with hyphens. A change: the skill's id or name.
    pub skill_name: String,
    /// Why.
    pub reason: LearnReason,
    /// Events of `skill_timeline` that show it.
    pub event_refs: Vec<String>,
    /// One sentence for the user.
    pub message: String,
}

/// The arguments of `skill_learning_finish`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishCall {
    /// As it was started.
    pub action: LearnAction,
    /// As it was started.
    pub skill_name: String,
    /// How it ended.
    pub status: LearnStatus,
    /// One sentence for the user.
    pub message: String,
    /// What was learned, or why not, in one sentence.
    pub summary: String,
}
