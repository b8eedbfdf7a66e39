//! What a program tells of an element besides its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A longer selection is told by its beginning and its end of half this length, in characters.
const SELECTION: usize = 80;
/// Most characters of its line that are told before a caret, and after it.
const AROUND: usize = 24;
/// What stands for a caret among the characters around it.
const CARET: char = '|';

/// What a detail of an element is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DetailKind {
    /// The formula whose result a cell shows.
    Formula,
    /// The comment on a cell.
    Comment,
    /// The bold parts of a text.
    Bold,
    /// The italic parts of a text.
    Italic,
    /// The underlined parts of a text.
    Underlined,
    /// The struck-through parts of a text.
    Struck,
    /// Where the caret stands in the text that has the focus.
    Caret,
    /// What is selected of the text that has the focus.
    SelectedText,
    /// Where that begins.
    SelectionStart,
    /// What stands in the row of a control of which there are several alike.
    Row,
    /// The window that lies over all of this one.
    CoveredBy,
}

impl DetailKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Formula,
        Self::Comment,
        Self::Bold,
        Self::Italic,
        Self::Underlined,
        Self::Struck,
        Self::Caret,
        Self::SelectedText,
        Self::SelectionStart,
        Self::Row,
        Self::CoveredBy,
    ];

    /// The word for it in a list of elements.
    pub fn word(self) -> &'static str {
        match self {
            Self::Formula => "formula",
            Self::Comment => "comment",
            Self::Bold => "bold",
            Self::Italic => "italic",
            Self::Underlined => "underlined",
            Self::Struck => "struck",
            Self::Caret => "caret",
            Self::SelectedText => "selected text",
            Self::SelectionStart => "from",
            Self::Row => "of",
            Self::CoveredBy => "covered by",
        }
    }
}

/// What a program tells of an element besides its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Detail {
    /// What it is about.
    pub kind: DetailKind,
    /// What is told.
    pub text: String,
}

/// A place between two characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace<'a> {
    /// The whole text before it.
    pub before: &'a str,
    /// The text after it, or the beginning of that.
    pub after: &'a str,
    /// Whether the text has several lines.
    pub has_lines: bool,
}

impl TextPlace<'_> {
    /// Line and column, both from 1; the column alone in a single line.
    fn numbers(&self) -> String {
        let column = self.before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
        if self.has_lines {
            format!("line {} column {column}", self.before.matches('\n').count() + 1)
        } else {
            format!("column {column}")
        }
    }

    /// The characters around it in its line.
    fn around(&self) -> String {
        let line = self.before.rsplit('\n').next().unwrap_or_default();
        let skipped = line.chars().count().saturating_sub(AROUND);
        let start: String = line.chars().skip(skipped).collect();
        let rest = self.after.split('\n').next().unwrap_or_default();
        let end: String = rest.chars().take(AROUND).collect();
        let cut = |is_cut: bool| if is_cut { "…" } else { "" };
        format!("{}{start}{CARET}{end}{}", cut(skipped > 0), cut(end.len() < rest.len()))
    }
}

impl Detail {
    /// Where a caret stands, with the characters around it. At the end of a single line these say nothing that the text
    /// does not.
    pub fn caret(place: TextPlace<'_>) -> Self {
        let text = if !place.has_lines && place.after.is_empty() {
            "at the end".to_owned()
        } else {
            format!("{}: {}", place.numbers(), place.around())
        };
        Self { kind: DetailKind::Caret, text }
    }

    /// Where what is selected begins.
    pub fn selection_start(place: TextPlace<'_>) -> Self {
        Self { kind: DetailKind::SelectionStart, text: place.numbers() }
    }

    /// What is selected.
    pub fn selected(text: &str) -> Self {
        let (kind, count) = (DetailKind::SelectedText, text.chars().count());
        if count <= SELECTION {
            return Self { kind, text: text.to_owned() };
        }
        let half = SELECTION / 2;
        let start: String = text.chars().take(half).collect();
        let end: String = text.chars().skip(count - half).collect();
        Self { kind, text: format!("{start} … {end}") }
    }
}

#[cfg(test)]
mod tests {
    use super::{AROUND, Detail, SELECTION, TextPlace};

    #[test]
    fn a_caret_is_told_by_its_place_and_its_line_or_at_the_end_of_a_line_alone() {
        let caret = |before, after, has_lines| Detail::caret(TextPlace { before, after, has_lines }).text;
        assert_eq!(caret("", "änd", false), "column 1: |änd");
        assert_eq!(caret("än", "d", false), "column 3: än|d");
        assert_eq!(caret("änd", "", false), "at the end");
        assert_eq!(caret("", "a\nb", true), "line 1 column 1: |a");
        assert_eq!(caret("a", "\nb", true), "line 1 column 2: a|");
        assert_eq!(caret("a\n", "\nb", true), "line 2 column 1: |");
        assert_eq!(caret("a\nb", "c\n", true), "line 2 column 2: b|c");
        assert_eq!(caret("a\nbcd\n", "", true), "line 3 column 1: |");
        let start = TextPlace { before: "a\nb", after: "c", has_lines: true };
        assert_eq!(Detail::selection_start(start).text, "line 2 column 2");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_caret_is_told() {
        let around = |before: usize, after: usize| {
            let (before, after) = ("ö".repeat(before), "z".repeat(after));
            let text = Detail::caret(TextPlace { before: &before, after: &after, has_lines: false }).text;
            text.split_once(": ").expect("a place and a line").1.to_owned()
        };
        let (before, after) = ("ö".repeat(AROUND), "z".repeat(AROUND));
        assert_eq!(around(AROUND, AROUND), format!("{before}|{after}"));
        assert_eq!(around(AROUND + 1, AROUND), format!("…{before}|{after}"));
        assert_eq!(around(AROUND, AROUND + 1), format!("{before}|{after}…"));
    }

    #[test]
    fn a_long_selection_is_told_by_its_ends() {
        let whole = "é".repeat(SELECTION);
        assert_eq!(Detail::selected(&whole).text, whole);
        let long = format!("{}{whole}{}", "a".repeat(SELECTION / 2), "z".repeat(SELECTION / 2));
        let shortened = format!("{} … {}", "a".repeat(SELECTION / 2), "z".repeat(SELECTION / 2));
        assert_eq!(Detail::selected(&long).text, shortened);
    }
}
