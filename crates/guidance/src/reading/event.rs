//! Makes the events by which the trace records what guidance delivered.

use apprentice_protocol::{SkillEvent, SkillEventKind};

/// Returns an event about no particular skill, with the length of the delivered text.
pub(crate) fn happened(happening: SkillEventKind, delivered: &str) -> SkillEvent {
    SkillEvent {
        happening,
        skill: None,
        version: None,
        rank: None,
        detail: None,
        text: None,
        delivered_chars: u64::try_from(delivered.chars().count()).unwrap_or(u64::MAX),
    }
}
