//! The way from nothing to an experiment of one's own: `init`, `tasks`, `split`, `plan`, `distill --dry-run`, `learn`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::golden::unpacked;
use crate::place::{PROGRAM, Place, output_of, worlds_can_start};
use crate::starter::is_installed;

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn works(place: &Place, words: &[&str]) -> String {
    let output = place.output(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
    said(&output)
}

/// Returns what a command that works prints on standard output.
fn printed(place: &Place, words: &[&str]) -> String {
    let output = place.output(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refused(place: &Place, words: &[&str], code: i32, reason: &str) {
    let output = place.output(words);
    let told = said(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
    assert!(told.contains(reason), "{words:?}: {told}");
}

fn edit(place: &Place, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(place.path(file)).expect("text");
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(place.path(file), text.replace(from, to)).expect("written");
}

#[test]
fn a_new_suite_goes_from_nothing_to_a_planned_experiment() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    refused(&place, &["init", "mine"], 2, "is not empty");
    fs::create_dir(place.path("empty")).expect("a folder");
    works(&place, &["init", "empty"]);

    refused(&place, &["distill", "mine/experiment.toml", "--dry-run"], 3, "apprentice split draw");
    let drawn = works(&place, &["split", "draw", "mine", "--seed", "3"]);
    assert!(drawn.contains("a verdict needs 8 test templates"), "{drawn}");
    refused(&place, &["split", "draw", "mine"], 2, "--replace");
    let first = fs::read(place.path("mine/split.toml")).expect("a draft");
    works(&place, &["split", "draw", "mine", "--seed", "3", "--replace"]);
    assert_eq!(fs::read(place.path("mine/split.toml")).expect("a draft"), first, "a seed repeats its draw");

    let draft = "suite = 'mine'\nsalt = '3'\n[train]\nrooms-away-from-traffic = ['rooms-away-from-traffic']\n\
                 files-new-folder = ['files-new-folder']\n[test]\nrooms-for-slides = ['rooms-for-slides']\n";
    fs::write(place.path("mine/split.toml"), draft).expect("written");
    refused(&place, &["split", "lock", "mine"], 3, "task files-new-name stands in no part");
    assert!(!place.path("mine/split.json").exists(), "nothing is written");
    fs::write(place.path("mine/split.toml"), format!("{draft}files-new-name = ['files-new-name']\n"))
        .expect("written");
    works(&place, &["split", "lock", "mine"]);
    let shown: Value =
        serde_json::from_slice(&place.output(&["split", "show", "mine", "--json"]).stdout).expect("JSON");
    assert_eq!(shown["parts"]["train"]["files-new-folder"], json!(["files-new-folder"]));
    works(&place, &["split", "show", "mine"]);

    let planned = works(&place, &["plan", "mine/experiment.toml"]);
    assert!(planned.contains("there are 2: too few to decide, 6 more to write"), "{planned}");
    assert!(!place.path("mine/prereg.lock").exists(), "nothing is registered unasked");
    works(&place, &["plan", "mine/experiment.toml", "--register"]);
    assert!(place.path("mine/prereg.lock").is_file());
    let dry = works(&place, &["distill", "mine/experiment.toml", "--dry-run"]);
    let table = planned.split("registered:").next().expect("a table").lines();
    for line in table.filter(|line| !line.contains("is not read")) {
        assert!(dry.contains(line), "the table of `plan`: {line}\n{dry}");
    }

    // A solution may be mended; an instruction decides the split.
    edit(&place, "mine/examples/thunar/files-new-folder.json", "ctrl+shift+n", "ctrl+shift+N");
    works(&place, &["distill", "mine/experiment.toml", "--dry-run"]);
    fs::rename(place.path("mine"), place.path("renamed")).expect("renamed");
    works(&place, &["distill", "renamed/experiment.toml", "--dry-run"]);
    edit(&place, "renamed/examples/thunar/files-new-folder.json", "Add an empty", "Make an empty");
    let words = ["distill", "renamed/experiment.toml", "--dry-run"];
    refused(&place, &words, 3, "1 task with another instruction (files-new-folder)");
    works(&place, &["split", "lock", "renamed"]);
    works(&place, &words);

    // A reviewer that would not be asked is told, not passed over.
    fs::write(place.path("apprentice.toml"), "[role.reflector]\nmodel = \"builtin/novice\"\n")
        .expect("written");
    refused(&place, &words, 3, "add `learner = \"builtin/novice\"`");
    edit(&place, "renamed/experiment.toml", "[learning]", "[learning]\nlearner = \"builtin/explorer\"");
    works(&place, &words);
}

#[test]
fn a_split_that_somebody_edited_into_a_leak_is_refused_by_every_command_that_uses_it() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    let folder = "mine/examples/thunar";
    let task = fs::read_to_string(place.path(&format!("{folder}/files-new-folder.json"))).expect("a task");
    let twin = task.replace("files-new-folder", "files-twin-folder");
    fs::write(place.path(&format!("{folder}/files-twin-folder.json")), twin).expect("written");
    edit(&place, "mine/suite.json", "\"files-new-folder\"", "\"files-new-folder\", \"files-twin-folder\"");
    let draft = "suite = 'mine'\nsalt = '3'\n[train]\nrooms-away-from-traffic = ['rooms-away-from-traffic']\n\
                 files-new-folder = ['files-new-folder']\nfiles-twin-folder = ['files-twin-folder']\n[test]\n\
                 rooms-for-slides = ['rooms-for-slides']\nfiles-new-name = ['files-new-name']\n";
    fs::write(place.path("mine/split.toml"), draft).expect("written");
    works(&place, &["split", "lock", "mine"]);
    let learn = ["distill", "mine/experiment.toml", "--dry-run"];
    works(&place, &learn);

    let path = place.path("mine/split.json");
    let mut lock: Value = serde_json::from_slice(&fs::read(&path).expect("a lock")).expect("JSON");
    assert_eq!(lock["templates"]["files-twin-folder"], "train");
    lock["templates"]["files-twin-folder"] = json!("test");
    fs::write(&path, lock.to_string()).expect("written");
    let run = ["run", "mine", "--split", "mine/split.json", "--only", "train", "--model", "builtin/explorer"];
    unpacked(&place);
    for words in [&learn[..], &["plan", "mine/experiment.toml"], &run, &["learn", "old", "--suite", "mine"]] {
        refused(&place, words, 3, "the split leaks: ");
    }
    let told = said(&place.output(&learn));
    assert!(told.contains("files-twin-folder") && told.contains("apprentice split lock"), "{told}");
    works(&place, &["split", "lock", "mine"]);
    works(&place, &learn);
}

#[test]
fn settings_hold_below_their_folder_and_a_suite_brings_none() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    let file = place.path("mine/apprentice.toml").canonicalize().expect("the file");
    let below = |folder: &str| {
        let mut command = place.command(&["config", "show", "--origin"]);
        let output = command.env_remove("APPRENTICE_RUNS").current_dir(place.path(folder)).output();
        let told = said(&output.expect("starts"));
        let runs = told.lines().find(|line| line.starts_with("runs = ")).expect("a line").to_owned();
        (runs, told)
    };
    let runs = file.with_file_name("runs");
    let (line, told) = below("mine/files");
    assert_eq!(line, format!("runs = {:?}  # {}", runs, file.display()));
    assert!(told.contains(&format!("settings of {}", file.display())), "{told}");
    let (line, told) = below("mine");
    assert_eq!(line, "runs = \"runs\"  # apprentice.toml");
    assert!(!told.contains("settings of"), "the current folder's own need no word: {told}");
    assert_eq!(below(".").0, "runs = \"runs\"  # default");
    let told = works(&place, &["tasks", "list", "mine"]);
    assert!(told.contains(&format!("{} is not read", file.display())), "{told}");
}

#[test]
fn a_forecast_needs_no_key_and_names_what_one_would_expect_to_pay() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    let model = "anthropic/claude-sonnet-5-5";
    let told = works(&place, &["run", "mine", "--model", model, "--dry-run"]);
    assert!(told.contains("about $") && told.contains("as many turns as measured ones"), "{told}");
    refused(&place, &["run", "mine", "--model", model, "--yes"], 20, "is not set");
    works(&place, &["split", "draw", "mine"]);
    works(&place, &["split", "lock", "mine"]);
    edit(&place, "mine/experiment.toml", "builtin/explorer", model);
    let told = works(&place, &["distill", "mine/experiment.toml", "--dry-run"]);
    assert!(told.contains("about $"), "{told}");
    let told = works(&place, &["plan", "mine/experiment.toml"]);
    assert!(told.contains("cost: about "), "{told}");
}

