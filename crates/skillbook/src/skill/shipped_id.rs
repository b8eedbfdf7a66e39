//! The ids of shipped skills, which no skill of a book may take.

use apprentice_protocol::SkillId;

/// The ids, as the packages in `shipped/prompts` state them.
pub(crate) const SHIPPED_IDS: [&str; 5] = [
    "authoring/right-learn-skill",
    "interaction/dialogs",
    "interaction/downloads",
    "interaction/file-chooser",
    "interaction/frames",
];

/// Returns whether an id belongs to a shipped skill.
pub fn is_shipped(id: &SkillId) -> bool {
    SHIPPED_IDS.contains(&id.as_str())
}
