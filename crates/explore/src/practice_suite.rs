//! A proposed task as a suite of its own, in the form that every other command reads, with a split whose one part teaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use apprentice_learning::practice::{PracticeTask, StateCheck, StateCheckKind};
use apprentice_protocol::TaskId;
use apprentice_runs::row::Split;
use apprentice_tasks::suite::{SPLIT_FILE, Suite, load};
use apprentice_tasks::variation::drawn_values;
use serde_json::{Map, Value, json};

use super::error::ExploreError;
use super::folder::{write_json, write_text};
use super::start::{FILES, Start};
use apprentice_evaluator::split::SplitLock;

/// The salt of the split, which has nothing to hide.
const SALT: &str = "explore";
/// The id of the task that only looks.
const LOOK: &str = "look";
/// Number of seeds among which a try chooses its own. A value of three texts is the same in all of them once in 10^30 tries.
const SEEDS: u32 = 64;
/// Largest number of world actions of an attempt.
pub(super) const WORLD_STEPS: u32 = 40;

/// A suite of one task, with its split.
pub(super) struct PracticeSuite {
    pub(super) suite: Suite,
    pub(super) lock: SplitLock,
}

impl PracticeSuite {
    /// Writes the suite of a proposed task, unless it is there, and loads it.
    pub(super) fn of_task(folder: &Path, start: &Start, task: &PracticeTask) -> Result<Self, ExploreError> {
        let vary = task.values.iter().map(|value| (value.name.clone(), json!(value.of))).collect();
        let parts = TaskParts {
            id: &task.name,
            instruction: &task.instruction,
            evaluator: task.check.as_ref().map_or_else(unchecked, evaluator),
            vary,
        };
        Self::open(folder, start, &parts)
    }

    /// Removes the suite of a task, so that the next call of [`Self::of_task`] writes it anew.
    pub(super) fn remove(folder: &Path) -> Result<(), ExploreError> {
        let failed = |source| ExploreError::File { path: folder.to_owned(), source };
        // Without its split a suite counts as unfinished.
        fs::remove_file(folder.join(SPLIT_FILE)).map_err(failed)?;
        fs::remove_dir_all(folder).map_err(failed)
    }

    /// Writes the suite of a task that does nothing, unless it is there, and loads it.
    pub(super) fn of_start(folder: &Path, start: &Start) -> Result<Self, ExploreError> {
        let parts = TaskParts {
            id: LOOK,
            instruction: "Look at the screen.",
            evaluator: unchecked(),
            vary: BTreeMap::new(),
        };
        Self::open(folder, start, &parts)
    }

    fn open(folder: &Path, start: &Start, parts: &TaskParts<'_>) -> Result<Self, ExploreError> {
        if !folder.join(SPLIT_FILE).is_file() {
            write(folder, start, parts)?;
        }
        let suite = load::load(folder)?;
        let lock = lock(&suite)?;
        // It comes last: with it the suite is whole.
        write_text(&folder.join(SPLIT_FILE), &lock.to_text())?;
        Ok(Self { suite, lock })
    }

    /// The task.
    pub(super) fn task(&self) -> Option<TaskId> {
        self.suite.tasks.first().map(|task| task.id.clone())
    }

    /// The seeds of a try's attempts, counted from 1: two whose values differ, as many of them as the seeds of the try allow.
    /// Attempts with the same value would show nothing that varies. A task that does not vary is tried once.
    pub(super) fn seeds(&self, number: u32) -> Result<BTreeSet<u32>, ExploreError> {
        let Some(task) = self.suite.tasks.first().filter(|task| task.varies()) else {
            return Ok(BTreeSet::from([0]));
        };
        let first = number.saturating_sub(1).saturating_mul(SEEDS);
        let own = drawn_values(task, &self.suite.name, first)?;
        let mut best = (0, first + 1);
        for seed in first + 1..first + SEEDS {
            let values = drawn_values(task, &self.suite.name, seed)?;
            let differing = values.iter().filter(|(name, value)| own.get(*name) != Some(*value)).count();
            if differing > best.0 {
                best = (differing, seed);
            }
        }
        Ok(BTreeSet::from([first, best.1]))
    }

    /// Whether the seed changes its world.
    pub(super) fn varies(&self) -> bool {
        self.suite.tasks.first().is_some_and(apprentice_tasks::task::Task::varies)
    }
}

fn lock(suite: &Suite) -> Result<SplitLock, ExploreError> {
    let tasks = suite.templates();
    let templates: BTreeSet<&String> = tasks.values().collect();
    let templates = templates.into_iter().map(|template| (template.clone(), Split::Train)).collect();
    Ok(SplitLock::of(suite, templates, tasks, SALT)?)
}

struct TaskParts<'a> {
    id: &'a str,
    instruction: &'a str,
    evaluator: Value,
    vary: BTreeMap<String, Value>,
}

