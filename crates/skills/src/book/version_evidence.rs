//! Version evidence: the program versions on which a skill's text was observed to be true. Records where it was written
//! and where it helped or was outdated. Contains observations only.

use apprentice_protocol::{SkillId, Versions};
use serde::{Deserialize, Serialize};

use super::operation::{Actor, Change};
use super::state::Skill;
use crate::reflect::{IssueType, SkillReview};

/// The operating system's entry in a map of versions. Skills of domains without a program are attributed to it.
const SYSTEM: &str = "os";
const EVERYWHERE: &str = "general";
/// Largest length of a version, in characters.
const LONGEST: usize = 40;

/// Observations of one skill version on one program version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionEvidence {
    /// Version of the skill.
    pub version: u32,
    /// The program, as a domain name.
    pub app: String,
    /// Version of the program.
    pub app_version: String,
    /// Whether the text was written from an attempt on this version.
    #[serde(default)]
    pub written: bool,
    /// Number of passed attempts on this version that the skill helped.
    #[serde(default)]
    pub confirmed: u32,
    /// Number of attempts on this version that found the skill outdated.
    #[serde(default)]
    pub outdated: u32,
}

/// Returns the version that is relevant to a domain: its program's, or the system's if the domain is not a program.
pub fn version_of<'a>(versions: &'a Versions, domain: &str) -> Option<(&'a str, &'a str)> {
    let wanted = if domain == EVERYWHERE { SYSTEM } else { domain };
    let part_of = |name: &str| name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('-'));
    let own = versions.get_key_value(wanted);
    // A domain may be a suite whose programs are listed separately by attempts.
    let found = own.or_else(|| versions.iter().find(|(name, _)| part_of(name)));
    found.map(|(app, version)| (app.as_str(), version.as_str()))
}

/// Returns whether two versions probably look the same. Menus and labels change with the first two numbers; later
/// numbers are bug fixes.
pub fn is_same_release(one: &str, other: &str) -> bool {
    let head = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    head(one) == head(other)
}

/// Returns the observed versions that are relevant to a change, for its record.
pub(super) fn relevant_versions(seen: &Versions, change: &Change) -> Versions {
    let (Change::SkillCreated { skill: about, .. }
    | Change::SkillUpdated { skill: about, .. }
    | Change::SkillPublished { skill: about, .. }
    | Change::SkillReviewed { skill: about, .. }
    | Change::SkillAnnotated { skill: about, .. }
    | Change::SkillMerged { target: about, .. }) = change
    else {
        return Versions::new();
    };
    let found = version_of(seen, about.domain()).filter(|(app, version)| is_well_formed(app, version));
    found.map(|(app, version)| (app.to_owned(), version.to_owned())).into_iter().collect()
}

/// Returns whether a version is well formed: a number with a few letters, never a sentence. Versions come from
/// environments and reach models.
fn is_well_formed(app: &str, version: &str) -> bool {
    let plain = version.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
    let digits = version.bytes().any(|byte| byte.is_ascii_digit());
    SkillId::is_slug(app) && plain && digits && version.len() <= LONGEST
}

impl Skill {
    /// Returns the program versions on which the current text was written or has helped, oldest first.
    pub fn seen_on(&self) -> Vec<&VersionEvidence> {
        let holds =
            |one: &&VersionEvidence| one.version == self.version && (one.written || one.confirmed > 0);
        self.sightings.iter().filter(holds).collect()
    }

    /// Records that the current text is new and that its author observed these versions.
    pub(super) fn record_written(&mut self, seen: &Versions, actor: Actor) {
        for (app, app_version) in seen {
            self.sighting(self.version, (app, app_version)).written = true;
        }
        // The cleaner observes no program. Its texts inherit the evidence of the skills that they are made of.
        if actor == Actor::Cleaner && seen.is_empty() {
            let before = self.version.saturating_sub(1);
            let earlier: Vec<VersionEvidence> =
                self.sightings.iter().filter(|one| one.version == before).cloned().collect();
            self.inherit(&earlier);
        }
    }

    /// Records that the current text also contains another skill's text.
    pub(super) fn inherit_evidence(&mut self, source: Option<&Self>, actor: Actor) {
        if let Some(source) = source.filter(|_| actor == Actor::Cleaner) {
            let of_source: Vec<VersionEvidence> = source.seen_on().into_iter().cloned().collect();
            self.inherit(&of_source);
        }
    }

    fn inherit(&mut self, earlier: &[VersionEvidence]) {
        for one in earlier.iter().filter(|one| one.written || one.confirmed > 0) {
            self.sighting(self.version, (&one.app, &one.app_version)).written = true;
        }
    }

    /// Records the versions that the attempt behind a review observed.
    pub(super) fn record_review(
        &mut self,
        seen: &Versions,
        version: u32,
        told: (Option<&SkillReview>, bool),
    ) {
        let (confirmed, outdated) = match told {
            (Some(SkillReview::Positive(_)), true) => (1, 0),
            (Some(SkillReview::Negative(review)), _) if review.issue_type == IssueType::Outdated => (0, 1),
            _ => return,
        };
        for (app, app_version) in seen {
            let sighting = self.sighting(version, (app, app_version));
            sighting.confirmed += confirmed;
            sighting.outdated += outdated;
        }
    }

    fn sighting(&mut self, version: u32, (app, app_version): (&str, &str)) -> &mut VersionEvidence {
        let known = |one: &VersionEvidence| {
            one.version == version && one.app == app && one.app_version == app_version
        };
        let place = self.sightings.iter().position(known).unwrap_or_else(|| {
            let (app, app_version) = (app.to_owned(), app_version.to_owned());
            let new =
                VersionEvidence { version, app, app_version, written: false, confirmed: 0, outdated: 0 };
            self.sightings.push(new);
            self.sightings.len() - 1
        });
        &mut self.sightings[place]
    }
}

/// Returns the evidence that remains after reverting an operation that led from `was` to `became`. If its text is
/// removed, the text of `was` is restored as version `next`.
pub(super) fn without(
    now: &Skill,
    (was, became): (&Skill, &Skill),
    next: Option<u32>,
) -> Vec<VersionEvidence> {
    let same = |one: &VersionEvidence, other: &VersionEvidence| {
        (one.version, &one.app, &one.app_version) == (other.version, &other.app, &other.app_version)
    };
    let told = |skill: &Skill, wanted: &VersionEvidence| {
        let found = skill.sightings.iter().find(|one| same(one, wanted));
        found.map_or((false, 0, 0), |one| (one.written, one.confirmed, one.outdated))
    };
    let mut left = Vec::new();
    for one in &now.sightings {
        let (before, after) = (told(was, one), told(became, one));
        let kept = VersionEvidence {
            written: one.written && (before.0 || !after.0),
            confirmed: one.confirmed.saturating_sub(after.1.saturating_sub(before.1)),
            outdated: one.outdated.saturating_sub(after.2.saturating_sub(before.2)),
            ..one.clone()
        };
        if kept.written || kept.confirmed > 0 || kept.outdated > 0 {
            left.push(kept);
        }
    }
    let again = was.sightings.iter().filter(|one| one.version == was.version);
    let again = next
        .into_iter()
        .flat_map(|version| again.clone().map(move |one| VersionEvidence { version, ..one.clone() }));
    left.extend(again.collect::<Vec<_>>());
    left
}
