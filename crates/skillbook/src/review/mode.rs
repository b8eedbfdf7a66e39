//! The ways in which a reflection is made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a reflection is made, and where its author has read the skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectMode {
    /// By a separate reader. The material contains the skills' text.
    #[default]
    Fresh,
    /// By the acting model in the attempt's own conversation, which contains the skills' text.
    InContext,
    /// By somebody else. The reflection was handed over.
    Given,
}

/// The reason for using a separate reader although the attempt's own conversation was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Fallback {
    /// The conversation was not kept.
    NotKept,
    /// The reflecting model is not the acting model.
    AnotherModel {
        /// The acting model.
        acted: String,
    },
    /// The question no longer fits the model's context.
    ContextFull,
    /// The model gave no usable answer in that conversation.
    Unusable {
        /// Problem of its last answer.
        problem: String,
    },
}

impl std::fmt::Display for Fallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotKept => {
                f.write_str("its conversation was not kept (`run --keep-conversations` keeps it)")
            }
            Self::AnotherModel { acted } => write!(f, "the reviewer is not {acted}, which acted"),
            Self::ContextFull => f.write_str("the question did not fit the model's context any more"),
            Self::Unusable { problem } => write!(f, "no answer there could be used: {problem}"),
        }
    }
}
