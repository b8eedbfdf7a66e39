//! The script format of solutions and near misses: targets by role and name, keys and text. Commands, file writes
//! and screen points are rejected, because a solution must use the interface.
//!
//! - `{"click": {"role": "menuitem", "name": "Save"}}`, also `double_click`, `right_click`, `hover`; a target
//!   may say `nth` (from 0), `in` (a target that must enclose it) and `hold` (modifiers held meanwhile);
//! - `{"key": "ctrl+s"}`, `{"type": "text"}`, `{"scroll": 3}` (notches down, negative is up);
//! - `{"select": {"role": …, "name": …}, "option": "text"}`;
//! - `{"drag": target, "to": target}`, from the middle of one element to that of the other;
//! - `{"wait_for": target}` and `{"wait_gone": target}`: conditions of the following action;
//! - `{"answer": "text"}` and `{"give_up": "why"}` as the last step, instead of finishing as done.

use apprentice_protocol::{Chord, OutlineNode};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The maximum number of actions in a solution.
pub const SOLUTION_LIMIT: usize = 60;

/// The verbs of steps.
pub const VERBS: [&str; 13] = [
    "click",
    "double_click",
    "right_click",
    "hover",
    "select",
    "drag",
    "key",
    "type",
    "scroll",
    "wait_for",
    "wait_gone",
    "answer",
    "give_up",
];

/// An element of the outline, selected by role and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetSelector {
    /// The element's role; any when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    /// The element's name, ignoring surrounding spaces and trailing dots; any when `None`.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// The index among the matching elements, from 0.
    #[serde(default)]
    pub(super) nth: usize,
    /// An ancestor that must enclose the element.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub(super) within: Option<Box<Self>>,
    /// Modifiers held during the click.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<Chord>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
struct StepJson {
    click: Option<TargetSelector>,
    double_click: Option<TargetSelector>,
    right_click: Option<TargetSelector>,
    hover: Option<TargetSelector>,
    select: Option<TargetSelector>,
    #[serde(default, deserialize_with = "text")]
    option: Option<String>,
    drag: Option<TargetSelector>,
    to: Option<TargetSelector>,
    key: Option<Chord>,
    #[serde(default, deserialize_with = "text")]
    r#type: Option<String>,
    scroll: Option<i32>,
    wait_for: Option<TargetSelector>,
    wait_gone: Option<TargetSelector>,
    #[serde(default, deserialize_with = "text")]
    answer: Option<String>,
    #[serde(default, deserialize_with = "text")]
    give_up: Option<String>,
}

/// Reads a text. A placeholder that stands alone has become its drawn value, which may be a number.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a text or a number")]
    enum Text {
        Text(String),
        Number(serde_json::Number),
    }
    Ok(Some(match Text::deserialize(deserializer)? {
        Text::Text(text) => text,
        Text::Number(number) => number.to_string(),
    }))
}

/// One action of a script.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScriptAction {
    Click(TargetSelector),
    DoubleClick(TargetSelector),
    RightClick(TargetSelector),
    Hover(TargetSelector),
    Select(TargetSelector, String),
    Drag(TargetSelector, TargetSelector),
    Key(Chord),
    Type(String),
    Scroll(i32),
}

/// The end of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptEnd {
    Done,
    Answer(String),
    GiveUp(String),
}

/// A precondition of an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Present(TargetSelector),
    Gone(TargetSelector),
}

/// A parsed script: actions with their preconditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub(super) acts: Vec<(Vec<Condition>, ScriptAction)>,
    /// Preconditions of the end.
    pub(super) last: Vec<Condition>,
    pub(super) end: ScriptEnd,
}

/// The reason a script cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A step has an unknown form.
    #[error(
        "step {index} must be one of click, double_click, right_click, hover, select with option, drag with to, key, type, scroll, wait_for, wait_gone, answer, give_up; found {step}"
    )]
    Form {
        /// The step's index in the list.
        index: usize,
        /// The step's JSON.
        step: Value,
    },
    /// A step has a known verb and a value of the wrong form.
    #[error("step {index}: {why}; found {step}")]
    Value {
        /// The step's index in the list.
        index: usize,
        /// What was expected.
        why: String,
        /// The step's JSON.
        step: Value,
    },
    /// A step follows the end of the script.
    #[error("step {0} comes after an answer or a give_up")]
    AfterEnd(usize),
    /// The script has too many actions.
    #[error("{0} actions exceed the limit of {SOLUTION_LIMIT}")]
    TooLong(usize),
}

