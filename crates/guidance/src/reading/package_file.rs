//! The files that a package brings beside its text. A model may read them, in parts where they are long; nothing here runs
//! them.

use std::fmt::Write as _;

use apprentice_protocol::{BoundedText, EventKind, SkillEvent, SkillEventKind, TextBudget, ToolOutcome};
use apprentice_screening::{Finding, scan};
use apprentice_skillbook::{AttachedFile, FileText, Skill, Snapshot, reading};

use super::event::happened;

/// `skill_file { skill, path, from? }`: a file that a note brings, from a character on. Lent only where some note brings files.
pub const SKILL_FILE: &str = "skill_file";

/// Folders of a package whose files a model may read.
const FOLDERS: [&str; 2] = ["scripts/", "references/"];
/// Largest part of a file that one call shows, in characters, with its heading and the remark on the rest.
const MAX_FILE_CHARS: TextBudget = TextBudget(12_000);
/// Characters of the remark on the rest at most.
const MAX_REMARK_CHARS: usize = 64;
/// Largest number of files that a skill's text names.
const MAX_LISTED_FILES: usize = 20;
/// Largest part of a path that an answer repeats, in characters.
const MAX_PATH_CHARS: usize = 120;

pub(crate) fn readable(skill: &Skill) -> impl Iterator<Item = &AttachedFile> {
    let files = skill.package.iter().flat_map(|package| &package.files);
    files.filter(|file| FOLDERS.iter().any(|folder| file.path.starts_with(folder)))
}

/// Returns whether a skill brings files to read.
pub(crate) fn has_files(skill: &Skill) -> bool {
    readable(skill).next().is_some()
}

/// Returns the lines below a skill's text that name its files; empty for most skills.
pub(crate) fn listed(skill: &Skill) -> String {
    let files: Vec<&AttachedFile> = readable(skill).collect();
    if files.is_empty() {
        return String::new();
    }
    let mut text = format!("\nFiles, for `{SKILL_FILE}`:\n");
    for file in files.iter().take(MAX_LISTED_FILES) {
        let _ = writeln!(text, "- {} ({} bytes)", file.path, file.bytes);
    }
    if files.len() > MAX_LISTED_FILES {
        let _ = writeln!(text, "- and {} more", files.len() - MAX_LISTED_FILES);
    }
    text
}

/// Returns the part of a text that begins at a character, and what it leaves out.
pub(crate) fn part_of(text: &str, from: usize, room: usize) -> String {
    let left = text.chars().count().saturating_sub(from);
    if left <= room {
        return text.chars().skip(from).collect();
    }
    let room = room.saturating_sub(MAX_REMARK_CHARS);
    let part: String = text.chars().skip(from).take(room).collect();
    format!("{part}\n[`from`: {} shows the next of {} more characters]", from + room, left - room)
}

/// Shows one file of a skill, from a character on.
pub(crate) fn show(book: &Snapshot, skill: &Skill, path: &str, from: usize) -> ToolOutcome {
    let requested: String = path.trim().chars().take(MAX_PATH_CHARS).collect();
    let Some(file) = readable(skill).find(|file| file.path == requested.trim_start_matches("./")) else {
        let paths: Vec<&str> =
            readable(skill).map(|file| file.path.as_str()).take(MAX_LISTED_FILES).collect();
        let paths = if paths.is_empty() { "no files".to_owned() } else { paths.join(", ") };
        return ToolOutcome::error(format!("{} brings no file {requested:?}. It brings: {paths}.", skill.id));
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
    let length = text.chars().count();
    if from > 0 && from >= length {
        return ToolOutcome::error(format!(
            "{} has {length} characters; `from` lies behind its end.",
            file.path
        ));
    }
    let heading = match from {
        0 => format!("# {}, {}\n\n", skill.id, file.path),
        _ => format!("# {}, {}, from character {from}\n\n", skill.id, file.path),
    };
    let room = MAX_FILE_CHARS.0.saturating_sub(heading.chars().count());
    let shown = format!("{heading}{}", part_of(&text, from, room));
    let shown = BoundedText::cut(&shown, MAX_FILE_CHARS).as_str().to_owned();
    let event = SkillEvent {
        skill: Some(skill.id.clone()),
        version: Some(skill.version),
        detail: Some(file.path.clone()),
        text: Some(shown.clone()),
        ..happened(SkillEventKind::FileViewed, &shown)
    };
    ToolOutcome { events: vec![EventKind::Skill(event)], ..ToolOutcome::text(shown) }
}

#[cfg(test)]
mod tests {
    use super::{MAX_FILE_CHARS, part_of};

    #[test]
    fn the_parts_of_a_long_file_fit_with_their_remark_and_follow_each_other() {
        let text: String =
            (0..30_000).map(|at| char::from(b'a' + u8::try_from(at % 26).expect("a letter"))).collect();
        let (mut from, mut whole) = (0, String::new());
        loop {
            let shown = part_of(&text, from, MAX_FILE_CHARS.0);
            assert!(shown.chars().count() <= MAX_FILE_CHARS.0, "{}", shown.chars().count());
            let Some((part, remark)) = shown.split_once("\n[") else {
                whole.push_str(&shown);
                break;
            };
            // The remark takes no more room than the longest one needs.
            assert!(shown.chars().count() > MAX_FILE_CHARS.0 - 20, "{}", shown.chars().count());
            whole.push_str(part);
            from += part.chars().count();
            assert!(remark.starts_with(&format!("`from`: {from} shows")), "{remark}");
        }
        assert_eq!(whole, text);
    }

    #[test]
    fn sixty_four_characters_of_a_part_are_kept_for_the_remark() {
        let whole = part_of(&"x".repeat(500), 0, 500);
        assert_eq!(whole, "x".repeat(500), "without a remark there is room for 64 more");
        let cut = part_of(&"x".repeat(501), 0, 500);
        assert_eq!(cut, format!("{}\n[`from`: 436 shows the next of 65 more characters]", "x".repeat(436)));
    }
}
