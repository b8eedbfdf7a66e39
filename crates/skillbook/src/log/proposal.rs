//! Proposals: changes that wait for a person's approval. A proposal is an ordinary operation: the log contains it with
//! its cause, but it changes no page. Accepting it writes the change in its author's name. Refusals are remembered, so
//! that models cannot propose the same change again.

use std::collections::BTreeMap;

use apprentice_protocol::{SkillId, Versions};
use apprentice_screening::effect::Assessment;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::change::Change;
use super::citation::Citation;
use crate::skill::hash::hash;
use crate::skill::model::{Actor, Cause, OpId};

/// A change that waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Proposal {
    /// The operation that made the proposal.
    pub id: OpId,
    /// Time of the proposal.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// Author of the proposal.
    pub actor: Actor,
    /// Cause of the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Program versions that the proposal is based on.
    #[serde(skip_serializing_if = "Versions::is_empty")]
    pub seen: Versions,
    /// The reports and steps that its author cites.
    #[serde(skip_serializing_if = "Citation::is_empty")]
    pub citation: Citation,
    /// Versions of the affected skills that its author had read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub read: BTreeMap<SkillId, u32>,
    /// What was found in its text, if it waits for that.
    #[serde(skip_serializing_if = "Assessment::is_empty")]
    pub assessment: Assessment,
    /// The proposed change.
    #[serde(flatten)]
    pub change: Change,
}

/// Returns whether a change is visible on a page or creates a domain.
pub(crate) fn shows(change: &Change) -> bool {
    match change {
        Change::DomainCreated(_)
        | Change::SkillCreated { .. }
        | Change::SkillUpdated { .. }
        | Change::SkillEdited { .. }
        | Change::SkillMerged { .. }
        | Change::SkillAnnotated { .. }
        | Change::SkillDeleted { .. }
        | Change::SkillRenamed { .. }
        | Change::SkillPublished { .. }
        | Change::FunctionWritten { .. }
        | Change::FunctionRetired { .. } => true,
        Change::SkillReviewed { .. }
        | Change::SkillSuspended { .. }
        | Change::SkillResumed { .. }
        | Change::TrajectoryReflected { .. }
        | Change::CandidateRecorded { .. }
        | Change::ItemClosed { .. }
        | Change::PairKept { .. }
        | Change::CleanupFlagged { .. }
        | Change::CleanupByWords { .. }
        | Change::AttemptJudged(_)
        | Change::SuspicionKept { .. }
        | Change::ItemHeldBack { .. }
        | Change::TrajectoryLearned
        | Change::SkillsTried { .. }
        | Change::CleanupFinished
        | Change::PackageAttached { .. }
        | Change::FunctionTested { .. }
        | Change::Reverted { .. }
        | Change::WriteProposed { .. }
        | Change::ProposalRefused { .. }
        | Change::Unknown { .. } => false,
    }
}

/// Returns the identity of a proposal, for detecting duplicates. Equal texts are equal whatever version they are based
/// on and wherever their domain is created. A deletion includes the version of the deleted skill.
pub(crate) fn fingerprint(change: &Change, read: &BTreeMap<SkillId, u32>) -> String {
    let mut value = serde_json::to_value(change).unwrap_or_default();
    if let Some(data) = value.get_mut("data").and_then(|data| data.as_object_mut()) {
        data.remove("domain");
    }
    let of_version = matches!(change, Change::SkillDeleted { .. });
    let read = if of_version { format!("{read:?}") } else { String::new() };
    hash(format!("{value}{read}").as_bytes())
}
