//! Descriptions of step actions and of changes between observations, shared by all code that narrates an attempt from its
//! trace or its conversation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Action, ActionOutcome, Outline, OutlineNode, State, StepAction};

/// Maximum number of lines of changes per step.
const CHANGED_LINES: usize = 40;

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
/// then the removed ones (`-`), in order and with repetitions; 40 lines at most. Of the added lines, new windows and
/// dialogs come first, and elements that only changed to disabled come last.
pub fn changes(before: Option<&[String]>, after: &[String]) -> Vec<String> {
    let before = before.unwrap_or_default();
    let missing_from = |from: &[String], of: &[String], sign: &str| {
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
    };
    let mut changed = missing_from(before, after, "+");
    let gone = missing_from(after, before, "-");
    changed.sort_by_key(|line| added_rank(line, &gone));
    let room = CHANGED_LINES.saturating_sub(gone.len().min(CHANGED_LINES / 3));
    changed.truncate(room);
    changed.extend(gone);
    changed.truncate(CHANGED_LINES);
    changed
}

/// Returns the rank of an added line among the added lines: what opened tells most, what turned grey tells least.
fn added_rank(line: &str, gone: &[String]) -> u8 {
    let line = line.strip_prefix("+ ").unwrap_or(line);
    let role = line.split_whitespace().next().unwrap_or_default();
    if matches!(role, "window" | "frame" | "dialog" | "alert" | "alertdialog" | "file_chooser") {
        return 0;
    }
    let turned_grey = line
        .strip_suffix(" [disabled]")
        .is_some_and(|enabled| gone.iter().any(|line| line.strip_prefix("- ") == Some(enabled)));
    if turned_grey { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::changes;
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
            changes(Some(&before), &after),
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
        let mut after: Vec<String> = (0..200).map(|number| format!("cell \"{number}\"")).collect();
        after.push("dialog \"Save As\"".to_owned());
        let changed = changes(Some(&[]), &after);
        assert_eq!((changed.len(), changed[0].as_str()), (40, "+ dialog \"Save As\""));
    }

    #[test]
    fn a_wait_tells_its_duration() {
        let wait = |ms| Action::<ScreenPoint>::Wait { ms }.describe();
        assert_eq!([wait(2000), wait(500)], ["wait 2 s", "wait 0.5 s"]);
    }
}
