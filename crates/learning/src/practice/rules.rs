//! The rules that a proposed task must keep. They can make a proposal wait or go back, and never let one through that a
//! stricter reader would refuse.

use std::collections::BTreeSet;

use apprentice_screening::effect::{Passage, apply_rules};
use apprentice_screening::leak::{HeldOutIndex, words};
use apprentice_screening::scan;
use apprentice_skillbook::Snapshot;

use super::task::{
    CheckDoubt, CheckToMend, PracticeStart, PracticeTask, PractisedTask, StateCheck, StateCheckKind,
};

/// Longest instruction, name and text of a check, in characters.
const MAX_INSTRUCTION_CHARS: usize = 600;
const MAX_NAME_CHARS: usize = 48;
const MAX_CONTAINS_CHARS: usize = 200;
/// Fewest values of a placeholder: one to learn on, and two to try with.
const MIN_VALUES: usize = 3;
/// Words in a row from which an instruction repeats the screen.
const MIN_REPEATED_WORDS: usize = 8;
/// Share of words, in percent, from which two instructions are the same task.
const SAME_TASK_PERCENT: usize = 80;
const HOME: &str = "/home/user/";

/// The rules that a proposal is checked against.
pub struct PracticeRules<'a> {
    /// The world at the beginning.
    pub start: &'a PracticeStart,
    /// The book.
    pub book: &'a Snapshot,
    /// Tasks that were practised before.
    pub practised: &'a [PractisedTask],
    /// Index of the held-out tasks, which no task may repeat.
    pub held_out: &'a dyn HeldOutIndex,
    /// Placeholders that the start itself has.
    pub taken: &'a BTreeSet<String>,
    /// The task whose check is to be mended; `None` where a new task is asked for.
    pub mend: Option<&'a CheckToMend>,
}

/// Returns what is wrong with a proposal, each as a sentence for the model. Empty if it may be practised.
pub fn faults(task: &PracticeTask, rules: &PracticeRules<'_>) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(name_faults(task, rules));
    found.extend(value_faults(task, rules));
    found.extend(task.check.iter().flat_map(|check| check_faults(check, task)));
    found.extend(novelty_faults(task, rules));
    found.extend(feasibility_faults(task, rules));
    found.extend(harm_faults(task, rules));
    found.extend(rules.mend.iter().flat_map(|mend| mend_faults(task, mend)));
    found
}

/// Returns the faults of an answer that should be the same task with a mended check.
fn mend_faults(task: &PracticeTask, mend: &CheckToMend) -> Vec<String> {
    let identity = |task: &PracticeTask| (task.name.clone(), task.instruction.clone(), task.values.clone());
    let mut found = Vec::new();
    if identity(task) != identity(&mend.task) {
        found.push("only `check` may differ from the task of `mend`".to_owned());
    }
    match &task.check {
        None => found.push("`check` is missing; decline where no state shows it".to_owned()),
        Some(_) if mend.why == CheckDoubt::PassesUntouched && task.check == mend.task.check => {
            found.push("this check passes before anything is done; give another".to_owned());
        }
        Some(_) => {}
    }
    found
}

fn name_faults(task: &PracticeTask, rules: &PracticeRules<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let bounds = !task.name.starts_with('-') && !task.name.ends_with('-');
    if task.name.is_empty() || task.name.len() > MAX_NAME_CHARS || !task.name.chars().all(plain) || !bounds {
        found.push(format!("`name` {:?} must be lower-case words joined by hyphens", task.name));
    }
    if rules.practised.iter().any(|practised| practised.name == task.name) {
        found.push(format!("the name {:?} is taken by an earlier task", task.name));
    }
    let length = task.instruction.chars().count();
    if task.instruction.trim().is_empty() || length > MAX_INSTRUCTION_CHARS {
        found.push(format!("`instruction` has {length} characters; it needs 1 to {MAX_INSTRUCTION_CHARS}"));
    }
    found
}

/// The placeholders of a text.
fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split("{{").skip(1).filter_map(|piece| piece.split_once("}}")).map(|(name, _)| name.trim()).collect()
}

