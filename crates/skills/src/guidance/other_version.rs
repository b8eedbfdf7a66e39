//! The remark that accompanies a skill which was observed on other versions than those of the agent's programs.

use apprentice_protocol::Prompt;

use crate::book::{Skill, is_same_release, version_of};
use crate::known_versions::KnownVersions;

pub(crate) const OTHER_VERSION: Prompt =
    Prompt::new("skills/other_version", include_str!("../prompts/other_version.md"), &["app", "seen", "now"]);
/// Largest number of versions that a remark names: the latest ones.
const NAMED: usize = 3;

/// Returns the remark that accompanies a skill's text. `None` if the text was observed on the agent's version, or
/// if either version is unknown.
pub(super) fn other_version_remark(known: &KnownVersions, skill: &Skill) -> Option<String> {
    let versions = known.versions();
    let (app, now) = version_of(&versions, skill.id.domain())?;
    let seen: Vec<&str> = skill
        .confirmed_versions()
        .into_iter()
        .filter(|one| one.app == app)
        .map(|one| one.app_version.as_str())
        .collect();
    if seen.is_empty() || seen.iter().any(|seen| is_same_release(seen, now)) {
        return None;
    }
    let seen = seen[seen.len().saturating_sub(NAMED)..].join(", ");
    Some(OTHER_VERSION.fill(&[("app", app), ("seen", &seen), ("now", now)]))
}
