//! One line of `trials.jsonl`: a finished attempt. A public contract: reports, comparisons and exports
//! accept any file of this form.

use std::collections::BTreeMap;

use apprentice_protocol::{
    Isolation, RunId, SkillId, StopReason, TaskId, TrialId, Usage, Verdict, VoidCause,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the line format.
pub const ROW_SCHEMA: &str = "apprentice.trial/1";

/// Which part a model plays in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The capable model.
    Teacher,
    /// The small model.
    Student,
    /// A model that is simply run.
    Solo,
    /// The task's own solution, or another baseline.
    Baseline,
}

impl Role {
    /// The role's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Teacher => "teacher",
            Self::Student => "student",
            Self::Solo => "solo",
            Self::Baseline => "baseline",
        }
    }
}

/// Which part of a suite a template belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Learning sees it.
    Train,
    /// Choices are made on it.
    Dev,
    /// Sealed: looked at once, after the freeze.
    Test,
}

impl Split {
    /// The split's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Dev => "dev",
            Self::Test => "test",
        }
    }
}

/// A finished attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRow {
    /// [`ROW_SCHEMA`].
    pub schema: String,
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialId,
    /// The suite's name.
    pub suite: String,
    /// The model's part.
    pub role: Role,
    /// The task.
    pub task: TaskId,
    /// The unit of inference: the task's template, or its own id.
    pub template: String,
    /// Hash of the suite's files.
    pub suite_hash: String,
    /// The split, if one is locked.
    #[serde(default)]
    pub split: Option<Split>,
    /// What help the model got.
    pub arm: String,
    /// The index of the world's variation.
    pub seed: u32,
    /// The try, from 1.
    pub attempt: u32,
    /// The model, as `provider/name`.
    pub model: String,
    /// Content hash of the frozen book, if the arm has one.
    #[serde(default)]
    pub skillbook_hash: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Score from 0 to 1; 0 when void.
    pub score: f64,
    /// World actions used.
    pub world_steps: u32,
    /// Model turns used.
    pub turns: u32,
    /// Tokens used.
    pub tokens: Usage,
    /// Tokens of guidance delivered to the model (estimated from characters where the model does not say).
    pub delivered_tokens: u64,
    /// Money in US dollars; null when the model has no price.
    pub cost_usd: Option<f64>,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// Wall time without waiting for rate limits and our own pool, in seconds.
    pub working_s: f64,
    /// Why it ended, unless void.
    pub stop_reason: Option<StopReason>,
    /// Why it is void, if it is.
    pub void_cause: Option<VoidCause>,
    /// Skills whose text the model received, in order.
    pub skills_viewed: Vec<SkillId>,
    /// Its place in the randomised order of the run.
    pub order: u32,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Hash of the prompts in use.
    pub prompt_hash: String,
    /// The exact model that answered.
    #[serde(default)]
    pub provider_model: Option<String>,
    /// How the world was kept apart.
    pub isolation: Isolation,
    /// Drift that a resumed run accepted, if any, in words.
    #[serde(default)]
    pub admit: Option<String>,
    /// The attempt's folder, relative to the run.
    pub trace: String,
    /// Fields of a later version, kept.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}
