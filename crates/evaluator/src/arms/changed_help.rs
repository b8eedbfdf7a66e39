//! The help of an arm with one thing changed: skills hidden from it, or one skill's text alone. Forks compare it with the arm's own.

use std::collections::BTreeSet;

use apprentice_guidance::{ArmPolicy, TaskView, build_guidance};
use apprentice_protocol::{BoundedText, SkillId, TaskId};
use apprentice_results::arm::Arm;

use super::guidance::ArmGuidance;
use super::{ArmError, GuidanceProvider};

impl GuidanceProvider {
    /// Builds the guidance of `pull` over the book without one skill.
    pub fn guidance_without(
        &self,
        skill: &SkillId,
        task: &TaskId,
        seed: u32,
    ) -> Result<ArmGuidance, ArmError> {
        let hidden = BTreeSet::from([skill.clone()]);
        let guidance = self.build(Arm::Pull, task, seed, &hidden)?;
        Ok(ArmGuidance { skillbook_hash: Some(self.book.without(&hidden).content_hash()), ..guidance })
    }

    /// Builds the guidance of an arm for a trial over the book without some skills.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::arm_guidance`] does.
    pub fn arm_guidance_hiding(
        &self,
        arm: Arm,
        task: &TaskId,
        seed: u32,
        mut hidden: BTreeSet<SkillId>,
    ) -> Result<ArmGuidance, ArmError> {
        if arm == Arm::Masked {
            hidden.extend(self.hidden(task, seed));
        }
        let guidance = self.build(arm, task, seed, &hidden)?;
        Ok(ArmGuidance { skillbook_hash: Some(self.book.without(&hidden).content_hash()), ..guidance })
    }

    /// Returns the text of one skill as it is put into a prompt.
    ///
    /// # Errors
    ///
    /// Fails if the book has no such skill.
    pub fn text_of(&self, skill: &SkillId, task: &TaskId) -> Result<BoundedText, ArmError> {
        let policy = ArmPolicy::Forced { skills: vec![skill.clone()] };
        let built = build_guidance(&self.book, &policy, &TaskView::default());
        let nothing = |source| ArmError::NoGuidance { arm: Arm::Forced, task: task.clone(), source };
        built.map(|guidance| guidance.opening).map_err(nothing)
    }
}
