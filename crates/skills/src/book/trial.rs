//! What attempts showed of skills, as the log notes it and as a skill keeps it.

use apprentice_protocol::SkillId;
use serde::{Deserialize, Serialize};

use crate::reflect::SkillReview;

/// What a review said of a skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// The trajectory.
    pub trajectory: String,
    /// The version it speaks of.
    pub version: u32,
    /// The review.
    pub review: SkillReview,
    /// Whether the attempt passed.
    pub passed: bool,
}

/// A skill in an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Which.
    pub skill: SkillId,
    /// The version that was received.
    pub version: u32,
    /// Whether the actions after it show what its text names; none if the text names nothing.
    pub followed: Option<bool>,
}

/// One attempt with a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// The attempt.
    pub trajectory: String,
    /// The template of its task, as a hash.
    pub template: String,
    /// The version that it received.
    pub version: u32,
    /// Whether it did what the text names; none if the text names nothing.
    pub followed: Option<bool>,
    /// Whether it passed.
    pub passed: bool,
}

impl Tried {
    /// The same, for the skill itself.
    pub(super) fn trial(&self, trajectory: &str, template: &str, passed: bool) -> Trial {
        Trial {
            trajectory: trajectory.to_owned(),
            template: template.to_owned(),
            version: self.version,
            followed: self.followed,
            passed,
        }
    }
}
