//! The generated index files: `DOMAINS.md` and one `INDEX.md` per domain. The same state always produces the same
//! bytes, within a size cap. The program never reads them back.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use apprentice_wording::clip_line;

use super::state::State;
use crate::skill::model::Origin;

/// Largest size of `DOMAINS.md` in characters: about 600 tokens.
pub const DOMAINS_CAP: usize = 2400;
/// Largest length of one line of either file, in characters.
pub const LINE_CAP: usize = 180;
/// Largest number of skills in one `INDEX.md`.
pub const INDEX_CAP: usize = 100;

/// Cuts a line to its cap.
fn line(text: &str) -> String {
    clip_line(&text.split_whitespace().collect::<Vec<_>>().join(" "), LINE_CAP)
}

/// Renders a skill as one line of a list.
pub fn skill_line(id: &str, description: &str) -> String {
    line(&format!("- {id}: {description}"))
}

/// Returns one line per domain that contains skills of the book itself, within the cap.
pub(crate) fn domain_lines(state: &State) -> String {
    let mut lines = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let own = state.skills.values().filter(|skill| skill.origin != Origin::Shipped);
    own.for_each(|skill| *counts.entry(skill.id.domain()).or_default() += 1);
    for (domain, description) in &state.domains {
        let count = counts.get(domain.as_str()).copied().unwrap_or_default();
        let noun = if count == 1 { "skill" } else { "skills" };
        let tail = if description.is_empty() { String::new() } else { format!(": {description}") };
        if count > 0 {
            lines.push(line(&format!("- {domain} ({count} {noun}){tail}")));
        }
    }
    let total = lines.len();
    let mut text = String::new();
    for (index, line) in lines.into_iter().enumerate() {
        if text.chars().count() + line.chars().count() + 60 > DOMAINS_CAP {
            let _ = writeln!(text, "- and {} more; skill_search finds their skills", total - index);
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Renders `DOMAINS.md`.
pub fn domains_file(state: &State) -> String {
    format!("# Domains\n\n{}", domain_lines(state))
}

/// Renders the `INDEX.md` of a domain. `skill_list` answers with the same text.
pub fn index_file(state: &State, domain: &str) -> String {
    let mut text = format!("# {domain}\n\n");
    if let Some(description) = state.domains.get(domain).filter(|text| !text.is_empty()) {
        let _ = writeln!(text, "{}\n", line(description));
    }
    let skills: Vec<_> = state.skills_of(domain).collect();
    for skill in skills.iter().take(INDEX_CAP) {
        let _ = writeln!(text, "{}", skill_line(skill.id.as_str(), &skill.text.description));
    }
    if skills.len() > INDEX_CAP {
        let _ = writeln!(text, "- and {} more; skill_search finds them", skills.len() - INDEX_CAP);
    }
    text
}
