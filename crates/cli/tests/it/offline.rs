//! OSWorld's own tasks that need no network, and of its makers' files only such for which small ones can stand in,
//! where `APPRENTICE_OSWORLD` names its task files: each is set up in a cell, doing nothing fails it, and a solution through the interface, or giving up where a task cannot be done, passes it.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::{Place, worlds_can_start};
use crate::stand_ins;
use crate::starter::is_installed;

/// Known-good actions by task, in the form of the starter suite's.
const SOLUTIONS: &str = include_str!("../osworld/solutions.json");
/// The programs under whose names tasks are filed.
const PROGRAMS: [(&str, &str); 9] = [
    ("chrome", "chromium"),
    ("gimp", "gimp"),
    ("libreoffice_calc", "localc"),
    ("libreoffice_impress", "loimpress"),
    ("libreoffice_writer", "lowriter"),
    ("multi_apps", "xfce4-terminal"),
    ("os", "xfce4-terminal"),
    ("thunderbird", "thunderbird"),
    ("vlc", "vlc"),
];
/// What some tasks need beside the program that they are filed under.
const BESIDE: [(&str, &[&str]); 9] = [
    ("28cc3b7e", &["pactl"]),
    ("3ce045a0", &["gsettings", "bc"]),
    ("f9be0997", &["gsettings"]),
    ("a4d98375", &["gsettings"]),
    ("bedcedc4", &["gsettings"]),
    ("02ce9a50", &["lowriter", "ffmpeg", "tesseract"]),
    ("6d72aad6", &["loimpress"]),
    ("8f080098", &["ffmpeg"]),
    ("aa4b5023", &["ffmpeg"]),
];

/// The file of a task, below the folder of its program.
fn file_of(root: &Path, id: &str) -> Option<(String, PathBuf)> {
    PROGRAMS.iter().find_map(|(app, _)| {
        let path = root.join("examples").join(app).join(format!("{id}.json"));
        path.exists().then(|| ((*app).to_owned(), path))
    })
}

/// Writes a suite of those tasks whose programs are here, each with its solution.
fn suite(place: &Place, root: &Path) -> (PathBuf, usize) {
    let solutions: BTreeMap<String, Value> = serde_json::from_str(SOLUTIONS).expect("solutions");
    let folder = place.path("suite");
    let (mut listed, mut count): (BTreeMap<String, Vec<String>>, usize) = (BTreeMap::new(), 0);
    for (id, solution) in solutions {
        let Some((app, path)) = file_of(root, &id) else {
            println!("skipped: {id}: its file is not there");
            continue;
        };
        let program = PROGRAMS.iter().find(|(known, _)| *known == app);
        let beside =
            BESIDE.iter().find(|(known, _)| id.starts_with(known)).map_or(&[][..], |(_, programs)| *programs);
        let mut needed = program.map(|(_, program)| *program).into_iter().chain(beside.iter().copied());
        if let Some(program) = needed.find(|program| !is_installed(program)) {
            println!("skipped: {id}: {program} is not installed");
            continue;
        }
        let text = fs::read_to_string(path).expect("a task");
        let mut task: Value = serde_json::from_str(&text).expect("json");
        task["apprentice"] = json!({
            "environment": "desktop", "template": id, "solution": solution,
            "limits": {"world_steps": 60, "turns": 90, "working_s": 600},
        });
        stand_ins::put(place, &id, &task);
        let place = folder.join("examples").join(&app);
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join(format!("{id}.json")), task.to_string()).expect("written");
        listed.entry(app).or_default().push(id);
        count += 1;
    }
    if count > 0 {
        fs::write(folder.join("suite.json"), json!(listed).to_string()).expect("written");
    }
    (folder, count)
}

#[test]
#[ignore = "a lane of its own: it starts real programs for minutes"]
fn tasks_without_network_and_files_are_set_up_and_solved_in_cells() {
    #[expect(clippy::disallowed_methods, reason = "the data set's place is given by the environment")]
    let Some(root) = std::env::var_os("APPRENTICE_OSWORLD").map(PathBuf::from) else {
        println!("skipped: APPRENTICE_OSWORLD is not set");
        return;
    };
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (suite, count) = suite(&place, &root);
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
    // Each with its solution, without doing anything, and given up at once.
    assert_eq!(report["trials"], 3 * count, "{told}");
    println!("{count} tasks: solved, and not passed by doing nothing or giving up");
}
