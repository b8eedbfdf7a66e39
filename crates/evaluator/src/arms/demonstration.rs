//! Successful training attempts as text: the `raw-trace` arm shows them to a student instead of skills.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use apprentice_protocol::{TaskId, Trajectory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A successful attempt at a training task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Demonstration {
    /// The task of the attempt.
    pub task: TaskId,
    /// The task's programs, as domains.
    apps: Vec<String>,
    /// The task's instruction.
    goal: String,
    /// The attempt's actions, one per line.
    text: String,
    pub(crate) world_steps: u32,
}

/// Formats an attempt as numbered lines: each action and its target element.
fn format_attempt(trajectory: &Trajectory) -> String {
    let mut text = format!("An attempt that succeeded at another task: {}\n", trajectory.goal.trim());
    let actions = trajectory.steps.iter().flat_map(|step| &step.actions);
    for (place, action) in (1..).zip(actions.filter(|action| action.outcome == "done")) {
        let _ = write!(text, "{place}. {}", action.action);
        let target = [action.role.as_deref(), action.name.as_deref().filter(|name| !name.is_empty())];
        if let [Some(role), Some(name)] = target {
            let _ = write!(text, " {role} {name:?}");
        }
        text.push('\n');
    }
    text
}

/// Returns the attempt with the most similar instruction among those that share a program with the task.
pub fn nearest<'p>(
    precedents: &'p [Demonstration],
    instruction: &str,
    apps: &[String],
) -> Option<&'p Demonstration> {
    let wanted = words(instruction);
    let near = precedents.iter().filter(|one| one.apps.iter().any(|app| apps.contains(app)));
    near.fold(None, |best: Option<(f64, &Demonstration)>, one| {
        let likeness = overlap(&wanted, &words(&one.goal));
        match best {
            Some((most, _)) if most >= likeness => best,
            Some(_) | None => Some((likeness, one)),
        }
    })
    .map(|(_, one)| one)
}

impl Demonstration {
    /// Makes a demonstration of an attempt at a task of these programs.
    pub(crate) fn of_attempt(
        task: TaskId,
        apps: Vec<String>,
        trajectory: &Trajectory,
        world_steps: u32,
    ) -> Self {
        let (goal, text) = (trajectory.goal.clone(), format_attempt(trajectory));
        Self { task, apps, goal, text, world_steps }
    }

    /// Returns the whole lines that fit into `characters`; always at least the first line.
    pub fn within(&self, characters: usize) -> String {
        let mut text = String::new();
        for line in self.text.lines() {
            let length = text.chars().count() + line.chars().count() + 1;
            if length > characters && !text.is_empty() {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.map(str::to_lowercase).collect()
}

/// The Jaccard similarity of two word sets.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let all = one.union(other).count();
    if all == 0 { 0.0 } else { count(one.intersection(other).count()) / count(all) }
}

#[cfg(test)]
mod tests {
    use super::{Demonstration, nearest};

    fn demonstration(task: &str, app: &str, goal: &str) -> Demonstration {
        Demonstration {
            task: apprentice_protocol::TaskId::new(task),
            apps: vec![app.into()],
            goal: goal.into(),
            text: format!("An attempt: {goal}\n1. click menu \"Beds\"\n2. click menuitem \"Care\"\n"),
            world_steps: 2,
        }
    }

    #[test]
    fn the_nearest_attempt_is_one_of_the_same_program() {
        let known = [
            demonstration("mow", "garden", "Mow the whole lawn"),
            demonstration("prune", "garden", "Prune the old roses"),
            demonstration("roses", "kitchen", "Prune the young roses"),
        ];
        let garden = ["garden".to_owned()];
        let found = nearest(&known, "Prune the young roses", &garden);
        assert_eq!(found.map(|one| one.task.as_str()), Some("prune"));
        assert_eq!(nearest(&known, "Prune the young roses", &["cellar".to_owned()]), None);
    }

    #[test]
    fn it_is_cut_at_whole_lines() {
        let one = demonstration("mow", "garden", "Mow");
        let whole = one.within(1000);
        assert_eq!(whole.lines().count(), 3);
        let cut = one.within(whole.chars().count() - 1);
        assert_eq!(cut.lines().count(), 2);
        assert!(whole.starts_with(&cut));
        assert_eq!(one.within(1).lines().count(), 1, "what it is about always stands there");
    }
}