fn write(folder: &Path, start: &Start, parts: &TaskParts<'_>) -> Result<(), ExploreError> {
    let base = start.parts()?;
    let files = folder.join(FILES);
    for file in &base.files {
        let Some(name) = file.file_name() else { continue };
        copy(file, &files.join(name))?;
    }
    if let Some(own) = &base.folder {
        copy_folder(own, &files)?;
    }
    let mut vary = base.vary;
    vary.extend(parts.vary.clone());
    let mut ours = json!({
        "environment": base.environment,
        "template": parts.id,
        "programs": base.programs,
        "limits": { "world_steps": WORLD_STEPS, "turns": WORLD_STEPS * 2, "working_s": 600 },
        "vary": vary,
    });
    let more = [
        ("url", base.url.map(Value::from)),
        ("screen", base.screen.map(|screen| json!(screen))),
        ("scene", base.scene),
    ];
    let fields: Map<String, Value> =
        more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    ours.as_object_mut().into_iter().for_each(|ours| ours.extend(fields.clone()));
    let task = json!({
        "id": parts.id,
        "instruction": parts.instruction,
        "config": base.config,
        "evaluator": parts.evaluator,
        "related_apps": base.related_apps,
        "apprentice": ours,
    });
    let app = if base.app.is_empty() { "own" } else { &base.app };
    write_json(&folder.join("examples").join(app).join(format!("{}.json", parts.id)), &task)?;
    write_json(&folder.join(load::SUITE_FILE), &json!({ app: [parts.id] }))
}

/// The check of a state in the form of a suite's task.
fn evaluator(check: &StateCheck) -> Value {
    let result = match check.kind {
        StateCheckKind::File => {
            json!({ "type": "vm_command_line", "command": ["cat", "--", check.path] })
        }
        StateCheckKind::Command => json!({ "type": "vm_command_line", "command": check.command }),
        StateCheckKind::View => json!({ "type": "accessibility_tree" }),
    };
    json!({
        "func": "check_include_exclude",
        "result": result,
        "expected": { "type": "rule", "rules": { "include": [check.contains], "exclude": [] } },
    })
}

/// The check of a task whose outcome no state shows. It never passes, so that no row claims what nothing checked.
fn unchecked() -> Value {
    json!({
        "func": "exact_match",
        "result": { "type": "rule", "rules": "nothing" },
        "expected": { "type": "rule", "rules": { "expected": "no state is checked" } },
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), ExploreError> {
    let failed = |source| ExploreError::File { path: from.to_owned(), source };
    to.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::copy(from, to).map(drop).map_err(failed)
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), ExploreError> {
    let failed = |source| ExploreError::File { path: from.to_owned(), source };
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = path.file_name() else { continue };
        match path.is_dir() {
            true => copy_folder(&path, &to.join(name))?,
            false => copy(&path, &to.join(name))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use apprentice_learning::practice::PracticeTask;
    use serde_json::json;

    use super::PracticeSuite;
    use crate::start::Start;

    fn practice(folder: &Path, name: &str, values: &serde_json::Value) -> PracticeSuite {
        let task: PracticeTask = serde_json::from_value(json!({
            "name": name, "instruction": "Write it down.", "values": values, "new": "How.", "undo": "No."
        }))
        .expect("a task");
        let start = Start::App { command: "editor".to_owned(), files: Vec::new() };
        PracticeSuite::of_task(&folder.join(name), &start, &task).expect("a suite")
    }

    /// The values that the attempts of a try get, by placeholder.
    fn drawn(practice: &PracticeSuite, number: u32) -> Vec<BTreeSet<String>> {
        let task = practice.suite.tasks.first().expect("a task");
        let seeds = practice.seeds(number).expect("seeds");
        let of = |seed| super::drawn_values(task, &practice.suite.name, seed).expect("values");
        let all: Vec<_> = seeds.into_iter().map(of).collect();
        let texts = |name: &String| all.iter().map(|values| values[name].to_string()).collect();
        all[0].keys().map(texts).collect()
    }

    #[test]
    fn the_attempts_of_a_try_get_values_that_differ() {
        let folder = tempfile::tempdir().expect("a folder");
        let three = json!(["one", "two", "three"]);
        // With 20 names and 3 tries each, equal draws would show: by chance a third of them are.
        for number in 0..20 {
            let values = json!([{ "name": "word", "of": three }, { "name": "place", "of": three }]);
            let practice = practice(folder.path(), &format!("task-{number}"), &values);
            let tries: Vec<BTreeSet<u32>> =
                (1..=3).map(|number| practice.seeds(number).expect("seeds")).collect();
            assert!(tries[0].is_disjoint(&tries[1]) && tries[1].is_disjoint(&tries[2]), "{tries:?}");
            for number in 1..=3 {
                assert!(drawn(&practice, number).iter().all(|texts| texts.len() == 2), "{number}");
            }
        }
        let fixed = practice(folder.path(), "fixed", &json!([]));
        assert_eq!(fixed.seeds(3).expect("seeds"), BTreeSet::from([0]));
    }
}
