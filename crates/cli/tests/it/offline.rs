//! OSWorld's own tasks that need no network, and of its makers' files only such for which small ones can stand in, where
//! `APPRENTICE_OSWORLD` names its task files: each is set up in a cell, doing nothing fails it, and a solution through the
//! interface passes it, or giving up where the task cannot be done.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::place::{Place, worlds_can_start};
use crate::stand_ins;
use crate::starter::is_installed;

/// The programs under whose names tasks are filed.
pub(crate) const PROGRAMS: [(&str, &str); 10] = [
    ("chrome", "chromium"),
    ("gimp", "gimp"),
    ("libreoffice_calc", "localc"),
    ("libreoffice_impress", "loimpress"),
    ("libreoffice_writer", "lowriter"),
    ("multi_apps", "xfce4-terminal"),
    ("os", "xfce4-terminal"),
    ("thunderbird", "thunderbird"),
    ("vlc", "vlc"),
    ("vs_code", "code"),
];

/// What is known of the tasks of a program: `solutions.json` has known-good actions by task in the form of the starter
/// suite's; `files.json`, or a script with the start of the task's id, makes what stands in for the makers' files; `needs.json`
/// names programs that a task needs beside the one that it is filed under; and `on_demand.json` lists tasks that are tried
/// where they are chosen, and not with each change: because they take long, do what others do, or have not yet passed often enough to
/// be told from unsteady ones.
pub(crate) fn folder(app: &str) -> PathBuf {
    Path::new("tests/osworld").join(app)
}

/// Reads a file about the tasks of a program, which may be missing.
pub(crate) fn data<T: Default + DeserializeOwned>(app: &str, name: &str) -> T {
    let path = folder(app).join(name);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", path.display());
            T::default()
        }
    }
}

/// The folder of the task files, by the name of their program, or `None` with the reason printed.
pub(crate) fn root() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "the data set's place is given by the environment")]
    let root = std::env::var_os("APPRENTICE_OSWORLD").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: APPRENTICE_OSWORLD is not set");
    }
    root
}

/// The file of a task that is filed under this program.
fn file_of(root: &Path, app: &str, id: &str) -> PathBuf {
    root.join("examples").join(app).join(format!("{id}.json"))
}

/// The tasks that are tried: those whose ids begin so, where it is set; an empty text chooses all.
pub(crate) fn chosen() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a person who works on a solution tries one at a time")]
    std::env::var("APPRENTICE_OSWORLD_TASK").ok()
}

/// Adds a task with its solution to the suite in the place's folder `suite`, and what it downloads to the folder `mirror`.
pub(crate) fn put(place: &Place, root: &Path, app: &str, id: &str, solution: &Value) {
    let text = fs::read_to_string(file_of(root, app, id)).expect("a task");
    let mut task: Value = serde_json::from_str(&text).expect("json");
    task["apprentice"] = json!({
        "environment": "desktop", "template": id, "solution": solution,
        "limits": {"world_steps": 60, "turns": 90, "working_s": 600},
    });
    stand_ins::put(place, app, &task);
    let folder = place.path("suite/examples").join(app);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{id}.json")), task.to_string()).expect("written");
}

/// Whether what the tests install has to be there.
#[expect(clippy::disallowed_methods, reason = "what has to be there is said by the environment")]
fn is_strict() -> bool {
    std::env::var_os("APPRENTICE_STRICT").is_some()
}

/// Writes a suite of those tasks of a program whose programs are here, each with its solution.
fn suite(place: &Place, root: &Path, app: &str) -> (PathBuf, usize) {
    let folder = place.path("suite");
    let program = PROGRAMS.iter().find(|(known, _)| *known == app).map(|(_, program)| *program);
    let solutions: BTreeMap<String, Value> = data(app, "solutions.json");
    let needs: BTreeMap<String, Vec<String>> = data(app, "needs.json");
    let chosen = chosen();
    let on_demand: Vec<String> = if chosen.is_none() { data(app, "on_demand.json") } else { Vec::new() };
    let mut listed = Vec::new();
    for (id, solution) in solutions {
        if chosen.as_ref().is_some_and(|chosen| !id.starts_with(chosen))
            || on_demand.iter().any(|start| id.starts_with(start))
        {
            continue;
        }
        let beside = needs.iter().filter(|(start, _)| id.starts_with(*start)).flat_map(|(_, names)| names);
        let mut needed = program.into_iter().chain(beside.map(String::as_str));
        if let Some(program) = needed.find(|program| !is_installed(program)) {
            // Visual Studio Code comes from a registry of its own, which does not always answer.
            assert!(!is_strict() || program == "code", "{id}: {program} is not installed");
            println!("skipped: {id}: {program} is not installed");
            continue;
        }
        put(place, root, app, &id, &solution);
        listed.push(id);
    }
    if !listed.is_empty() {
        fs::write(folder.join("suite.json"), json!({ app: listed }).to_string()).expect("written");
    }
    (folder, listed.len())
}

/// Each task of a program that has a solution here: set up, solved, and not passed by doing nothing.
fn solve(app: &str) {
    let Some(root) = root().filter(|_| worlds_can_start()) else {
        return;
    };
    let place = Place::new();
    let (suite, count) = suite(&place, &root, app);
    if count == 0 {
        return;
    }
    let mirror = place.path("mirror");
    fs::create_dir_all(&mirror).expect("a folder");
    let (suite, mirror) = (suite.to_string_lossy(), mirror.to_string_lossy());
    let output = place.output(&["tasks", "audit", &suite, "--mirror", &mirror, "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(report["findings"], json!([]), "{told}");
    // Each with its solution and without doing anything; given up at once only where that may pass.
    assert!(report["trials"].as_u64() >= Some(2 * count as u64), "{told}");
    println!("{app}: {count} tasks solved, and not passed by doing nothing");
}

#[test]
fn each_solution_is_of_a_task_that_is_filed_under_its_program() {
    let Some(root) = root() else { return };
    let mut count = 0;
    for (app, _) in PROGRAMS {
        let solutions: BTreeMap<String, Value> = data(app, "solutions.json");
        count += solutions.len();
        for id in solutions.keys() {
            assert!(file_of(&root, app, id).exists(), "{app}: {id}");
        }
    }
    let folders = fs::read_dir("tests/osworld").expect("the folder of solutions").count();
    assert!(count > 0 && folders == PROGRAMS.len(), "{count} solutions in {folders} folders");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_chrome_are_solved_in_cells() {
    solve("chrome");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_gimp_are_solved_in_cells() {
    solve("gimp");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_calc_are_solved_in_cells() {
    solve("libreoffice_calc");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_impress_are_solved_in_cells() {
    solve("libreoffice_impress");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_writer_are_solved_in_cells() {
    solve("libreoffice_writer");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_several_programs_are_solved_in_cells() {
    solve("multi_apps");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_the_system_are_solved_in_cells() {
    solve("os");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_thunderbird_are_solved_in_cells() {
    solve("thunderbird");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_vs_code_are_solved_in_cells() {
    solve("vs_code");
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_of_vlc_are_solved_in_cells() {
    solve("vlc");
}
