//! The versions of the programs that an agent uses. They are unknown when the book is prepared, because the environment
//! is not open yet, and are added once known. The agent is told about them where a skill was observed on other
//! versions.

use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{EventKind, Prompt, Versions};

use crate::book::{Skill, is_same_release, version_of};

pub(crate) const OTHER_VERSION: Prompt =
    Prompt::new("skills/other_version", include_str!("../prompts/other_version.md"), &["app", "seen", "now"]);
/// Largest number of versions that a remark names: the latest ones.
const NAMED: usize = 3;

/// The program versions of one trial's environment. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct KnownVersions(Arc<Mutex<Versions>>);

impl KnownVersions {
    /// Records the versions that a trial event reports.
    pub fn hear(&self, event: &EventKind) {
        if let EventKind::VersionsSeen { versions } = event {
            let known = versions.iter().filter_map(|(app, version)| Some((app.clone(), version.clone()?)));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(known);
        }
    }

    /// Returns the versions known so far.
    pub fn versions(&self) -> Versions {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the remark that accompanies a skill's text. `None` if the text was observed on the agent's version, or
    /// if either version is unknown.
    pub(super) fn remark(&self, skill: &Skill) -> Option<String> {
        let versions = self.versions();
        let (app, now) = version_of(&versions, skill.id.domain())?;
        let seen: Vec<&str> = skill
            .seen_on()
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
}
