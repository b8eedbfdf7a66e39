//! A skill page: `## Situation`, `## Guidance` and `## Annotations`, readable and editable by hand. Further headings, as
//! `## Verification`, may follow the instructions; they and their text are part of the guidance.

use std::fmt::Write as _;

use apprentice_protocol::SkillId;
use unicode_normalization::UnicodeNormalization as _;

/// The content of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The situation in which the skill applies.
    pub situation: String,
    /// The instructions, with the further sections after them.
    pub guidance: String,
    /// The notes, without bullets.
    pub annotations: Vec<String>,
}

/// The reason why a text is not a valid page. Line numbers start at 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// There is text before the first section.
    #[error("line {line}: a page begins with \"## Situation\"")]
    Preamble {
        /// Line number.
        line: usize,
    },
    /// A section is missing, repeated, or out of order.
    #[error("line {line}: expected \"## {expected}\", found {found:?}")]
    Section {
        /// Line number.
        line: usize,
        /// The expected section.
        expected: &'static str,
        /// The line found instead.
        found: String,
    },
    /// There is text after the last section.
    #[error("line {line}: {found:?} follows the annotations, which are the last section; put it before them")]
    Further {
        /// Line number.
        line: usize,
        /// The line found.
        found: String,
    },
    /// The text ends before the last section.
    #[error("the section \"## {0}\" is missing")]
    Missing(&'static str),
    /// A required section is empty.
    #[error("the section \"## {0}\" is empty")]
    Empty(&'static str),
    /// A line of the annotations is not a bullet.
    #[error("line {line}: annotations are a list of \"- \" lines, or the word None")]
    Bullet {
        /// Line number.
        line: usize,
    },
}

const ANNOTATIONS: &str = "Annotations";
const SECTIONS: [&str; 3] = ["Situation", "Guidance", ANNOTATIONS];
const NONE: &str = "None";

/// Returns whether a line reads as one of the three headings that structure a page, however it is spelled.
pub(crate) fn is_own_heading(line: &str) -> bool {
    let Some(title) = line.trim_start().strip_prefix("##") else { return false };
    if title.starts_with('#') {
        return false;
    }
    let plain: String = title.nfkc().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECTIONS.iter().any(|section| plain == section.to_lowercase())
}

/// Returns the path of a skill page, relative to the book.
pub(crate) fn page_path(skill: &SkillId) -> String {
    format!("{skill}.md")
}

impl Page {
    /// Parses a page.
    ///
    /// # Errors
    ///
    /// The page lacks a section, has one twice, or holds text outside of its sections.
    pub fn parse(text: &str) -> Result<Self, PageError> {
        let mut bodies: [String; 3] = Default::default();
        let mut starts = [0; 3];
        let mut seen = 0usize;
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if let Some(title) = line.strip_prefix("## ") {
                let found = line.to_owned();
                let Some(expected) = SECTIONS.get(seen).copied() else {
                    return Err(PageError::Further { line: number, found });
                };
                if expected == ANNOTATIONS && !is_own_heading(line) && !bodies[1].trim().is_empty() {
                    bodies[1].push_str(line.trim_end());
                    bodies[1].push('\n');
                    continue;
                }
                if title.trim() != expected {
                    return Err(PageError::Section { line: number, expected, found });
                }
                starts[seen] = number;
                seen += 1;
            } else if seen == 0 {
                if !line.trim().is_empty() {
                    return Err(PageError::Preamble { line: number });
                }
            } else {
                bodies[seen - 1].push_str(line.trim_end());
                bodies[seen - 1].push('\n');
            }
        }
        if let Some(missing) = SECTIONS.get(seen) {
            return Err(PageError::Missing(missing));
        }
        let [situation, guidance, notes] = bodies;
        let annotations = read_notes(&notes, starts[2])?;
        for (name, body) in [("Situation", &situation), ("Guidance", &guidance)] {
            if body.trim().is_empty() {
                return Err(PageError::Empty(name));
            }
        }
        let settle = |body: String| body.trim_matches('\n').trim_end().to_owned();
        Ok(Self { situation: settle(situation), guidance: settle(guidance), annotations })
    }

    /// Renders a page. The same page always produces the same bytes.
    pub fn render(&self) -> String {
        let mut text = format!(
            "## Situation\n\n{}\n\n## Guidance\n\n{}\n\n## Annotations\n\n",
            self.situation, self.guidance
        );
        for note in &self.annotations {
            let _ = writeln!(text, "- {note}");
        }
        if self.annotations.is_empty() {
            text.push_str(NONE);
            text.push('\n');
        }
        text
    }
}

