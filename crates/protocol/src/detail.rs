//! What a program tells of an element besides its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A longer selection is told by its beginning and its end of half this length, in characters.
const SELECTION: usize = 80;

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
}

impl DetailKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Formula,
        Self::Comment,
        Self::Bold,
        Self::Italic,
        Self::Underlined,
        Self::Struck,
        Self::Caret,
        Self::SelectedText,
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

impl Detail {
    /// The place of a caret after a text, in lines if there are several. At the end of a single one its column says less.
    pub fn caret(before: &str, has_lines: bool, at_end: bool) -> Self {
        let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
        let text = match (has_lines, at_end) {
            (true, _) => format!("line {} column {column}", before.matches('\n').count() + 1),
            (false, true) => "at the end".to_owned(),
            (false, false) => format!("column {column}"),
        };
        Self { kind: DetailKind::Caret, text }
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
    use super::{Detail, SELECTION};

    #[test]
    fn a_caret_is_told_by_line_and_column_or_at_the_end_of_a_line_alone() {
        let caret = |before, has_lines, at_end| Detail::caret(before, has_lines, at_end).text;
        assert_eq!(caret("", false, false), "column 1");
        assert_eq!(caret("än", false, false), "column 3");
        assert_eq!(caret("änd", false, true), "at the end");
        assert_eq!(caret("", true, false), "line 1 column 1");
        assert_eq!(caret("a", true, false), "line 1 column 2");
        assert_eq!(caret("a\n", true, false), "line 2 column 1");
        assert_eq!(caret("a\nbc", true, false), "line 2 column 3");
        assert_eq!(caret("a\nbcd\n", true, true), "line 3 column 1");
    }

    #[test]
    fn a_long_selection_is_told_by_its_ends() {
        let whole = "é".repeat(SELECTION);
        assert_eq!(Detail::selected(&whole).text, whole);
        let long = format!("{}{whole}{}", "a".repeat(SELECTION / 2), "z".repeat(SELECTION / 2));
        let told = format!("{} … {}", "a".repeat(SELECTION / 2), "z".repeat(SELECTION / 2));
        assert_eq!(Detail::selected(&long).text, told);
    }
}
