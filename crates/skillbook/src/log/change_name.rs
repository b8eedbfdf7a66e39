//! The names of operations, as they stand in the log.

use super::change::Change;

impl Change {
    /// The operation names of this version.
    pub const NAMES: &'static [&'static str] = &[
        "domain.created",
        "skill.created",
        "skill.updated",
        "skill.edited",
        "skill.merged",
        "skill.annotated",
        "skill.tombstoned",
        "skill.renamed",
        "skill.reviewed",
        "trajectory.reflected",
        "candidate.recorded",
        "item.closed",
        "cleanup.kept",
        "trajectory.learned",
        "cleanup.finished",
        "operation.reverted",
        "package.attached",
        "trajectory.tried",
        "skill.published",
        "function.written",
        "function.tested",
        "function.retired",
        "cleanup.flagged",
        "cleanup.by_words",
        "write.proposed",
        "proposal.refused",
        "attempt.judged",
        "suspicion.kept",
        "item.held_back",
        "skill.suspended",
        "skill.resumed",
    ];

    /// Returns the operation's name in the log.
    pub fn name(&self) -> &str {
        match self {
            Self::DomainCreated(_) => "domain.created",
            Self::SkillCreated { .. } => "skill.created",
            Self::SkillUpdated { .. } => "skill.updated",
            Self::SkillEdited { .. } => "skill.edited",
            Self::SkillMerged { .. } => "skill.merged",
            Self::SkillAnnotated { .. } => "skill.annotated",
            Self::SkillDeleted { .. } => "skill.tombstoned",
            Self::SkillSuspended { .. } => "skill.suspended",
            Self::SkillResumed { .. } => "skill.resumed",
            Self::SkillRenamed { .. } => "skill.renamed",
            Self::SkillReviewed { .. } => "skill.reviewed",
            Self::TrajectoryReflected { .. } => "trajectory.reflected",
            Self::CandidateRecorded { .. } => "candidate.recorded",
            Self::ItemClosed { .. } => "item.closed",
            Self::PairKept { .. } => "cleanup.kept",
            Self::CleanupFlagged { .. } => "cleanup.flagged",
            Self::CleanupByWords { .. } => "cleanup.by_words",
            Self::TrajectoryLearned => "trajectory.learned",
            Self::SkillsTried { .. } => "trajectory.tried",
            Self::CleanupFinished => "cleanup.finished",
            Self::Reverted { .. } => "operation.reverted",
            Self::PackageAttached { .. } => "package.attached",
            Self::SkillPublished { .. } => "skill.published",
            Self::FunctionWritten { .. } => "function.written",
            Self::FunctionTested { .. } => "function.tested",
            Self::FunctionRetired { .. } => "function.retired",
            Self::WriteProposed { .. } => "write.proposed",
            Self::ProposalRefused { .. } => "proposal.refused",
            Self::AttemptJudged(_) => "attempt.judged",
            Self::SuspicionKept { .. } => "suspicion.kept",
            Self::ItemHeldBack { .. } => "item.held_back",
            Self::Unknown { op, .. } => op,
        }
    }
}
