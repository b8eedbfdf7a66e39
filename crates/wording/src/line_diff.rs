//! The differences between two texts, line by line.
//!
//! `similar`'s own types for texts compile six algorithms for four kinds of lines each. Here lines are numbers and the algorithm is
//! fixed, so that one is compiled, for all who ask.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

/// Lines around a change that a unified difference shows.
const CONTEXT_LINES: usize = 3;

/// The fate of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    /// Both texts have it.
    Kept,
    /// Only the earlier text has it.
    Removed,
    /// Only the later text has it.
    Added,
}

impl LineChange {
    /// The sign before such a line.
    pub fn sign(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A line of either text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// The fate of the line.
    pub change: LineChange,
    /// Text of the line, with its line break.
    pub text: &'a str,
    /// Index of the line in the earlier text, from 0; `None` for an added line.
    pub before: Option<usize>,
}

/// The differences between two texts.
pub struct LineDiff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    changes: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    /// Compares two texts.
    pub fn of(old: &'a str, new: &'a str) -> Self {
        Self::compare(lines(old), lines(new), None)
    }

    /// Compares two texts; after the time, what is not compared yet counts as replaced.
    #[expect(
        clippy::disallowed_methods,
        reason = "similar takes its deadline as a moment of the system's clock"
    )]
    pub fn within(limit: Duration, old: &'a str, new: &'a str) -> Self {
        Self::compare(lines(old), lines(new), Instant::now().checked_add(limit))
    }

    /// Compares two lists of lines.
    pub fn of_lines(old: Vec<&'a str>, new: Vec<&'a str>) -> Self {
        Self::compare(old, new, None)
    }

    fn compare(old: Vec<&'a str>, new: Vec<&'a str>, deadline: Option<Instant>) -> Self {
        let mut number_of: HashMap<&str, usize> = HashMap::new();
        let mut numbers = |lines: &[&'a str]| -> Vec<usize> {
            let number = |line: &&'a str| {
                let next = number_of.len();
                *number_of.entry(line).or_insert(next)
            };
            lines.iter().map(number).collect()
        };
        let (before, after) = (numbers(&old), numbers(&new));
        let changes = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, deadline);
        Self { old, new, changes }
    }

    /// All lines of both texts.
    pub fn lines(&self) -> Vec<DiffLine<'a>> {
        self.lines_of(&self.changes)
    }

    /// The lines that differ, each with so many lines around it; lines that stand near each other are one group.
    pub fn groups(&self, around: usize) -> Vec<Vec<DiffLine<'a>>> {
        group_diff_ops(self.changes.clone(), around).iter().map(|group| self.lines_of(group)).collect()
    }

    /// The difference in unified form; empty where the texts are equal.
    pub fn unified(&self, old_name: &str, new_name: &str) -> String {
        let mut text = String::new();
        for group in group_diff_ops(self.changes.clone(), CONTEXT_LINES) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            if text.is_empty() {
                let _ = writeln!(text, "--- {old_name}\n+++ {new_name}");
            }
            let old = hunk(first.old_range().start, last.old_range().end);
            let new = hunk(first.new_range().start, last.new_range().end);
            let _ = writeln!(text, "@@ -{old} +{new} @@");
            for line in self.lines_of(&group) {
                let _ = write!(text, "{}{}", line.change.sign(), line.text);
                if !line.text.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    fn lines_of(&self, changes: &[DiffOp]) -> Vec<DiffLine<'a>> {
        let mut found = Vec::new();
        for operation in changes {
            let is_kept = matches!(operation, DiffOp::Equal { .. });
            let change = if is_kept { LineChange::Kept } else { LineChange::Removed };
            found.extend(operation.old_range().map(|at| DiffLine {
                change,
                text: self.old[at],
                before: Some(at),
            }));
            if !is_kept {
                let change = LineChange::Added;
                found.extend(operation.new_range().map(|at| DiffLine {
                    change,
                    text: self.new[at],
                    before: None,
                }));
            }
        }
        found
    }
}

/// The lines of a text, with their breaks.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A range of lines as unified differences name it: from 1, and the line before where it is empty.
fn hunk(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => (start + 1).to_string(),
        length => format!("{},{length}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LineChange, LineDiff};

    #[test]
    fn a_unified_difference_is_the_one_of_similar() {
        let long: String = (0..150).map(|line| format!("line {line}\n")).collect();
        let changed = long.replace("line 7\n", "").replace("line 70\n", "line seventy\nline 70 b\n");
        for (old, new) in [
            ("", "a\nb\n"),
            ("a\nb\n", ""),
            ("a\nb\nc\n", "a\nB\nc"),
            ("a", "a\n"),
            ("same\n", "same\n"),
            (long.as_str(), changed.as_str()),
            (changed.as_str(), long.as_str()),
        ] {
            let expected =
                similar::TextDiff::from_lines(old, new).unified_diff().header("one", "two").to_string();
            assert_eq!(LineDiff::of(old, new).unified("one", "two"), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn each_line_says_where_it_was() {
        let found = LineDiff::of_lines(vec!["a", "b", "c"], vec!["a", "x", "c"]);
        let lines: Vec<_> =
            found.lines().iter().map(|line| (line.change.sign(), line.text, line.before)).collect();
        assert_eq!(lines, [(' ', "a", Some(0)), ('-', "b", Some(1)), ('+', "x", None), (' ', "c", Some(2))]);
        assert!(LineDiff::of("a\n", "a\n").groups(3).is_empty());
    }

    #[test]
    fn without_time_everything_counts_as_replaced_and_nothing_is_lost() {
        let old: String = (0..3000).map(|line| format!("{}\n", line * 7 % 1000)).collect();
        let new: String = (0..3000).map(|line| format!("{}\n", line * 11 % 1000)).collect();
        let found = LineDiff::within(Duration::ZERO, &old, &new).lines();
        let side = |without: LineChange| -> String {
            found.iter().filter(|line| line.change != without).map(|line| line.text).collect()
        };
        assert_eq!((side(LineChange::Added), side(LineChange::Removed)), (old, new));
    }
}
