//! The guidance of one trial, and what kind of help the name of its arm stands for.

use std::sync::Arc;

use apprentice_harness::tool::mcp::McpServers;
use apprentice_protocol::{Guidance, SkillId};
use apprentice_results::ablations::AblationArm;
use apprentice_results::arm::{Arm, UnknownArm};
use apprentice_skillbook::KnownVersions;

/// The help that a trial gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialHelp {
    /// None: the arms `none`, `reworded:none`, `more-steps` and `try-N`, and so the teacher and the baselines of an experiment.
    Unaided,
    /// The help of an arm.
    Aided(Arm),
    /// The help of the arm `pull` over the book without one skill.
    AidedWithout(SkillId),
}

impl TrialHelp {
    /// Returns the help that an arm's name stands for. An unknown name is an error and never a trial without help.
    pub fn of_arm(name: &str) -> Result<Self, UnknownArm> {
        match AblationArm::parse(name) {
            Some(AblationArm::Without(skill)) => return Ok(Self::AidedWithout(skill)),
            Some(AblationArm::MoreSteps | AblationArm::Retry(_)) => return Ok(Self::Unaided),
            Some(AblationArm::Reworded(arm)) => return Self::of_arm(arm.as_str()),
            None => {}
        }
        Ok(match Arm::parse(name)? {
            Arm::None => Self::Unaided,
            arm => Self::Aided(arm),
        })
    }
}

/// The guidance that an arm gives to one trial.
///
/// It has no default, so that guidance that could not be built never becomes a trial without help: a trial without
/// help asks for [`ArmGuidance::unaided`].
#[derive(Clone)]
pub struct ArmGuidance {
    /// Prompt text and tools.
    pub guidance: Guidance,
    /// Content hash of the skillbook; `None` for arms without one.
    pub skillbook_hash: Option<String>,
    /// Servers whose tools the trial may open. They start in its world and end with it.
    pub servers: Option<Arc<McpServers>>,
    /// Skills of the book that are hidden from the task because they caused harm in one of its programs; the trace
    /// records them.
    pub suppressed: Vec<SkillId>,
    /// Receives the program versions of the world, for the skill tools.
    pub known_versions: KnownVersions,
}

impl ArmGuidance {
    /// Returns the guidance of a trial without help.
    pub fn unaided() -> Self {
        Self {
            guidance: Guidance::default(),
            skillbook_hash: None,
            servers: None,
            suppressed: Vec::new(),
            known_versions: KnownVersions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::SkillId;
    use apprentice_results::arm::Arm;

    use super::TrialHelp;

    #[test]
    fn only_arms_without_help_are_unaided() {
        for name in ["none", "more-steps", "try-2"] {
            assert_eq!(TrialHelp::of_arm(name), Ok(TrialHelp::Unaided), "{name}");
        }
        for arm in Arm::ALL.into_iter().filter(|arm| *arm != Arm::None) {
            assert_eq!(TrialHelp::of_arm(arm.as_str()), Ok(TrialHelp::Aided(arm)));
        }
        let skill = SkillId::parse("mousepad/tabs").expect("an id");
        assert_eq!(TrialHelp::of_arm("without:mousepad/tabs"), Ok(TrialHelp::AidedWithout(skill)));
        for name in ["pul", "", "try-1", "without:", "None"] {
            assert!(TrialHelp::of_arm(name).is_err(), "{name} is no arm");
        }
    }
}
