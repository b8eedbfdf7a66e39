//! Trajectories: attempts as input of learning, with instruction, observations, actions, retrieved skills and verdict.
//!
//! A trajectory contains no expected values and no explanations of checks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Limits, ResourceUsage, ScreenPoint, SkillId, StepId, StopReason};

/// Program versions by domain (`chromium`: `156.0.8078.79`); `os` is the system's version (`debian-12`). Programs with
/// an unknown version are absent.
pub type Versions = BTreeMap<String, String>;

/// The judgement of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The checks passed.
    Pass,
    /// The checks did not pass.
    Fail,
    /// The infrastructure failed; the attempt does not count.
    Void,
}

/// Who judged an attempt.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// Nobody: there is no verdict.
    Nobody,
    /// A model gave its opinion.
    Model,
    /// A person.
    Person,
    /// The checks of a task.
    #[default]
    Checks,
}

impl JudgedBy {
    /// Returns whether a verdict of this origin counts as evidence. A model's opinion does not.
    pub fn is_evidence(self) -> bool {
        match self {
            Self::Person | Self::Checks => true,
            Self::Nobody | Self::Model => false,
        }
    }

    /// Returns whether the checks judged, as in every trial of a suite.
    pub fn is_checks(&self) -> bool {
        *self == Self::Checks
    }
}

/// The agent's observation at the start of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// Title of the front window or tab.
    pub title: String,
    /// The focused element, as `role "name"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focused: Option<String>,
    /// Changes since the previous step: outline lines with `+` or `-`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// One action of a step, with its target's role and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepAction {
    /// The action in a few words: `click`, `type "abc"`, `key ctrl+s`, `wait 2 s`.
    pub action: String,
    /// The target's role, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The target's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place on the screen, in pixels, if the action was aimed at a place, or at an element without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<ScreenPoint>,
    /// The named element nearest to that place, as `role "name"`, if the target itself has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
    /// `done`, `failed: …` or `not executed`.
    pub outcome: String,
}

/// The answer of a function tool that the agent called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolAnswer {
    /// The tool's name.
    pub tool: String,
    /// The text of the answer. The text of a skill is replaced by the skill's id.
    pub answer: String,
    /// Whether the answer was an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryStep {
    /// The step's id.
    pub id: StepId,
    /// The observation before the step.
    pub seen: Seen,
    /// The text parts of the model's reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub say: Vec<String>,
    /// The model's actions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<StepAction>,
    /// The answers of the tools that the model called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolAnswer>,
    /// The declaration with which the agent ended the attempt, and its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Whether something that the checks read changed in this step; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_checked_state: Option<bool>,
}

impl TrajectoryStep {
    /// Returns the elements that the step's actions were aimed at, as `role "name"`.
    pub fn touched(&self) -> Vec<String> {
        let target =
            |action: &StepAction| Some(format!("{} {:?}", action.role.as_ref()?, action.name.as_ref()?));
        self.actions.iter().filter_map(target).collect()
    }

    /// Creates a step without words, actions and answers.
    pub fn new(id: StepId, seen: Seen) -> Self {
        Self {
            id,
            seen,
            say: Vec::new(),
            actions: Vec::new(),
            tools: Vec::new(),
            finish: None,
            changed_checked_state: None,
        }
    }
}

/// A skill whose text was delivered to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievedSkill {
    /// The skill's id.
    pub id: SkillId,
    /// The skill's version at that time.
    pub version: u32,
    /// The delivered text.
    pub text: String,
    /// The step of the delivery.
    pub step: StepId,
}

/// One finished attempt as input of learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trajectory {
    /// `<run>/<trial>/<attempt>`.
    pub id: String,
    /// The instruction that the agent got.
    pub goal: String,
    /// The programs involved, as domains (`chromium`, `mousepad`).
    pub apps: Vec<String>,
    /// The known versions of the programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: Versions,
    /// The model class of the agent.
    pub consumer: String,
    /// The verdict. Void attempts are not used for learning. Without a judge it reads `fail` and says nothing:
    /// [`Trajectory::told_verdict`] has the verdict for readers.
    pub verdict: Verdict,
    /// Who judged.
    #[serde(default, skip_serializing_if = "JudgedBy::is_checks")]
    pub judged_by: JudgedBy,
    /// Score from 0 to 1.
    pub score: f64,
    /// The reason why the attempt ended.
    pub stop: StopReason,
    /// The caps of the attempt.
    pub limits: Limits,
    /// The resources used.
    pub spent: ResourceUsage,
    /// The steps, in order.
    pub steps: Vec<TrajectoryStep>,
    /// The delivered skills, in order and without duplicates.
    pub skills: Vec<RetrievedSkill>,
}

impl Trajectory {
    /// Returns the verdict, or `None` if nobody judged.
    pub fn told_verdict(&self) -> Option<Verdict> {
        (self.judged_by != JudgedBy::Nobody).then_some(self.verdict)
    }

    /// Returns whether the attempt is known to have passed: by its checks or by a person.
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Pass && self.judged_by.is_evidence()
    }
}
