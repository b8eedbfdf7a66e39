//! The words of an attempt by where they come from: what was done, what was first said or typed by the agent, what stood on
//! the screen, and what tools answered. What the agent repeats after it stood there is nobody's own: a page can be
//! repeated, and does not become an act by it.

use std::collections::BTreeSet;

use apprentice_protocol::{StepAction, Trajectory, TrajectoryStep};
use apprentice_wording::stem;

use crate::sentence_origins::listed_controls::{MAX_CONTROL_NAME_CHARS, control_name};

/// Roles of elements whose name is a text on a page, and does not say what an act on them does.
const TEXT_ROLES: [&str; 12] = [
    "alert",
    "article",
    "document",
    "heading",
    "label",
    "list item",
    "listitem",
    "paragraph",
    "section",
    "static",
    "statictext",
    "text",
];

/// Words in order, of one text.
pub(crate) type Words = Vec<String>;

/// The words of one step, or of several.
#[derive(Clone, Default)]
pub(crate) struct AttemptWords<'a> {
    /// The instruction, actions with the names of their targets, controls whose state they changed, and what the agent
    /// typed and had not read before.
    pub(crate) done: Vec<Words>,
    /// Words that the agent said and had not read before.
    pub(crate) said: Vec<Words>,
    /// Words on the screen.
    pub(crate) screen: Vec<Words>,
    /// Words in the results of tools.
    pub(crate) tools: Vec<Words>,
    /// Names of controls.
    pub(crate) controls: BTreeSet<&'a str>,
}

impl<'a> AttemptWords<'a> {
    /// Returns the words of every step of an attempt.
    pub(crate) fn of_steps(attempt: &'a Trajectory) -> Vec<Self> {
        let mut read = BTreeSet::new();
        let step = |(index, step)| Self::of_step(step, attempt.steps.get(index + 1), &mut read);
        attempt.steps.iter().enumerate().map(step).collect()
    }

    /// Returns the words of the instruction.
    pub(crate) fn of_goal(attempt: &Trajectory) -> Self {
        Self { done: vec![tokens(&attempt.goal)], ..Self::default() }
    }

    /// Returns the words of one step. `read` holds what the agent had read before it, and then also what it reads in it.
    fn of_step(
        step: &'a TrajectoryStep,
        next: Option<&'a TrajectoryStep>,
        read: &mut BTreeSet<String>,
    ) -> Self {
        let mut words = Self::default();
        words.see(step);
        read.extend(words.screen.iter().flatten().cloned());
        words.said = step.say.iter().chain(&step.finish).flat_map(|text| unread(text, read)).collect();
        for action in step.actions.iter().filter(|action| action.outcome == "done") {
            let (act, typed) = action.action.split_once('"').unwrap_or((&action.action, ""));
            let target = target_name(action).or_else(|| focused_name(step, action)).unwrap_or_default();
            words.done.push(tokens(&format!("{act} {target}")));
            // An option is chosen from those that stand there, as a control is.
            if act == "select " && typed.chars().count() <= MAX_CONTROL_NAME_CHARS {
                words.done.push(tokens(typed));
            } else {
                words.done.extend(unread(typed, read));
            }
            words.screen.extend(action.near.iter().map(|near| tokens(near)));
        }
        words.done.extend(next.into_iter().flat_map(changed_controls).map(tokens));
        words.tools = step.tools.iter().flat_map(|tool| tool.answer.lines()).map(tokens).collect();
        read.extend(words.tools.iter().flatten().cloned());
        words
    }

    /// Adds what stood on the screen at the start of a step.
    pub(crate) fn see(&mut self, step: &'a TrajectoryStep) {
        self.controls.extend(step.seen.changed.iter().filter_map(|line| control_name(line)));
        let seen = [Some(&step.seen.title), step.seen.focused.as_ref()];
        self.screen.extend(seen.into_iter().flatten().chain(&step.seen.changed).map(|text| tokens(text)));
    }

    /// Adds the words of another step.
    pub(crate) fn add(&mut self, other: &Self) {
        self.done.extend(other.done.iter().cloned());
        self.said.extend(other.said.iter().cloned());
        self.screen.extend(other.screen.iter().cloned());
        self.tools.extend(other.tools.iter().cloned());
        self.controls.extend(&other.controls);
    }
}

