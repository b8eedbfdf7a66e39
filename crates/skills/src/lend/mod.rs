//! What of a book is lent to a trial: opening text and tools, by an arm's policy.
//!
//! Tools answer in plain text. A domain, in the opening: `- <domain> (<n> skills): <description>`. A skill, in a
//! list or among hits: `- <domain>/<name>: <description>`. A view: `# <domain>/<name>`, the description, then
//! the skill's three sections `## Situation`, `## Guidance`, `## Annotations`.

/// `skill_list { domain }`: the notes of one program, one line each.
pub const SKILL_LIST: &str = "skill_list";
/// `skill_search { query, limit? }`: notes by words, one line each, best first.
pub const SKILL_SEARCH: &str = "skill_search";
/// `skill_view { skill }`: the text of one note.
pub const SKILL_VIEW: &str = "skill_view";
