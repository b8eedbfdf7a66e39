//! Positions in a text file, and suggestions for misspelt names.

use std::fmt;

/// A position in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePos {
    /// The line number.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for SourcePos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl SourcePos {
    /// Returns the position of a byte offset.
    pub fn at(text: &str, offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }

    /// Translates position `inner`, relative to a part of `text` that begins at byte `start`, into a position in
    /// `text`.
    pub fn translate(text: &str, start: usize, inner: Self) -> Self {
        let outer = Self::at(text, start);
        let line = outer.line + inner.line.saturating_sub(1);
        let column =
            if inner.line <= 1 { outer.column + inner.column.saturating_sub(1) } else { inner.column };
        Self { line, column }
    }
}

/// Returns the valid name most similar to `name`, or `None` when none is similar enough.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    valid
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance * 2 <= candidate.chars().count().max(3))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::{SourcePos, nearest};

    #[test]
    fn places_are_counted_from_one_in_characters() {
        let text = "ab\nüx\n";
        assert_eq!(SourcePos::at(text, 0), SourcePos { line: 1, column: 1 });
        assert_eq!(SourcePos::at(text, 5), SourcePos { line: 2, column: 2 });
        assert_eq!(
            SourcePos::translate(text, 3, SourcePos { line: 1, column: 2 }),
            SourcePos { line: 2, column: 2 }
        );
        assert_eq!(
            SourcePos::translate(text, 3, SourcePos { line: 2, column: 4 }),
            SourcePos { line: 3, column: 4 }
        );
    }

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let names = ["launch", "execute", "write_file"];
        assert_eq!(nearest("lauch", names), Some("launch"));
        assert_eq!(nearest("exectue", names), Some("execute"));
        assert_eq!(nearest("qqqqqqqqqqqqqqq", names), None);
    }
}
