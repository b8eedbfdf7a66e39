//! Additional arms: skill ablations (leave one out), wider limits, repeated tries, and other wordings of the tasks. They
//! show the value of a single skill, what the same compute achieves without a book, and whether a result hangs on how
//! the instructions are worded. All are exploratory.

use std::fmt;

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;

const WITHOUT: &str = "without:";
const MORE_STEPS: &str = "more-steps";
const TRY: &str = "try-";
const REWORDED: &str = "reworded:";

/// The additional arms that an experiment runs with its first student.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ablations {
    /// Runs without a book and multiplies the limits by this factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_steps: Option<u32>,
    /// Runs without a book and tries each seed this many times in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u32>,
    /// Runs with the book minus one skill, for this many of its most requested skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave_one_out: Option<u32>,
    /// Gives each task in this many other wordings, which the suite's `paraphrases.json` holds: to the teacher and to the
    /// student without a book, and to the student with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wordings: Option<u32>,
}

impl Ablations {
    /// Returns whether no additional arm is requested.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The arms without help.
    pub fn without_book(self) -> impl Iterator<Item = AblationArm> {
        let again = (2..=self.best_of.unwrap_or(1)).map(AblationArm::Retry);
        self.more_steps.map(|_| AblationArm::MoreSteps).into_iter().chain(again)
    }
}

/// An additional arm, as named in the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AblationArm {
    /// The book without one skill: `without:<domain>/<name>`.
    Without(SkillId),
    /// No book and wider limits: `more-steps`.
    MoreSteps,
    /// No book and a repeated try of the same seed: `try-2`, `try-3` and so on; the first try is the arm `none`.
    Retry(u32),
    /// The arm `none` or `pull` with another wording of the task's instruction: `reworded:none`, `reworded:pull`.
    Reworded(Arm),
}

impl AblationArm {
    /// Parses an arm's name; `None` for any other kind of arm.
    pub fn parse(arm: &str) -> Option<Self> {
        if let Some(skill) = arm.strip_prefix(WITHOUT) {
            return SkillId::parse(skill).ok().map(Self::Without);
        }
        if let Some(arm) = arm.strip_prefix(REWORDED) {
            return [Arm::None, Arm::Pull]
                .into_iter()
                .find(|known| known.as_str() == arm)
                .map(Self::Reworded);
        }
        match arm.strip_prefix(TRY) {
            Some(number) => number.parse().ok().filter(|number| *number >= 2).map(Self::Retry),
            None => (arm == MORE_STEPS).then_some(Self::MoreSteps),
        }
    }

    /// Returns whether an arm only serves to compute another number and is not reported on its own.
    pub fn is_auxiliary(arm: &str) -> bool {
        matches!(Self::parse(arm), Some(Self::Without(_) | Self::Retry(_) | Self::Reworded(_)))
    }
}

impl fmt::Display for AblationArm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Without(skill) => write!(f, "{WITHOUT}{skill}"),
            Self::MoreSteps => f.write_str(MORE_STEPS),
            Self::Retry(number) => write!(f, "{TRY}{number}"),
            Self::Reworded(arm) => write!(f, "{REWORDED}{arm}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::SkillId;

    use super::{AblationArm, Ablations};
    use crate::arm::Arm;

    #[test]
    fn names_lead_back_to_arms() {
        let skill = SkillId::parse("mousepad/tabs").expect("an id");
        let reworded = [Arm::None, Arm::Pull].map(AblationArm::Reworded);
        let others = [AblationArm::Without(skill), AblationArm::MoreSteps, AblationArm::Retry(3)];
        for arm in others.into_iter().chain(reworded) {
            assert_eq!(AblationArm::parse(&arm.to_string()), Some(arm));
        }
        for other in
            ["none", "pull", "try-1", "try-", "without:", "more-steps-2", "reworded:", "reworded:push"]
        {
            assert_eq!(AblationArm::parse(other), None, "{other}");
        }
        let asked = Ablations { more_steps: Some(2), best_of: Some(3), ..Ablations::default() };
        let names: Vec<String> = asked.without_book().map(|arm| arm.to_string()).collect();
        assert_eq!(names, ["more-steps", "try-2", "try-3"]);
        assert_eq!(Ablations { best_of: Some(1), ..Ablations::default() }.without_book().count(), 0);
    }
}