fn is_known(key: &str) -> bool {
    VERBS.contains(&key) || ["option", "to"].contains(&key)
}

/// The number of fields of a step: a verb, and for some its second part.
fn fields(step: &serde_json::Map<String, Value>) -> usize {
    if step.contains_key("select") || step.contains_key("drag") { 2 } else { 1 }
}

impl Script {
    /// Parses a list of steps.
    ///
    /// # Errors
    ///
    /// Fails with the step that cannot be read, that comes after the end, or that is beyond the limit of actions.
    pub fn read(steps: &[Value]) -> Result<Self, ScriptError> {
        let mut script = Self { acts: Vec::new(), last: Vec::new(), end: ScriptEnd::Done };
        for (index, step) in steps.iter().enumerate() {
            if script.end != ScriptEnd::Done {
                return Err(ScriptError::AfterEnd(index));
            }
            let wrong = || ScriptError::Form { index, step: step.clone() };
            if step.as_object().is_none_or(|step| step.len() != fields(step)) {
                return Err(wrong());
            }
            let written: StepJson = serde_json::from_value(step.clone()).map_err(|error| {
                if step.as_object().is_some_and(|step| step.keys().all(|key| is_known(key))) {
                    ScriptError::Value { index, why: error.to_string(), step: step.clone() }
                } else {
                    wrong()
                }
            })?;
            script.push(written).ok_or_else(wrong)?;
        }
        if script.acts.len() > SOLUTION_LIMIT {
            return Err(ScriptError::TooLong(script.acts.len()));
        }
        Ok(script)
    }

    fn push(&mut self, step: StepJson) -> Option<()> {
        let act = match step {
            StepJson { wait_for: Some(target), .. } => {
                self.last.push(Condition::Present(target));
                return Some(());
            }
            StepJson { wait_gone: Some(target), .. } => {
                self.last.push(Condition::Gone(target));
                return Some(());
            }
            StepJson { answer: Some(text), .. } => {
                self.end = ScriptEnd::Answer(text);
                return Some(());
            }
            StepJson { give_up: Some(reason), .. } => {
                self.end = ScriptEnd::GiveUp(reason);
                return Some(());
            }
            StepJson { click: Some(target), .. } => ScriptAction::Click(target),
            StepJson { double_click: Some(target), .. } => ScriptAction::DoubleClick(target),
            StepJson { right_click: Some(target), .. } => ScriptAction::RightClick(target),
            StepJson { hover: Some(target), .. } => ScriptAction::Hover(target),
            StepJson { select: Some(target), option: Some(option), .. } => {
                ScriptAction::Select(target, option)
            }
            StepJson { drag: Some(from), to: Some(to), .. } => ScriptAction::Drag(from, to),
            StepJson { key: Some(chord), .. } => ScriptAction::Key(chord),
            StepJson { r#type: Some(text), .. } => ScriptAction::Type(text),
            StepJson { scroll: Some(notches), .. } => ScriptAction::Scroll(notches),
            _ => return None,
        };
        let conditions = std::mem::take(&mut self.last);
        self.acts.push((conditions, act));
        Some(())
    }
}

impl TargetSelector {
    /// Returns the matching element among those of an outline.
    pub(super) fn find<'a>(&self, nodes: &'a [OutlineNode]) -> Option<&'a OutlineNode> {
        let fitting = nodes
            .iter()
            .enumerate()
            .filter(|(at, node)| self.fits(node) && self.has_matching_ancestor(nodes, *at));
        fitting.map(|(_, node)| node).nth(self.nth)
    }

    fn fits(&self, node: &OutlineNode) -> bool {
        self.role.as_deref().is_none_or(|role| role.replace(' ', "_") == node.role)
            && self.name.as_deref().is_none_or(|name| plain(name) == plain(&node.name))
    }

    /// Returns whether an ancestor matches `within`. Ancestors are the nearest preceding lines with less indent.
    fn has_matching_ancestor(&self, nodes: &[OutlineNode], at: usize) -> bool {
        let Some(within) = &self.within else { return true };
        let mut depth = nodes[at].depth;
        for node in nodes[..at].iter().rev() {
            if node.depth < depth {
                depth = node.depth;
                if within.fits(node) {
                    return true;
                }
            }
        }
        false
    }

    /// Describes the target for messages.
    pub(super) fn words(&self) -> String {
        let role = self.role.as_deref().unwrap_or("element");
        let name = self.name.as_deref().map_or(String::new(), |name| format!(" {name:?}"));
        let nth = if self.nth == 0 { String::new() } else { format!(" number {}", self.nth) };
        let within = self.within.as_ref().map_or(String::new(), |within| format!(" in {}", within.words()));
        format!("{role}{name}{nth}{within}")
    }
}

