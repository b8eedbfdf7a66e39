//! How two states of a book differ, skill by skill, as a person reads it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use apprentice_protocol::SkillId;
use serde::Serialize;
use similar::TextDiff;

use super::snapshot::Snapshot;
use super::state::Skill;

/// One skill that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillDifference {
    /// Which.
    pub skill: SkillId,
    /// What happened to it.
    pub kind: DifferenceKind,
    /// Its version before, if it was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_before: Option<u32>,
    /// Its version after, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_after: Option<u32>,
    /// The texts as a unified diff.
    pub diff: String,
}

/// What happened to a skill between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// Its text or its notes changed.
    Changed,
}

/// The skills whose text or notes differ, by id. Counters are no text: they do not show here.
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
        let mut diff = String::new();
        let changes = TextDiff::from_lines(&left, &right);
        let name = |there: bool| if there { id.as_str() } else { "/dev/null" };
        let headed = changes.unified_diff().header(name(was.is_some()), name(is.is_some())).to_string();
        let _ = write!(diff, "{headed}");
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