fn value_faults(task: &PracticeTask, rules: &PracticeRules<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let named: BTreeSet<&str> = task.values.iter().map(|value| value.name.as_str()).collect();
    let used = placeholders(&task.instruction);
    for name in used.difference(&named) {
        found.push(format!("`values` lacks {name:?}, which the instruction names"));
    }
    for name in named.difference(&used) {
        found.push(format!("the instruction does not name the value {{{{{name}}}}}"));
    }
    for value in &task.values {
        let different: BTreeSet<&String> = value.of.iter().filter(|text| !text.trim().is_empty()).collect();
        if different.len() < MIN_VALUES || different.len() < value.of.len() {
            found
                .push(format!("the value {:?} needs at least {MIN_VALUES} texts, all different", value.name));
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if value.name.is_empty() || !value.name.chars().all(plain) || rules.taken.contains(&value.name) {
            found.push(format!("{:?} cannot be the name of a value here", value.name));
        }
    }
    found
}

fn check_faults(check: &StateCheck, task: &PracticeTask) -> Vec<String> {
    let mut found = Vec::new();
    let length = check.contains.chars().count();
    if check.contains.trim().is_empty() || length > MAX_CONTAINS_CHARS {
        found.push(format!(
            "`contains` of the check has {length} characters; it needs 1 to {MAX_CONTAINS_CHARS}"
        ));
    }
    let mut named = placeholders(&check.contains);
    match check.kind {
        StateCheckKind::File => match check.path.as_deref() {
            Some(path) if path.starts_with(HOME) && !path.split('/').any(|part| part == "..") => {
                named.extend(placeholders(path));
            }
            Some(path) => found.push(format!(
                "the `path` of the check is {path:?}; it must be absolute, begin with {HOME} and hold no `..`, such as {:?}",
                example(path)
            )),
            None => found.push(format!("the check of a file needs a `path` that begins with {HOME}")),
        },
        StateCheckKind::Command if check.command.is_empty() => {
            found.push("the check by a command needs a `command`".to_owned());
        }
        StateCheckKind::Command => named.extend(check.command.iter().flat_map(|word| placeholders(word))),
        StateCheckKind::View => {}
    }
    let names: BTreeSet<&str> = task.values.iter().map(|value| value.name.as_str()).collect();
    for name in named.difference(&names) {
        found.push(format!("`values` lacks {name:?}, which the check names"));
    }
    if !names.is_empty() && named.is_empty() {
        found.push(
            "the check names no value, so it could not tell the task from one with other values".to_owned(),
        );
    }
    found
}

/// Returns a path as the rules want it, from one that they refuse.
fn example(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !["", "~", ".", ".."].contains(part)).collect();
    let below = parts.strip_prefix(&["home", "user"]).unwrap_or(&parts);
    format!("{HOME}{}", below.join("/"))
}

fn novelty_faults(task: &PracticeTask, rules: &PracticeRules<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let own: BTreeSet<String> = words(&task.instruction).into_iter().collect();
    for practised in rules.practised {
        let other: BTreeSet<String> = words(&practised.instruction).into_iter().collect();
        let common = own.intersection(&other).count();
        if 200 * common >= SAME_TASK_PERCENT * (own.len() + other.len()) {
            found.push(format!("it asks for nearly the same as the earlier task {:?}", practised.name));
        }
    }
    if task.new.trim().is_empty() {
        found.push("`new` must say what an agent would find out".to_owned());
    }
    if let Some(near) = task.near.as_deref().filter(|near| !near.is_empty())
        && !rules.book.skills().any(|skill| skill.id.as_str() == near)
    {
        found.push(format!("`near` names {near:?}, which is no note of `skills`"));
    }
    found
}

fn feasibility_faults(task: &PracticeTask, rules: &PracticeRules<'_>) -> Vec<String> {
    let shown = |name: &str| rules.start.elements.iter().any(|line| line.contains(name));
    let cited = task.uses.iter().filter(|name| !name.trim().is_empty());
    let (there, missing): (Vec<&String>, Vec<&String>) = cited.partition(|name| shown(name));
    match (there.is_empty(), missing.first()) {
        (false, None) => Vec::new(),
        (_, Some(missing)) => vec![format!("`uses` names {missing:?}, which is not in `start`")],
        (true, None) => vec!["`uses` must name the element of `start` that the task begins with".to_owned()],
    }
}

/// Returns the parts that would reach beyond the world, repeat a held-out task or the screen, or hold a secret or an instruction.
fn harm_faults(task: &PracticeTask, rules: &PracticeRules<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if task.outside {
        found.push("it would reach something outside the world; propose what stays inside".to_owned());
    }
    if task.undo.trim().is_empty() {
        found.push("`undo` must say how a person would undo it".to_owned());
    }
    let values = task.values.iter().flat_map(|value| &value.of).map(String::as_str);
    let text: Vec<&str> = std::iter::once(task.instruction.as_str()).chain(values).collect();
    let text = text.join("\n");
    if let Some(what) = scan(&text) {
        found.push(format!("the task cannot be given to an agent: {}", what.why()));
    }
    for finding in apply_rules(&[Passage::new("instruction", &task.instruction)]) {
        found.push(format!("it may have an effect outside ({}): {}", finding.concern.word(), finding.why));
    }
    if let Some(what) = rules.held_out.find(&text) {
        found.push(format!("it repeats {what}; propose something else"));
    }
    let screen: Vec<String> = rules.start.elements.iter().map(|line| words(line).join(" ")).collect();
    let own = words(&task.instruction);
    let repeats = |window: &[String]| {
        let run = window.join(" ");
        screen.iter().any(|line| format!(" {line} ").contains(&format!(" {run} ")))
    };
    if own.windows(MIN_REPEATED_WORDS).any(repeats) {
        found.push(
            "the instruction repeats text of the screen; say in your own words what is to be done".to_owned(),
        );
    }
    found
}