#[test]
fn a_server_that_is_not_there_is_found_before_the_first_trial() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    let words = ["run", "mine", "--model", "compat/some-model", "--base-url", "http://127.0.0.1:9/v1"];
    refused(&place, &words, 20, "the server of compat/some-model does not answer");
    assert!(!place.path("runs").exists() && place.cells().is_empty(), "nothing was begun");
}

#[test]
fn a_task_is_written_from_options_checked_and_picked() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    let words = ["tasks", "new", "mine", "--id", "notes-total", "--app", "mousepad"];
    refused(&place, &words, 2, "--instruction is missing");
    let rest = ["--instruction", "Write the total.", "--check", "cat /home/user/n.txt", "--expect", "42"];
    works(&place, &[&words[..], &rest].concat());
    refused(&place, &[&words[..], &rest].concat(), 2, "has a task notes-total already");
    let listed = printed(&place, &["tasks", "list", "mine", "--app", "mousepad"]);
    assert!(listed.starts_with("notes-total") && listed.lines().count() == 1, "{listed}");
    let listed = printed(&place, &["tasks", "list", "mine", "--prefix", "rooms-"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    refused(&place, &["tasks", "list", "mine", "--app", "mousepd"], 4, "did you mean \"mousepad\"?");

    for (from, to, reason) in [
        ("Write the total.", "Write {{total}}.", "unknown placeholder {{total}}"),
        ("\"rules\":", "\"rule\":", "is \"rule\" a typo of it?"),
        (
            "\"programs\": [\n      \"mousepad\"",
            "\"programs\": [\n      \"no-such-program\"",
            "\"no-such-program\" is not installed",
        ),
    ] {
        let file = "mine/examples/mousepad/notes-total.json";
        edit(&place, file, from, to);
        let output = place.output(&["tasks", "check", file]);
        assert!(said(&output).contains(reason), "{}", said(&output));
        edit(&place, file, to, from);
    }
}

#[test]
fn the_built_in_suites_are_found_elsewhere_and_what_is_missing_is_said() {
    let place = Place::new();
    works(&place, &["tasks", "list", "tasks/starter"]);
    refused(&place, &["tasks", "list", "tasks/startr"], 3, "does not exist");
    refused(&place, &["tasks", "list", "nowhere"], 3, "apprentice init");
}

#[test]
fn a_program_without_its_checkout_carries_the_built_in_suites() {
    let place = Place::new();
    let alone = place.path("alone");
    if fs::hard_link(PROGRAM, &alone).is_err() {
        fs::copy(PROGRAM, &alone).expect("the program, copied");
    }
    let listed = |program: &Path| {
        let mut command = Command::new(program);
        command
            .args(["tasks", "list", "tasks/starter", "--json"])
            .env("HOME", place.path(""))
            .current_dir(place.path(""));
        let output = output_of(command.env_remove("XDG_STATE_HOME"));
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        output.stdout
    };
    let of_checkout = listed(Path::new(PROGRAM));
    assert!(!place.path(".local").exists(), "beside its checkout the program unpacks nothing");
    assert_eq!(listed(&alone), of_checkout, "the same tasks with the same hash");
    let suites = place.path(".local/state/apprentice/suites");
    let unpacked = |folder: &Path| fs::read_dir(folder).expect("a folder").flatten().count();
    assert_eq!(unpacked(&suites), 1, "nothing half-written is left");
    let of_starter = listed(&alone);
    assert_eq!((of_starter, unpacked(&suites)), (of_checkout, 1), "unpacked once");

    let mut missing = Command::new(&alone);
    missing.args(["tasks", "list", "tasks/startr"]).env("HOME", place.path("")).current_dir(place.path(""));
    let output = missing.output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("tasks/starter, tasks/office and tasks/everyday"), "{}", said(&output));
}