/// Normalises a name: menus end some names with dots, and toolkits pad some with spaces.
fn plain(name: &str) -> String {
    let trimmed = name.trim().trim_end_matches("...").trim_end_matches('…');
    trimmed.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Outline;
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    use super::{Condition, Script, TargetSelector};

    fn steps(value: Value) -> Vec<Value> {
        if let Value::Array(steps) = value { steps } else { Vec::new() }
    }

    #[test]
    fn waits_belong_to_the_action_that_follows() {
        let script = Script::read(&steps(json!([
            {"wait_for": {"name": "A"}}, {"key": "ctrl+s"}, {"wait_gone": {"name": "B"}}
        ])))
        .expect("reads");
        assert_eq!(script.acts.len(), 1);
        assert!(matches!(script.acts[0].0[..], [Condition::Present(_)]));
        assert!(matches!(script.last[..], [Condition::Gone(_)]));
    }

    #[test]
    fn a_number_stands_for_its_text() {
        let read = |value| Script::read(&steps(value)).expect("reads").acts;
        assert_eq!(
            read(json!([{"type": 37}, {"click": {"name": 5}}, {"select": {"name": "A"}, "option": 7}])),
            read(json!([{"type": "37"}, {"click": {"name": "5"}}, {"select": {"name": "A"}, "option": "7"}]))
        );
    }

    #[test]
    fn a_value_of_the_wrong_form_is_told_beside_what_was_expected() {
        let error = |value| Script::read(&steps(value)).expect_err("is wrong").to_string();
        assert_eq!(
            error(json!([{"key": "a"}, {"type": ["x"]}])),
            "step 1: a text or a number; found {\"type\":[\"x\"]}"
        );
        assert!(error(json!([{"scroll": "three"}])).contains("invalid type: string \"three\", expected i32"));
        assert!(error(json!([{"typ": "x"}])).contains("must be one of click"));
    }

    #[test]
    fn other_forms_are_refused() {
        for step in [
            json!({"run": "ls"}),
            json!({"click": {"x": 1}}),
            json!({"key": "nokey"}),
            json!({"select": {"name": "A"}}),
            json!({"drag": {"name": "A"}, "option": "B"}),
            json!({"key": "a", "type": "b"}),
        ] {
            assert!(Script::read(std::slice::from_ref(&step)).is_err(), "{step}");
        }
        assert!(Script::read(&steps(json!([{"answer": "x"}, {"key": "a"}]))).is_err());
        assert!(Script::read(&vec![json!({"key": "a"}); 61]).is_err());
    }

    #[test]
    fn targets_are_found_by_role_name_place_and_surroundings() {
        let outline = Outline::parse(
            "window \"Main\" #n1\n  button \"Close\" #n2\n  menuitem \"Save As...   \" #n3\nwindow \"Ask\" #n4\n  group \"Row\" #n5\n    button \"Close\" #n6\n",
        );
        let find = |target: Value| {
            let target = TargetSelector::deserialize(target).expect("reads");
            target.find(&outline.nodes).map(|node| node.id.0.clone())
        };
        assert_eq!(find(json!({"name": "save as"})), Some("n3".into()));
        assert_eq!(find(json!({"role": "button", "name": "Close", "nth": 1})), Some("n6".into()));
        assert_eq!(find(json!({"name": "Close", "in": {"name": "Ask"}})), Some("n6".into()));
        assert_eq!(find(json!({"name": "Close", "in": {"name": "Nothing"}})), None);
        assert_eq!(find(json!({"role": "link"})), None);
    }
}
