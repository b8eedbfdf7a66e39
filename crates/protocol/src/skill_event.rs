//! Skill events: the vocabulary shared by traces, skillbooks and journals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SkillId;

/// The kind of a skill event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SkillEventKind {
    /// The skill's line was in an index that the agent saw.
    #[serde(rename = "skill.indexed")]
    Indexed,
    /// The skill was among the results of a search.
    #[serde(rename = "skill.searched")]
    Searched,
    /// The skill's text was delivered. Other programs call this event "used".
    #[serde(rename = "skill.viewed", alias = "skill.used")]
    Viewed,
    /// A file that the skill brings was delivered.
    #[serde(rename = "skill.file_viewed")]
    FileViewed,
    /// A script that the skill brings was run in the world.
    #[serde(rename = "skill.script_run")]
    ScriptRun,
    /// The skill's tools were opened.
    #[serde(rename = "skill.activated")]
    Activated,
    /// The skill's tools were closed.
    #[serde(rename = "skill.offloaded")]
    Offloaded,
    /// The agent declared that it used the skill.
    #[serde(rename = "skill.declared_used")]
    DeclaredUsed,
    /// The skill was written.
    #[serde(rename = "skill.written")]
    Written,
    /// A write of the skill was refused.
    #[serde(rename = "skill.write_refused")]
    WriteRefused,
    /// A change of the skill waits for review by a person.
    #[serde(rename = "skill.proposed")]
    Proposed,
    /// A person refused a change of the skill.
    #[serde(rename = "skill.refused")]
    Refused,
    /// A review of the skill was counted.
    #[serde(rename = "skill.reviewed")]
    Reviewed,
    /// A note was added to the skill.
    #[serde(rename = "skill.annotated")]
    Annotated,
    /// The skill was created.
    #[serde(rename = "skill.created")]
    Created,
    /// The skill's text was changed.
    #[serde(rename = "skill.updated")]
    Updated,
    /// The skill was merged into another one.
    #[serde(rename = "skill.merged")]
    Merged,
    /// The skill was removed from the skillbook.
    #[serde(rename = "skill.tombstoned")]
    Tombstoned,
    /// The skill was hidden from a kind of task that it harmed.
    #[serde(rename = "skill.suppressed")]
    Suppressed,
    /// The skill's text is kept from agents until somebody decides about it.
    #[serde(rename = "skill.suspended")]
    Suspended,
    /// The skill is given to agents again.
    #[serde(rename = "skill.resumed")]
    Resumed,
    /// The skill waits for verification; agents do not get it.
    #[serde(rename = "skill.quarantined")]
    Quarantined,
    /// The skill helped on tasks other than its source.
    #[serde(rename = "skill.verified")]
    Verified,
    /// The agent started to write a skill.
    #[serde(rename = "learning.started")]
    LearningStarted,
    /// The agent finished writing a skill, with or without success.
    #[serde(rename = "learning.finished")]
    LearningFinished,
    /// The agent reported an issue for a later review.
    #[serde(rename = "learning.signal")]
    LearningSignal,
    /// The agent reported an issue that was rejected.
    #[serde(rename = "learning.signal_rejected")]
    LearningSignalRejected,
    /// A background review started.
    #[serde(rename = "review.started")]
    ReviewStarted,
    /// A background review finished.
    #[serde(rename = "review.finished")]
    ReviewFinished,
    /// The cleanup found a skill to decide on.
    #[serde(rename = "cleanup.flagged")]
    CleanupFlagged,
    /// The cleanup kept a skill unchanged.
    #[serde(rename = "cleanup.kept")]
    CleanupKept,
    /// A domain was created.
    #[serde(rename = "domain.created")]
    DomainCreated,
}

/// An event of a skill during an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillEvent {
    /// The kind of event.
    pub happening: SkillEventKind,
    /// The skill; `None` for the index of a whole domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// The skill's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Rank among the search results, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The query, the domain, or the reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The delivered text, for views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Number of characters delivered to the model.
    #[serde(default)]
    pub delivered_chars: u64,
}
