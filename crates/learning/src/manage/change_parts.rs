//! The parts of a manager's call and of the change that it makes: cited ids, target, tool, unseen sentences.

use apprentice_protocol::SkillId;
use apprentice_skillbook::{Change, LeftItem, SentenceSource, WriteRequest};

use super::citation_check::CitedIds;
use super::tools::{ANNOTATE_SKILL, CREATE_SKILL, DELETE_SKILL, MERGE_SKILLS, ToolCall, UPDATE_SKILL};
use crate::apply_reviews::Refusal;

/// Returns the ids that a call cites.
pub(super) fn cited_ids(call: &ToolCall) -> CitedIds<'_> {
    let of = |agrees_with, conflicts_with| CitedIds { agrees_with, conflicts_with, proved_by: &[] };
    match call {
        ToolCall::Create(call) => of(&call.agrees_with, &call.conflicts_with),
        ToolCall::Update(call) => {
            CitedIds { proved_by: &call.proved_by, ..of(&call.agrees_with, &call.conflicts_with) }
        }
        ToolCall::Merge(call) => of(&call.agrees_with, &call.conflicts_with),
        ToolCall::Annotate(call) => of(&call.agrees_with, &call.conflicts_with),
        ToolCall::Delete(call) => of(&call.agrees_with, &call.conflicts_with),
        ToolCall::Leave(call) => of(&call.agrees_with, &call.conflicts_with),
        ToolCall::CreateDomain(_)
        | ToolCall::FetchSimilar(_)
        | ToolCall::Read(_)
        | ToolCall::ReadReports(_) => CitedIds::default(),
    }
}

/// Returns the sentences that no cited step shows.
pub(super) fn not_seen(request: &WriteRequest) -> Vec<String> {
    let origins = request.citation.origins.iter();
    let not_seen = origins.filter(|origin| origin.source == SentenceSource::NotSeen);
    not_seen.map(|origin| origin.sentence.clone()).collect()
}

/// Returns the tool that makes a change.
pub(super) fn tool_of(change: &Change) -> &'static str {
    match change {
        Change::SkillUpdated { .. } => UPDATE_SKILL,
        Change::SkillMerged { .. } => MERGE_SKILLS,
        Change::SkillAnnotated { .. } => ANNOTATE_SKILL,
        Change::SkillDeleted { .. } => DELETE_SKILL,
        _ => CREATE_SKILL,
    }
}

pub(super) fn left(change: &Change) -> Option<&LeftItem> {
    match change {
        Change::ItemClosed { left, .. } | Change::PairKept { left, .. } => left.as_ref(),
        _ => None,
    }
}

pub(super) fn target(change: &Change) -> Option<&SkillId> {
    match change {
        Change::SkillCreated { skill, .. }
        | Change::SkillUpdated { skill, .. }
        | Change::SkillAnnotated { skill, .. }
        | Change::SkillDeleted { skill }
        | Change::SkillMerged { target: skill, .. } => Some(skill),
        _ => None,
    }
}

pub(super) fn names(change: &Change, id: &SkillId) -> bool {
    matches!(change, Change::SkillMerged { source, .. } if source == id) || target(change) == Some(id)
}

/// Reads the id of a skill.
pub(super) fn parse(id: &str) -> Result<SkillId, Refusal> {
    SkillId::parse(id).map_err(|error| refusal(None, "bad_name", error.to_string()))
}

/// Returns a refusal, of a skill if one is concerned.
pub(super) fn refusal(skill: Option<SkillId>, code: &str, why: impl Into<String>) -> Refusal {
    Refusal { skill, code: code.to_owned(), why: why.into() }
}
