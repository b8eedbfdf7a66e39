//! Compares two states of a book, skill by skill, for display.

use std::collections::BTreeSet;

use apprentice_protocol::SkillId;
use apprentice_wording::line_diff::LineDiff;
use schemars::JsonSchema;
use serde::Serialize;

use super::snapshot::Snapshot;
use crate::skill::record::Skill;

/// One skill that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillDifference {
    /// The skill.
    pub skill: SkillId,
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// The version before. `None` if the skill did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_before: Option<u32>,
    /// The version after. `None` if the skill no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_after: Option<u32>,
    /// Unified diff of the skill page.
    pub diff: String,
}

/// The kind of difference of a skill between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// The skill is new.
    Added,
    /// The skill is gone.
    Removed,
    /// The skill's text or notes changed.
    Changed,
}

/// Returns the skills whose text or notes differ, sorted by id. Ignores counters.
pub fn difference(before: &Snapshot, after: &Snapshot) -> Vec<SkillDifference> {
    let (old, new) = (&before.state().skills, &after.state().skills);
    let ids: BTreeSet<&SkillId> = old.keys().chain(new.keys()).collect();
    let mut found = Vec::new();
    for id in ids {
        let (was, is) = (old.get(id), new.get(id));
        let kind = match (was, is) {
            (None, _) => DifferenceKind::Added,
            (_, None) => DifferenceKind::Removed,
            (Some(was), Some(is)) if was.text == is.text && was.page() == is.page() => continue,
            (Some(_), Some(_)) => DifferenceKind::Changed,
        };
        let text = |skill: Option<&Skill>| skill.map(Skill::view).unwrap_or_default();
        let (left, right) = (text(was.map(AsRef::as_ref)), text(is.map(AsRef::as_ref)));
        let name = |there: bool| if there { id.as_str() } else { "/dev/null" };
        let diff = LineDiff::of(&left, &right).unified(name(was.is_some()), name(is.is_some()));
        found.push(SkillDifference {
            skill: id.clone(),
            kind,
            version_before: was.map(|skill| skill.version),
            version_after: is.map(|skill| skill.version),
            diff,
        });
    }
    found
}
