//! What a model that compares answers is asked, and what it said. A judgement is evidence like any other: it is asked
//! for once and kept, so that a grade is repeated from it without a model.

use apprentice_protocol::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an answer is compared with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerComparison {
    /// Whether the answer means the reference answer.
    MeansReference,
    /// Whether the answer says that the task cannot be done for the reason that is the reference.
    SameReason,
    /// Whether the reference, which is a statement, holds of the answer and of the files that the attempt left.
    Holds,
    /// Whether the reference, which is a criterion, is met by what a command printed of the attempt's work, which stands as the
    /// answer.
    Output,
}

/// A question to a model: whether an answer is as a reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerQuestion {
    /// What is compared.
    pub compare: AnswerComparison,
    /// The reference.
    pub reference: String,
    /// The check's other references, each of which is a question of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The attempt's answer.
    pub answer: String,
    /// The files that the attempt left, as a command listed them; empty where they do not matter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub files: String,
}

/// What a model decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerVerdict {
    /// The answer is as the reference.
    Correct,
    /// Only a part of it is. That counts as little as none.
    PartiallyCorrect,
    /// It is not.
    Incorrect,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The model decided.
    Decided {
        /// Its verdict.
        verdict: AnswerVerdict,
        /// Its reason.
        reason: String,
    },
    /// The model failed, refused, or gave no readable answer. Nothing follows for the attempt.
    Undecided {
        /// The reason.
        why: String,
    },
}

/// A question with what a model made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerJudgement {
    /// The question.
    #[serde(flatten)]
    pub question: AnswerQuestion,
    /// The instruction that the agent got, as the model was told it.
    pub task: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: AnswerOutcome,
    /// The model's name.
    pub model: String,
    /// The exact model that the provider reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_model: Option<String>,
    /// Hash of the prompts by which it was asked.
    pub prompt_hash: String,
    /// What the model wrote, one text per reply; those before the last were unreadable.
    pub replies: Vec<String>,
    /// The tokens of all replies.
    pub tokens: Usage,
    /// The cost of all replies in US dollars; `None` if the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl AnswerJudgement {
    /// The parts with text that stands elsewhere in the evidence, or comes from a model.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let said = match &mut self.outcome {
            AnswerOutcome::Decided { reason, .. } => reason,
            AnswerOutcome::Undecided { why } => why,
        };
        self.replies.iter_mut().chain([said, &mut self.task])
    }
}
