//! Descriptions of actions and of changes between observations, shared by all code that narrates an attempt from its
//! trace or its conversation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Action, ActionOutcome, Button, History, Outline, OutlineNode, State, StepAction, TabAction};

/// Maximum number of lines of changes per step.
const CHANGED_LINES: usize = 40;
/// Maximum number of characters shown of a typed text.
const TYPED: usize = 80;

impl<P> Action<P> {
    /// Describes the action in a few words: `double click`, `type "abc"`, `key ctrl+s`.
    pub fn describe(&self) -> String {
        let quoted = |text: &str| {
            let cut: String = text.chars().take(TYPED).collect();
            format!("{cut:?}")
        };
        match self {
            Self::Click { button, count, hold, .. } => {
                let held = hold.as_ref().map(|hold| format!(" holding {hold}")).unwrap_or_default();
                let times = match count {
                    0 | 1 => "",
                    2 => "double ",
                    _ => "triple ",
                };
                format!("{times}{}click{held}", side(*button))
            }
            Self::Move { .. } => "move the pointer".to_owned(),
            Self::Press { button, .. } => format!("{}press", side(*button)),
            Self::Release { button, .. } => format!("{}release", side(*button)),
            Self::Drag { button, .. } => format!("{}drag", side(*button)),
            Self::Scroll { dx, dy, .. } => match (dx.signum(), dy.signum()) {
                (0, -1) => "scroll up".to_owned(),
                (0, _) => "scroll down".to_owned(),
                (-1, _) => "scroll left".to_owned(),
                (_, _) => "scroll right".to_owned(),
            },
            Self::Type { text } => format!("type {}", quoted(text)),
            Self::Key { chord, .. } => format!("key {chord}"),
            Self::Wait { .. } => "wait".to_owned(),
            Self::Screenshot => "screenshot".to_owned(),
            Self::Zoom { .. } => "zoom".to_owned(),
            Self::Select { option, .. } => {
                format!("select {}", quoted(option))
            }
            Self::Navigate { url } => format!("navigate {}", quoted(url)),
            Self::History { go } => match go {
                History::Back => "go back".to_owned(),
                History::Forward => "go forward".to_owned(),
                History::Reload => "reload".to_owned(),
            },
            Self::Tab { tab } => match tab {
                TabAction::Open { .. } => "open a tab".to_owned(),
                TabAction::Switch { .. } => "switch to another tab".to_owned(),
                TabAction::Close { .. } => "close a tab".to_owned(),
            },
            Self::Dialog { accept: true, .. } => "accept the dialog".to_owned(),
            Self::Dialog { accept: false, .. } => "dismiss the dialog".to_owned(),
        }
    }
}

fn side(button: Button) -> &'static str {
    match button {
        Button::Left => "",
        Button::Middle => "middle ",
        Button::Right => "right ",
    }
}

impl StepAction {
    /// Creates a record of an action and its outcome, without a target.
    pub fn of<P>(asked: &Action<P>, outcome: &ActionOutcome) -> Self {
        let outcome = match outcome {
            ActionOutcome::Done { .. } => "done".to_owned(),
            ActionOutcome::Failed { problem } => format!("failed: {problem}"),
            ActionOutcome::NotExecuted => "not executed".to_owned(),
        };
        Self { action: asked.describe(), role: None, name: None, outcome }
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
/// then the removed ones (`-`), in order and with repetitions; 40 lines at most.
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
    let room = CHANGED_LINES.saturating_sub(gone.len().min(CHANGED_LINES / 3));
    changed.truncate(room);
    changed.extend(gone);
    changed.truncate(CHANGED_LINES);
    changed
}