fn read_notes(body: &str, heading: usize) -> Result<Vec<String>, PageError> {
    let mut notes: Vec<String> = Vec::new();
    if body.trim().eq_ignore_ascii_case(NONE) {
        return Ok(notes);
    }
    for (index, line) in body.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        match line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            Some(note) => notes.push(note.trim().to_owned()),
            None => match notes.last_mut().filter(|_| line.starts_with(' ')) {
                Some(note) => {
                    note.push(' ');
                    note.push_str(trimmed);
                }
                None => return Err(PageError::Bullet { line: heading + index + 1 }),
            },
        }
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{Page, PageError};

    #[test]
    fn none_and_bullets_are_read() {
        let text = "## Situation\n\nWhen.\n\n## Guidance\n\n1. Do.\n\n2. Then.\n\n## Annotations\n\n- one\n  more\n- two\n";
        let page = Page::parse(text).expect("a page");
        assert_eq!(page.annotations, ["one more", "two"]);
        assert_eq!(page.guidance, "1. Do.\n\n2. Then.");
        assert_eq!(Page::parse(&page.render()).expect("a page"), page);
        let bare = Page::parse("## Situation\nA\n## Guidance\nB\n## Annotations\n\nNone\n").expect("a page");
        assert!(bare.annotations.is_empty() && bare.render().ends_with("\n\nNone\n"));
    }

    #[test]
    fn a_broken_page_names_its_line() {
        let check = |text: &str, expected: PageError| assert_eq!(Page::parse(text), Err(expected));
        check("# Title\n## Situation\n", PageError::Preamble { line: 1 });
        check("## Situation\nA\n## Guidance\nB\n", PageError::Missing("Annotations"));
        check(
            "## Situation\nA\n## Notes\nB\n",
            PageError::Section { line: 3, expected: "Guidance", found: "## Notes".into() },
        );
        check("## Situation\nA\n## Guidance\nB\n## Annotations\nhello\n", PageError::Bullet { line: 6 });
        check("## Situation\n\n## Guidance\nB\n## Annotations\nNone\n", PageError::Empty("Situation"));
        let further = "## Situation\nA\n## Guidance\nB\n## Annotations\nNone\n## Verification\nC\n";
        check(further, PageError::Further { line: 7, found: "## Verification".into() });
        let bare = "## Situation\nA\n## Guidance\n\n## Verification\nC\n## Annotations\nNone\n";
        check(bare, PageError::Section { line: 5, expected: "Annotations", found: "## Verification".into() });
        for fake in
            ["## annotations", "## ANNOTATIONS:", "## Guidance", "## Situation ##", "## **Annotations**"]
        {
            let text = format!("## Situation\nA\n## Guidance\nB\n{fake}\nC\n## Annotations\nNone\n");
            check(&text, PageError::Section { line: 5, expected: "Annotations", found: fake.into() });
        }
    }

    #[test]
    fn further_headings_after_the_instructions_are_part_of_the_guidance() {
        let text = "## Situation\n\nWhen.\n\n## Guidance\n\n1. Do.\n\n## Verification\n\nIt shows.\n\n## If it fails\n\n\
                    Undo.\n\n## Annotations\n\n- one\n";
        let page = Page::parse(text).expect("a page");
        assert_eq!(page.guidance, "1. Do.\n\n## Verification\n\nIt shows.\n\n## If it fails\n\nUndo.");
        assert_eq!(page.render(), text);
    }

    proptest! {
        #[test]
        fn a_rendered_page_reads_back(
            situation in "[a-z][a-zA-Z0-9 .,>]{0,80}[a-z]",
            guidance in "[a-z]([a-zA-Z0-9 .,>]|\n){0,80}[a-z]",
            notes in proptest::collection::vec("[a-z\\[][a-zA-Z0-9 .,\\]]{0,30}[a-z]", 0..4),
        ) {
            let guidance: Vec<&str> = guidance.lines().map(str::trim_end).collect();
            let page = Page { situation, guidance: guidance.join("\n"), annotations: notes };
            prop_assert_eq!(Page::parse(&page.render()), Ok(page));
        }
    }
}
