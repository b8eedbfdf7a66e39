//! What an exploration writes down: a task as it was proposed, and one line of `episodes.jsonl` for what came of practising it
//! and what was learned.

use apprentice_learning::practice::{CheckDoubt, CheckOutput, PracticeTask, StateCheck};
use apprentice_protocol::{JudgedBy, SkillId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema name of a line.
pub const EPISODE_SCHEMA: &str = "apprentice.explore.episode/1";

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every judged attempt passed the check of the state.
    Passed,
    /// An attempt failed the check of the state.
    Failed,
    /// No state shows it, and a model thinks that it was done. This proves nothing.
    OpinionPassed,
    /// No state shows it, and a model thinks that it was not done, or cannot tell.
    OpinionFailed,
    /// The check of the state passed before anything was done, so that it would prove nothing.
    AlreadyTrue,
    /// The model saw nothing to practise.
    Declined,
    /// Every proposal broke a rule.
    Refused,
    /// The infrastructure failed.
    Void,
    /// The money ran out during the attempt.
    Unfinished,
}

impl Outcome {
    /// Whether practising the task again may end otherwise.
    pub fn may_be_tried_again(self) -> bool {
        matches!(self, Self::Failed | Self::OpinionFailed | Self::Void | Self::Unfinished)
    }

    /// Whether a task was practised.
    pub fn is_practised(self) -> bool {
        !matches!(self, Self::Declined | Self::Refused)
    }

    /// The outcome in words, for people and for the model that proposes.
    pub fn told(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::OpinionPassed => "passed by a model's opinion, which proves nothing",
            Self::OpinionFailed => "failed by a model's opinion",
            Self::AlreadyTrue => "its check passed before anything was done",
            Self::Declined => "nothing was proposed",
            Self::Refused => "no proposal kept the rules",
            Self::Void => "void",
            Self::Unfinished => "unfinished: the budget ran out",
        }
    }
}

/// What was learned in prose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LearnedPart {
    /// Skills that were created or changed.
    pub changed: Vec<SkillId>,
    /// The tools with which the manager decided.
    pub decisions: Vec<String>,
    /// What the book refused, and why.
    pub refusals: Vec<String>,
    /// Attempts whose review could not be read.
    pub unread: usize,
}

/// What came of writing a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionOutcome {
    /// The skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// The function's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether replays in fresh worlds have verified it.
    pub verified: bool,
    /// Why there is none, or what it lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl FunctionOutcome {
    /// No function, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self { skill: None, function: None, version: None, verified: false, why: Some(why.into()) }
    }
}

/// An episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// [`EPISODE_SCHEMA`].
    pub schema: String,
    /// Its number, from 1.
    pub episode: u32,
    /// The task's name; empty if none was proposed.
    pub name: String,
    /// The try at this task, from 1.
    #[serde(rename = "try")]
    pub try_number: u32,
    /// Where the world began.
    pub start: String,
    /// The instruction, with placeholders.
    pub instruction: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Who judged.
    pub judged_by: JudgedBy,
    /// The reason of the outcome, in words.
    pub why: String,
    /// The arm of the attempts: `none` while the book is empty.
    pub arm: String,
    /// Content hash of the book that the attempts got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skillbook_hash: Option<String>,
    /// Skills that the agent asked for.
    pub skills_viewed: Vec<SkillId>,
    /// The attempts, by folder below the exploration's.
    pub attempts: Vec<String>,
    /// World actions of the attempts.
    pub world_steps: u32,
    /// What the check found where it passed before anything was done, or failed although the agent reported the task as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_showed: Vec<CheckOutput>,
    /// What was learned.
    pub learned: LearnedPart,
    /// What came of writing a function; `None` if none was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionOutcome>,
    /// What was wrong with earlier answers of the proposer.
    pub refused_proposals: Vec<String>,
    /// The price of all model calls of the episode.
    pub cost_usd: f64,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Its duration in seconds.
    pub wall_s: f64,
}

/// A check that the proposer was asked about again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MendedCheck {
    /// The check as it was.
    pub check: Option<StateCheck>,
    /// Why it was doubted.
    pub why: CheckDoubt,
    /// What it found in untouched worlds.
    pub showed: Vec<CheckOutput>,
}

/// A task as it was proposed, in `proposal.json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoredProposal {
    /// The index of the start.
    pub start: usize,
    /// The task.
    pub task: PracticeTask,
    /// What was wrong with earlier answers.
    pub refused: Vec<String>,
    /// The checks that were doubted, in order. The proposer stands by the last one if the task has it still.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<MendedCheck>,
    /// When it was proposed.
    #[schemars(with = "String")]
    pub proposed_at: Timestamp,
}