/// Returns the name of an action's target, as far as it says what the action does.
fn target_name(action: &StepAction) -> Option<&str> {
    let name = action.name.as_deref()?;
    is_name_of_control(action.role.as_deref().unwrap_or_default(), name).then_some(name)
}

/// Returns the name of the focused element, for an action by keyboard that names no target.
fn focused_name<'a>(step: &'a TrajectoryStep, action: &StepAction) -> Option<&'a str> {
    let by_keyboard = action.action.starts_with("key ") || action.action.starts_with("type ");
    let (role, name) = role_and_name(step.seen.focused.as_deref().filter(|_| by_keyboard)?)?;
    (action.name.is_none() && is_name_of_control(role, name)).then_some(name)
}

/// Returns the names of controls that show another state than before.
fn changed_controls(step: &TrajectoryStep) -> impl Iterator<Item = &str> {
    let was = |role: &str, name: &str| {
        let gone = step.seen.changed.iter().filter_map(|line| line.strip_prefix("- "));
        gone.filter_map(role_and_name).any(|control| control == (role, name))
    };
    let added = step.seen.changed.iter().filter_map(|line| line.strip_prefix("+ "));
    added
        .filter_map(role_and_name)
        .filter(move |(role, name)| is_name_of_control(role, name) && was(role, name))
        .map(|(_, name)| name)
}

/// Splits the line of an element, `role "name" …`.
fn role_and_name(line: &str) -> Option<(&str, &str)> {
    let (role, rest) = line.split_once(" \"")?;
    Some((role, &rest[..rest.find('"')?]))
}

fn is_name_of_control(role: &str, name: &str) -> bool {
    !TEXT_ROLES.contains(&role) && name.chars().count() <= MAX_CONTROL_NAME_CHARS
}

/// Returns the parts of a text that consist of words that were not read before.
fn unread(text: &str, read: &BTreeSet<String>) -> Vec<Words> {
    let words = tokens(text);
    let own = words.split(|word| read.contains(word)).filter(|part| !part.is_empty());
    own.map(<[String]>::to_vec).collect()
}

/// Returns the stems of a text's words, in order. Each letter of a script without spaces is a word.
pub(crate) fn tokens(text: &str) -> Words {
    let mut all = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.chars().any(|c| u32::from(c) >= 0x3040) {
            all.extend(word.chars().map(String::from));
        } else {
            all.push(stem(&word.to_lowercase()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Seen, StepId};

    use super::*;

    fn act(action: &str, role: &str, name: &str) -> StepAction {
        StepAction {
            action: action.into(),
            role: Some(role.into()),
            name: Some(name.into()),
            at: None,
            near: None,
            outcome: "done".into(),
        }
    }

    #[test]
    fn a_click_on_a_text_of_a_page_does_not_do_what_the_text_says() {
        for control in ["button", "menu item", "check box", "link", "textbox", "tab", "row"] {
            assert_eq!(target_name(&act("click", control, "Export")), Some("Export"), "{control}");
        }
        let on_a_page = ["heading", "paragraph", "section", "article", "document", "alert"];
        let of_toolkits = ["text", "static", "statictext", "label", "list item", "listitem"];
        for text in on_a_page.iter().chain(&of_toolkits) {
            assert_eq!(target_name(&act("click", text, "Export")), None, "{text}");
        }
    }

    #[test]
    fn a_name_may_have_as_many_characters_as_names_of_controls_have() {
        let (longest, longer) = ("ü".repeat(MAX_CONTROL_NAME_CHARS), "ü".repeat(MAX_CONTROL_NAME_CHARS + 1));
        assert_eq!(target_name(&act("click", "button", &longest)), Some(longest.as_str()));
        assert_eq!(target_name(&act("click", "button", &longer)), None);
        // What was chosen stood there before, so only a choice makes these words done.
        let chosen = |option: &str| {
            let step = TrajectoryStep {
                actions: vec![act(&format!("select \"{option}"), "combobox", "Kind")],
                ..TrajectoryStep::new(StepId(1), Seen::default())
            };
            let mut read = BTreeSet::from([option.to_owned()]);
            AttemptWords::of_step(&step, None, &mut read).done.contains(&vec![option.to_owned()])
        };
        assert!(chosen(&longest) && !chosen(&longer));
    }
}
