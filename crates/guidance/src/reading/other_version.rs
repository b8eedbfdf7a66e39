//! The remark that accompanies a skill which was observed on other versions than those of the agent's programs.

use apprentice_protocol::Prompt;
use apprentice_skillbook::{KnownVersions, Skill, is_same_release, version_of};

pub(crate) const OTHER_VERSION: Prompt =
    Prompt::new("skills/other_version", include_str!("../prompts/other_version.md"), &["app", "seen", "now"]);
/// Largest number of versions that a remark names: the latest ones.
const MAX_VERSIONS: usize = 3;

/// Returns the remark that accompanies a skill's text. `None` if the text was observed on the agent's version, or
/// if either version is unknown.
pub(crate) fn other_version_remark(known_versions: &KnownVersions, skill: &Skill) -> Option<String> {
    let versions = known_versions.versions();
    let (app, now) = version_of(&versions, skill.id.domain())?;
    let seen: Vec<&str> = skill
        .confirmed_versions()
        .into_iter()
        .filter(|evidence| evidence.app == app)
        .map(|evidence| evidence.app_version.as_str())
        .collect();
    if seen.is_empty() || seen.iter().any(|seen| is_same_release(seen, now)) {
        return None;
    }
    let seen = seen[seen.len().saturating_sub(MAX_VERSIONS)..].join(", ");
    Some(OTHER_VERSION.fill(&[("app", app), ("seen", &seen), ("now", now)]))
}
