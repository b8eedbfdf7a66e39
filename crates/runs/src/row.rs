//! One line of `trials.jsonl`: a finished attempt. A public contract: reports, comparisons and exports accept any file
//! in this format.

use std::collections::BTreeMap;

use apprentice_protocol::{
    Isolation, RunId, SkillId, StopReason, TaskId, TrialId, Usage, Verdict, VoidCause,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Schema name of a row.
pub const ROW_SCHEMA: &str = "apprentice.trial/1";

/// The role of a model in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The teacher: the capable model that skills are learned from.
    Teacher,
    /// The student: the small model that uses the skills.
    Student,
    /// A model run on its own, outside any teacher and student setup.
    Solo,
    /// The reference solution, or another baseline.
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

/// The part of a suite that a template belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Used for learning.
    Train,
    /// Used for design choices.
    Dev,
    /// Sealed: evaluated once, after the book is frozen.
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

/// Returns whether a count is left out of a row.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a model took that compared answers with references. None of it belongs to the model of the attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeUse {
    /// The model, as `provider/name`.
    pub model: String,
    /// The exact model that the provider reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_model: Option<String>,
    /// Questions that it was asked.
    pub questions: u32,
    /// Tokens used.
    pub tokens: Usage,
    /// Cost in US dollars; null when the model has no price.
    pub cost_usd: Option<f64>,
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
    /// The model's role.
    pub role: Role,
    /// The task.
    pub task: TaskId,
    /// The unit of inference: the task's template, or the task's id if it has none.
    pub template: String,
    /// Hash of the suite's files.
    pub suite_hash: String,
    /// The split, if one is locked.
    #[serde(default)]
    pub split: Option<Split>,
    /// The arm, which decides the guidance that the model gets.
    pub arm: String,
    /// The seed index of the environment.
    pub seed: u32,
    /// The attempt number, from 1.
    pub attempt: u32,
    /// The model, as `provider/name`.
    pub model: String,
    /// Content hash of the frozen skillbook, if the arm uses one.
    #[serde(default)]
    pub skillbook_hash: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Score from 0 to 1; 0 when void.
    pub score: f64,
    /// Environment actions used.
    pub world_steps: u32,
    /// Model turns used.
    pub turns: u32,
    /// Actions of a person in the attempt: its outcome is then not the model's own. Absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub person_acts: u32,
    /// Tokens used.
    pub tokens: Usage,
    /// Guidance tokens delivered to the model (estimated from characters if the provider does not report them).
    pub delivered_tokens: u64,
    /// Cost in US dollars; null when the model has no price.
    pub cost_usd: Option<f64>,
    /// Whether tokens and cost hold estimates, because the model's server did not say what some calls used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// The model that compared the answer with the check's references, with what it took. Absent if none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeUse>,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// Wall time without waiting for the model, for rate limits and for a free environment, in seconds.
    pub working_s: f64,
    /// Time in which the model answered, in seconds. In rows of older versions it is part of the working time.
    #[serde(default)]
    pub model_s: f64,
    /// The stop reason; null if void.
    pub stop_reason: Option<StopReason>,
    /// The cause of a void attempt; null otherwise.
    pub void_cause: Option<VoidCause>,
    /// Skills whose text the model received, in order.
    pub skills_viewed: Vec<SkillId>,
    /// Position in the randomized order of the run.
    pub order: u32,
    /// Start time.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Hash of the prompts used.
    pub prompt_hash: String,
    /// The exact model that the provider reported.
    #[serde(default)]
    pub provider_model: Option<String>,
    /// How the environment was isolated.
    pub isolation: Isolation,
    /// Drift accepted when the run was resumed, in words; null if none.
    #[serde(default)]
    pub admit: Option<String>,
    /// The attempt's trace folder, relative to the run.
    pub trace: String,
    /// Unknown fields, preserved from later versions.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl TrialRow {
    /// The row as rates count it. Where a person acted, the model's own outcome is not known, so that the trial is void: people
    /// step in where a model is stuck, and leaving such trials out without a word would flatter it.
    #[must_use]
    pub fn measured(&self) -> Self {
        if self.person_acts == 0 || self.verdict == Verdict::Void {
            return self.clone();
        }
        Self {
            verdict: Verdict::Void,
            score: 0.0,
            stop_reason: None,
            void_cause: Some(VoidCause::PersonActed),
            ..self.clone()
        }
    }
}
