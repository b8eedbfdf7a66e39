//! The content of a skill as a revert writes it to the log.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::function::SkillFunction;
use super::model::{Origin, SkillText};
use super::note::Note;
use super::trial::ReviewRemark;
use super::version_evidence::VersionEvidence;

/// The state of a skill after a revert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// The skill.
    pub skill: SkillId,
    /// The restored content. `None` if the skill is removed.
    pub content: Option<Content>,
}

/// The content of a skill without its name, id and version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// Texts of the skill.
    pub text: SkillText,
    /// Notes, oldest first.
    pub notes: Vec<Note>,
    /// Number of the oldest notes that the page hides.
    pub hidden_notes: usize,
    /// Counters.
    pub counters: Vec<Counter>,
    /// The most recent review remarks.
    pub remarks: Vec<ReviewRemark>,
    /// Evidence for program versions.
    #[serde(rename = "sightings", default, skip_serializing_if = "Vec::is_empty")]
    pub version_evidence: Vec<VersionEvidence>,
    /// Origin of the text.
    pub origin: Origin,
    /// Functions, by name. `None` leaves them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<BTreeMap<String, SkillFunction>>,
}

/// The counters of one version for one class of consumer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counter {
    /// Version of the skill.
    pub version: u32,
    /// Class of the consuming model.
    pub consumer: String,
    /// The counts.
    pub counts: Counts,
}

impl Restored {
    /// Returns every free text of the content.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let Some(content) = &self.content else { return Vec::new() };
        let SkillText { description, situation, guidance } = &content.text;
        let mut all = vec![description.as_str(), situation, guidance];
        all.extend(content.notes.iter().map(|note| note.text.as_str()));
        all.extend(
            content.functions.iter().flat_map(BTreeMap::values).map(|function| function.source.as_str()),
        );
        all
    }
}
