//! The files that an imported package brings beside its text. A model may read them; nothing here runs them.

use std::fmt::Write as _;

use apprentice_protocol::{BoundedText, EventKind, SkillEvent, SkillEventKind, TextBudget, ToolOutcome};

use super::event::happened;
use crate::book::{AttachedFile, FileText, Skill, Snapshot, reading};
use crate::scan::{Finding, scan};

/// `skill_file { skill, path }`: a file that a note brings. Lent only where some note brings files.
pub const SKILL_FILE: &str = "skill_file";

/// Folders of a package whose files a model may read.
const FOLDERS: [&str; 2] = ["scripts/", "references/"];
/// Largest part of a file that one call shows, in characters.
const FILE_BUDGET: TextBudget = TextBudget(12_000);
/// Largest number of files that a skill's text names.
const LISTED: usize = 20;
/// Largest part of a path that an answer repeats, in characters.
const PATH: usize = 120;

fn readable(skill: &Skill) -> impl Iterator<Item = &AttachedFile> {
    let files = skill.package.iter().flat_map(|package| &package.files);
    files.filter(|file| FOLDERS.iter().any(|folder| file.path.starts_with(folder)))
}

/// Returns whether a skill brings files to read.
pub(super) fn has_files(skill: &Skill) -> bool {
    readable(skill).next().is_some()
}

/// Returns the lines below a skill's text that name its files; empty for most skills.
pub(super) fn listed(skill: &Skill) -> String {
    let files: Vec<&AttachedFile> = readable(skill).collect();
    if files.is_empty() {
        return String::new();
    }
    let mut text = format!("\nFiles, for `{SKILL_FILE}`:\n");
    for file in files.iter().take(LISTED) {
        let _ = writeln!(text, "- {} ({} bytes)", file.path, file.bytes);
    }
    if files.len() > LISTED {
        let _ = writeln!(text, "- and {} more", files.len() - LISTED);
    }
    text
}

/// Shows one file of a skill.
pub(super) fn show(book: &Snapshot, skill: &Skill, path: &str) -> ToolOutcome {
    let asked: String = path.trim().chars().take(PATH).collect();
    let Some(file) = readable(skill).find(|file| file.path == asked.trim_start_matches("./")) else {
        let known: Vec<&str> = readable(skill).map(|file| file.path.as_str()).take(LISTED).collect();
        let known = if known.is_empty() { "no files".to_owned() } else { known.join(", ") };
        return ToolOutcome::error(format!("{} brings no file {asked:?}. It brings: {known}.", skill.id));
    };
    let Some(bytes) = book.attachment(&file.sha256) else {
        return ToolOutcome::error(format!("The book has lost {} of {}.", file.path, skill.id));
    };
    let FileText::Text(text) = reading(&bytes) else {
        return ToolOutcome::error(format!("{} is no text; it cannot be shown.", file.path));
    };
    // The import scanned the file. A book may also come from elsewhere.
    if let Some(found @ (Finding::Secret | Finding::Injection)) = scan(&text) {
        return ToolOutcome::error(format!("{} is not shown: {}.", file.path, found.why()));
    }
    let heading = format!("# {}, {}\n\n", skill.id, file.path);
    let shown = BoundedText::cut(&format!("{heading}{text}"), FILE_BUDGET).as_str().to_owned();
    let event = SkillEvent {
        skill: Some(skill.id.clone()),
        version: Some(skill.version),
        detail: Some(file.path.clone()),
        text: Some(shown.clone()),
        ..happened(SkillEventKind::FileViewed, &shown)
    };
    ToolOutcome { events: vec![EventKind::Skill(event)], ..ToolOutcome::text(shown) }
}
