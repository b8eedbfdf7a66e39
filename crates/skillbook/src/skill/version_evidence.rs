//! Version evidence: the program versions on which a skill's text was observed to be true. Records where it was written
//! and where it helped or was outdated. Contains observations only.

use apprentice_protocol::{SkillId, Versions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operating system's entry in a map of versions. Skills of domains without a program are attributed to it.
const SYSTEM: &str = "os";
const EVERYWHERE: &str = "general";
/// Largest length of a version, in characters.
const MAX_VERSION_CHARS: usize = 40;

/// Observations of one skill version on one program version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
pub fn is_same_release(left: &str, right: &str) -> bool {
    let head = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    head(left) == head(right)
}

/// Returns whether a version is well formed: a number with a few letters, never a sentence. Versions come from
/// environments and reach models.
pub(crate) fn is_well_formed(app: &str, version: &str) -> bool {
    let plain = version.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
    let digits = version.bytes().any(|byte| byte.is_ascii_digit());
    SkillId::is_slug(app) && plain && digits && version.len() <= MAX_VERSION_CHARS
}

#[cfg(test)]
mod tests {
    use super::is_well_formed;

    #[test]
    fn a_version_has_at_most_forty_characters() {
        assert!(is_well_formed("gimp", &"1".repeat(40)) && !is_well_formed("gimp", &"1".repeat(41)));
    }
}