#[test]
fn an_audit_refuses_tasks_that_no_run_could_start_before_its_first_trial() {
    let place = Place::new();
    works(&place, &["init", "mine"]);
    let file = place.path("mine/examples/thunar/files-new-name.json");
    let mut task: Value = serde_json::from_str(&fs::read_to_string(&file).expect("text")).expect("JSON");
    task["apprentice"]["solution"] = json!([{ "key": "F2" }, { "type": ["a", "list"] }]);
    fs::write(&file, task.to_string()).expect("written");
    let output = place.output(&["tasks", "audit", "mine"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let told = "files-new-name: solution: step 1: a text or a number; found {\"type\":[\"a\",\"list\"]}";
    assert!(said(&output).contains(told), "{}", said(&output));
    assert!(!place.path("runs").exists(), "nothing ran");
}

#[test]
fn the_new_suite_passes_its_audit_and_a_passed_attempt_is_kept() {
    if !worlds_can_start() || !is_installed("chromium") || !is_installed("thunar") {
        return;
    }
    let place = Place::new();
    works(&place, &["init", "mine"]);
    works(&place, &["tasks", "check", "mine"]);
    let audited = works(&place, &["tasks", "audit", "mine"]);
    assert!(audited.contains("0 findings"), "{audited}");

    let rows = fs::read_to_string(place.run_folder().join("trials.jsonl")).expect("rows");
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let attempt = |model: &str| {
        let mut own = rows.iter().filter(|row| row["task"] == "files-new-name");
        let row = own.find(|row| row["model"] == model).expect("a row");
        place.run_folder().join(row["trace"].as_str().expect("a path")).to_string_lossy().into_owned()
    };
    let file = "mine/examples/thunar/files-new-name.json";
    let read = || -> Value {
        serde_json::from_str(&fs::read_to_string(place.path(file)).expect("text")).expect("JSON")
    };
    let failed = attempt("baseline/near-miss");
    let keep = |attempt: &str, more: &[&str]| {
        place.output(&[&["tasks", "keep-solution", attempt, "--suite", "mine"], more].concat())
    };
    let output = keep(&failed, &["--replace"]);
    assert!(output.status.code() == Some(3) && said(&output).contains("did not pass"), "{}", said(&output));
    let passed = attempt("baseline/solution");
    assert!(said(&keep(&passed, &[])).contains("has a solution already"));
    let output = keep(&passed, &["--replace"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let kept = read();
    let steps = kept["apprentice"]["solution"].as_array().expect("steps");
    assert_eq!(steps[0], json!({ "click": { "name": "{{seen.0}}", "role": "cell" } }), "{steps:?}");
    works(&place, &["tasks", "audit", "mine", "--task", "files-new-name"]);

    // What is wrong with a solution is told: the element that is not there, or what the check found.
    let mut wrong = kept.clone();
    let why_of = |task: &Value| {
        fs::write(place.path(file), task.to_string()).expect("written");
        let output = place.output(&["tasks", "audit", "mine", "--task", "files-new-name", "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["findings"][0]["why"].as_str().unwrap_or_default().to_owned()
    };
    wrong["apprentice"]["solution"] = json!([{ "click": { "name": "No such file" } }]);
    assert!(why_of(&wrong).starts_with("step 1 of the script: element \"No such file\" is not there"));
    wrong["apprentice"]["solution"] = kept["apprentice"]["near_miss"].clone();
    let why = why_of(&wrong);
    assert!(why.starts_with("found ") && why.contains(" instead of "), "{why}");
}
