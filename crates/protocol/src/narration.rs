//! Descriptions of step actions and of changes between observations, shared by all code that narrates an attempt from its
//! trace or its conversation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Action, ActionOutcome, Outline, OutlineNode, State, StepAction};

/// Maximum number of lines of changes per step.
const CHANGED_LINES: usize = 40;
/// Roles of what opens and closes.
const WINDOWS: &[&str] =
    &["window", "frame", "dialog", "alert", "alertdialog", "file_chooser", "notification"];
/// Roles of items of lists and tables.
const ITEMS: &[&str] = &["cell", "gridcell", "row", "listitem", "treeitem", "option"];
/// The mark of an element that cannot be used now.
const GREY: &str = " [disabled]";

impl StepAction {
    /// Creates a record of an action and its outcome, without a target.
    pub fn of<P>(asked: &Action<P>, outcome: &ActionOutcome) -> Self {
        let outcome = match outcome {
            ActionOutcome::Done { .. } => "done".to_owned(),
            ActionOutcome::Failed { problem } => format!("failed: {problem}"),
            ActionOutcome::NotExecuted => "not executed".to_owned(),
        };
        Self { action: asked.describe(), role: None, name: None, at: None, near: None, outcome }
    }
}

impl Outline {
    /// Describes the elements without points and references, so that two observations of the same screen are equal.
    pub fn describe(&self) -> Vec<String> {
        self.nodes.iter().map(line).collect()
    }
}

fn line(node: &OutlineNode) -> String {
    let mut line = node.role.clone();
    if !node.name.is_empty() {
        let _ = write!(line, " {:?}", node.name);
    }
    if let Some(value) = &node.value {
        let _ = write!(line, " = {value:?}");
    }
    let told = |state: &&State| {
        matches!(
            state,
            State::Checked | State::Unchecked | State::Selected | State::Expanded | State::Disabled
        )
    };
    for state in node.states.iter().filter(told) {
        let _ = write!(line, " [{}]", format!("{state:?}").to_lowercase());
    }
    line
}

/// Returns the differences between two observations as lines of [`Outline::describe`]: first the added lines (`+`),
/// then the removed ones (`-`), with repetitions; 40 lines at most, and a last line that counts the others
/// ([`more_lines_changed`]). `touched` names the elements that were acted on in between, as `role "name"`.
///
/// Among the added and among the removed lines, those that tell most come first: windows, dialogs and alerts, what was
/// acted on, what changed in place, what is new or gone, items of lists, and last what turned grey.
pub fn changes(before: Option<&[String]>, after: &[String], touched: &[String]) -> Vec<String> {
    let before = before.unwrap_or_default();
    let (mut came, mut gone) = (missing(before, after, "+"), missing(after, before, "-"));
    let ranked = |lines: &[String], others: &[String]| {
        let mut ranked: Vec<(u8, String)> =
            lines.iter().map(|line| (rank(line, others, touched), line.clone())).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, line)| line).collect::<Vec<_>>()
    };
    (came, gone) = (ranked(&came, &gone), ranked(&gone, &came));
    let all = came.len() + gone.len();
    came.truncate(CHANGED_LINES.saturating_sub(gone.len().min(CHANGED_LINES / 3)));
    gone.truncate(CHANGED_LINES - came.len());
    let more = all - came.len() - gone.len();
    came.extend(gone);
    came.extend((more > 0).then(|| more_lines_changed(more)));
    came
}

/// The line that counts the changed lines that are not listed.
pub fn more_lines_changed(count: usize) -> String {
    format!("[{count} more lines changed]")
}

/// Reads a line of [`more_lines_changed`].
pub fn count_of_more_lines(line: &str) -> Option<usize> {
    line.strip_prefix('[')?.strip_suffix(" more lines changed]")?.parse().ok()
}

/// The lines of one observation that the other lacks, with a sign before them.
fn missing(from: &[String], of: &[String], sign: &str) -> Vec<String> {
    let mut left: BTreeMap<&String, usize> = BTreeMap::new();
    for line in from {
        *left.entry(line).or_default() += 1;
    }
    let mut missing = Vec::new();
    for line in of {
        match left.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => missing.push(format!("{sign} {line}")),
        }
    }
    missing
}

