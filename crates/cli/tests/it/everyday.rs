//! The suite `tasks/everyday`, as its author would audit it: in fresh cells every solution passes; near misses and doing
//! nothing fail. One task of each program is looked at with all other tests, and the whole suite by name.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use apprentice_tasks::suite::load;
use apprentice_tasks::task::Task;
use serde_json::{Value, json};

use crate::place::{Place, output_of, text, worlds_can_start};
use crate::starter::is_installed;

/// A browser without windows, in which pages open sooner.
const SHELL: &str = "chromium-headless-shell";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks/everyday").canonicalize().expect("the suite")
}

fn can_run(task: &Task) -> bool {
    let ours = task.apprentice.as_ref().expect("our additions");
    let missing = match ours.programs.as_slice() {
        [] => !["chromium", SHELL].into_iter().any(is_installed),
        programs => programs.iter().any(|program| !is_installed(program)),
    };
    if missing {
        println!("skipped: {}: its program is not installed", task.id);
    }
    !missing
}

/// Audits the tasks that `chosen` takes of those that can run here.
fn audit(chosen: impl FnMut(&&Task) -> bool) {
    if !worlds_can_start() {
        return;
    }
    let suite = load(&root()).expect("loads");
    let tasks: Vec<&str> =
        suite.tasks.iter().filter(|task| can_run(task)).filter(chosen).map(|task| task.id.as_str()).collect();
    let place = Place::new();
    let folder = root().to_string_lossy().into_owned();
    let mut command = place.command(&["tasks", "audit", &folder, "--json"]);
    command.args(tasks.iter().flat_map(|id| ["--task", id]));
    if is_installed(SHELL) {
        command.env("APPRENTICE_BROWSER_PROGRAM", SHELL);
    }
    let output = output_of(&mut command);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(report["findings"], json!([]), "{}", text(&output.stderr));
    assert_eq!(report["trials"], 3 * tasks.len(), "solution, near miss and nothing done, each of {tasks:?}");
}

#[test]
fn of_each_program_one_task_is_solved_and_passed_by_nothing_else() {
    let mut programs = BTreeSet::new();
    audit(|task| {
        let labels = task.apprentice.iter().flat_map(|ours| &ours.knowledge);
        labels.filter_map(|label| label.split('/').next()).any(|program| programs.insert(program.to_owned()))
    });
}

#[test]
#[ignore = "minutes; by name: cargo test -p apprentice-cli --test it -- --ignored everyday::"]
fn every_task_is_solved_and_passed_by_nothing_else() {
    audit(|_| true);
}
