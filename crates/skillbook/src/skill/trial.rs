//! Results of attempts with skills, as the log and the skill record them.

use apprentice_protocol::{SkillId, Versions};
use apprentice_screening::effect::Concern;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::OpId;
use crate::review::SkillReview;

/// A review remark on a skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRemark {
    /// The trajectory.
    pub trajectory: String,
    /// The version that the remark refers to.
    pub version: u32,
    /// The review.
    pub review: SkillReview,
    /// Whether the attempt passed.
    pub passed: bool,
    /// The operation that recorded the review, by which it is cited. `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<OpId>,
    /// Time of that operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub time: Option<Timestamp>,
    /// Program versions that the attempt observed.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub seen: Versions,
    /// Why the gate holds its words back. Empty if it does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<Concern>,
}

/// A skill that an attempt received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedSkill {
    /// The skill.
    pub skill: SkillId,
    /// The version that the attempt received.
    pub version: u32,
    /// Whether later actions contain what the text names. `None` if the text names no actions.
    pub followed: Option<bool>,
}

/// One attempt with a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// The attempt.
    pub trajectory: String,
    /// Hash of the task template.
    pub template: String,
    /// Hash of the instruction; `None` in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<String>,
    /// The version that the attempt received.
    pub version: u32,
    /// True if the attempt followed the text. `None` if the text names no actions.
    pub followed: Option<bool>,
    /// True if the attempt passed.
    pub passed: bool,
}

impl ReceivedSkill {
    /// Returns the same record as the skill stores it.
    pub(crate) fn trial(
        &self,
        trajectory: &str,
        template: &str,
        variation: Option<&str>,
        passed: bool,
    ) -> Trial {
        Trial {
            trajectory: trajectory.to_owned(),
            template: template.to_owned(),
            variation: variation.map(str::to_owned),
            version: self.version,
            followed: self.followed,
            passed,
        }
    }
}