/// Returns the rank of a changed line among its like: what opened or closed tells most, what turned grey tells least.
fn rank(line: &str, others: &[String], touched: &[String]) -> u8 {
    let line = unsigned(line);
    let element = element(line);
    let role = element.split_whitespace().next().unwrap_or_default();
    let is_other = |wanted: &dyn Fn(&str) -> bool| others.iter().any(|other| wanted(unsigned(other)));
    if WINDOWS.contains(&role) {
        0
    } else if touched.iter().any(|one| one == element) {
        1
    } else if is_other(&|other| {
        line.strip_suffix(GREY) == Some(other) || other.strip_suffix(GREY) == Some(line)
    }) {
        5
    } else if is_other(&|other| self::element(other) == element) {
        2
    } else if ITEMS.contains(&role) {
        4
    } else {
        3
    }
}

fn unsigned(line: &str) -> &str {
    line.strip_prefix("+ ").or_else(|| line.strip_prefix("- ")).unwrap_or(line)
}

/// The role and name that a line begins with.
fn element(line: &str) -> &str {
    let Some((role, rest)) = line.split_once(' ').filter(|(_, rest)| rest.starts_with('"')) else {
        return line.split(' ').next().unwrap_or_default();
    };
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(line, |(end, _)| &line[..=role.len() + 1 + end])
}

#[cfg(test)]
mod tests {
    use super::{changes, count_of_more_lines};
    use crate::{Action, ScreenPoint};

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn what_opened_comes_first_and_what_turned_grey_comes_last() {
        let before = lines(&["window \"Sheet\"", "button \"Bold\"", "button \"Cut\" [disabled]"]);
        let after = lines(&[
            "window \"Sheet\"",
            "button \"Bold\" [disabled]",
            "button \"Cut\" [disabled]",
            "button \"New\" [disabled]",
            "dialog \"Sort\"",
        ]);
        assert_eq!(
            changes(Some(&before), &after, &[]),
            [
                "+ dialog \"Sort\"",
                "+ button \"New\" [disabled]",
                "+ button \"Bold\" [disabled]",
                "- button \"Bold\""
            ]
        );
    }

    #[test]
    fn a_dialog_is_told_however_much_else_changed() {
        let mut cells: Vec<String> = (0..200).map(|number| format!("cell \"{number}\"")).collect();
        cells.push("dialog \"Save As\"".to_owned());
        let came = changes(Some(&[]), &cells, &[]);
        assert_eq!((came.len(), came[0].as_str()), (41, "+ dialog \"Save As\""));
        assert_eq!(
            (came[40].as_str(), count_of_more_lines(&came[40])),
            ("[161 more lines changed]", Some(161))
        );
        let both = changes(Some(&cells), &["window \"Sheet\"".to_owned()], &[]);
        assert_eq!(both[..2], ["+ window \"Sheet\"", "- dialog \"Save As\""], "its end is told as well");
    }

    #[test]
    fn what_was_acted_on_and_what_changed_in_place_come_before_lists() {
        let before = lines(&["textbox \"Name\"", "tab \"Style \\\"A\\\"\" [selected]", "button \"Cut\""]);
        let after = lines(&[
            "cell \"A1\"",
            "button \"New\"",
            "button \"Cut\" [disabled]",
            "tab \"Style \\\"A\\\"\"",
            "textbox \"Name\" = \"x y\"",
        ]);
        let came = changes(Some(&before), &after, &lines(&["textbox \"Name\""]));
        let expected = [
            "+ textbox \"Name\" = \"x y\"",
            "+ tab \"Style \\\"A\\\"\"",
            "+ button \"New\"",
            "+ cell \"A1\"",
            "+ button \"Cut\" [disabled]",
            "- textbox \"Name\"",
            "- tab \"Style \\\"A\\\"\" [selected]",
            "- button \"Cut\"",
        ];
        assert_eq!(came, expected);
    }

    #[test]
    fn a_wait_tells_its_duration() {
        let wait = |ms| Action::<ScreenPoint>::Wait { ms }.describe();
        assert_eq!([wait(2000), wait(500)], ["wait 2 s", "wait 0.5 s"]);
    }
}
