//! Positions in a text file.

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
    /// Returns the position of a quoted name in a part of `text`, or of the part itself if the name is absent. The part
    /// must borrow from `text`.
    pub(crate) fn of_name(text: &str, part: &str, name: &str) -> Self {
        let quoted = serde_json::Value::from(name).to_string();
        Self::at(text, offset(text, part) + part.find(&quoted).unwrap_or(0))
    }
}

/// Returns the byte offset of a slice within the text that it borrows from.
pub(crate) fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|at| *at <= text.len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::SourcePos;

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
}
