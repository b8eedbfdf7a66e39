//! Groups the tasks that must stand in one part: by template, or without templates by program, start file and wording.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::TaskId;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;

use super::overlap::{near_same, start_files, words};

/// Characters of a task's id in the name of its group.
const ID_CHARS: usize = 8;

/// Gives every task its group: the template that its file names, or a cluster of tasks of the same program that share
/// a start file or nearly all words.
pub(super) fn groups(suite: &Suite) -> BTreeMap<TaskId, String> {
    let mut groups = BTreeMap::new();
    let bare: Vec<&Task> = suite.tasks.iter().filter(|task| task.apprentice.is_none()).collect();
    for task in &suite.tasks {
        if let Some(ours) = &task.apprentice {
            groups.insert(task.id.clone(), ours.template.clone());
        }
    }
    let traits: Vec<_> = bare.iter().map(|task| (words(&task.instruction), start_files(task))).collect();
    let joined = |one: usize, other: usize| {
        let ((words, files), (other_words, other_files)) = (&traits[one], &traits[other]);
        bare[one].app == bare[other].app && (!files.is_disjoint(other_files) || near_same(words, other_words))
    };
    let mut names: BTreeSet<String> = groups.values().cloned().collect();
    for members in components(bare.len(), &joined) {
        let Some(first) = members.first().map(|first| bare[*first]) else { continue };
        let short: String = first.id.as_str().chars().take(ID_CHARS).collect();
        let short = format!("{}-{short}", first.app);
        // Ids that begin alike keep their whole length.
        let name = if names.contains(&short) { format!("{}-{}", first.app, first.id) } else { short };
        names.insert(name.clone());
        groups.extend(members.into_iter().map(|at| (bare[at].id.clone(), name.clone())));
    }
    groups
}

/// Joins groups whose instructions are near the same: they are dealt as one.
pub(super) fn units(suite: &Suite, groups: &BTreeMap<TaskId, String>) -> Vec<BTreeSet<String>> {
    let tasks: Vec<(&String, BTreeSet<String>)> = suite
        .tasks
        .iter()
        .filter_map(|task| Some((groups.get(&task.id)?, words(&task.instruction))))
        .collect();
    let joined = |one: usize, other: usize| {
        tasks[one].0 == tasks[other].0 || near_same(&tasks[one].1, &tasks[other].1)
    };
    let unit = |members: Vec<usize>| members.into_iter().map(|at| tasks[at].0.clone()).collect();
    components(tasks.len(), &joined).into_iter().map(unit).collect()
}

/// The connected components of a symmetric relation over `0..count`, each in ascending order.
fn components(count: usize, joined: &dyn Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut open: BTreeSet<usize> = (0..count).collect();
    let mut found = Vec::new();
    while let Some(first) = open.pop_first() {
        let (mut members, mut ahead) = (vec![first], vec![first]);
        while let Some(one) = ahead.pop() {
            let near: Vec<usize> = open.iter().copied().filter(|other| joined(one, *other)).collect();
            for other in near {
                open.remove(&other);
                members.push(other);
                ahead.push(other);
            }
        }
        members.sort_unstable();
        found.push(members);
    }
    found
}
