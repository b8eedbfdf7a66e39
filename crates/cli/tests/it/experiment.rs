//! `bench`, `report` and `resume` through the real program, on a suite of small in-memory programs and a book
//! that a person wrote.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::place::Place;

/// Templates: what a novice is to do in a program whose commands hide two menus deep.
const TASKS: [(&str, &str, &str); 4] = [
    ("prune", "Prune the roses.", "Prune Roses"),
    ("water", "Water the lilies.", "Water Lilies"),
    ("trim", "Trim the hedges.", "Trim Hedges"),
    ("mow", "Mow the lawn.", "Mow Lawn"),
];

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
    fs::write(path, text).expect("writes");
}

/// Writes a suite of small in-memory programs into a folder. Each task (id, instruction, command) is done by a command that hides
/// two menus deep, which a novice does not find alone.
pub(crate) fn plant(garden: &Path, tasks: &[(&str, &str, &str)]) {
    let entry = |(_, _, name): &(&str, &str, &str)| json!({ "role": "menuitem", "name": name, "click": [{ "set": { "done": name } }] });
    let scene = json!({
        "start": "main", "state": { "done": null },
        "pages": { "main": { "title": "Garden", "controls": [
            { "role": "menu", "name": "File", "items": [{ "role": "menuitem", "name": "Quit" }] },
            { "role": "menu", "name": "Beds", "items": [
                { "role": "menuitem", "name": "Care", "items": tasks.iter().map(entry).collect::<Vec<_>>() } ] }
        ] } }
    });
    for (id, instruction, wanted) in tasks {
        let task = json!({
            "id": id, "instruction": instruction,
            "evaluator": {
                "func": "check_json",
                "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
                "expected": { "type": "rule", "rules": { "expect": [
                    { "key": ["values", "done"], "method": "eq", "ref": wanted } ] } }
            },
            "apprentice": { "environment": "scene", "template": id, "scene": scene },
        });
        write(&garden.join(format!("examples/beds/{id}.json")), &task.to_string());
    }
    let ids: Vec<&str> = tasks.iter().map(|(id, ..)| *id).collect();
    write(&garden.join("suite.json"), &json!({ "beds": ids }).to_string());
    write(
        &garden.join("inert/beds/leaving.md"),
        &page("The program is to be left.", "1. Choose File > Quit."),
    );
}

fn page(situation: &str, guidance: &str) -> String {
    format!("## Situation\n\n{situation}\n\n## Guidance\n\n{guidance}\n\n## Annotations\n\nNone\n")
}

/// Writes the book of a person that tells where the commands are.
pub(crate) fn write_book(book: &Path) {
    let guidance = "1. Open Beds > Care.\n2. Choose the entry that the task asks for.";
    let page = page("Plants need care: some to prune, some to water, to trim or to mow.", guidance);
    write(&book.join("beds/care.md"), &page);
}

/// A suite and a recorded book below the place.
pub(crate) fn garden() -> Place {
    let place = Place::new();
    plant(&place.path("garden"), &TASKS);
    write_book(&place.path("book"));
    let synced = place.output(&["skills", "sync", "--skillbook", "book"]);
    assert_eq!(synced.status.code(), Some(0), "{}", text(&synced.stderr));
    place
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["bench", "garden", "--student", "builtin/novice", "--skillbook", "book", "--out", "out"];
    fixed.into_iter().chain(more.iter().copied()).collect()
}

fn arms(report: &Value) -> Vec<(String, u64, u64)> {
    let arm = |arm: &Value| {
        let number = |name: &str| arm[name].as_u64().expect("a number");
        (arm["arm"].as_str().expect("a name").to_owned(), number("passed"), number("trials"))
    };
    report["arms"].as_array().expect("arms").iter().map(arm).collect()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_bench_measures_a_given_book_and_its_report_can_be_made_again() {
    let place = garden();
    let outline = json_of(&place.output(&bench(&["--dry-run", "--json"])));
    assert_eq!((&outline["schema"], &outline["trials"]), (&json!("apprentice.bench-outline/1"), &json!(12)));
    assert!(!place.path("out").exists(), "a dry run leaves nothing behind");

    let benched = place.output(&bench(&[]));
    assert_eq!(benched.status.code(), Some(0), "{}", text(&benched.stderr));
    let files = ["report.json", "report.html"].map(|name| place.path("out").join(name));
    let first = files.clone().map(|file| fs::read(file).expect("a report"));
    let report: Value = serde_json::from_slice(&first[0]).expect("JSON");
    let expected = [("none", 0, 4), ("placebo-inert", 0, 4), ("pull", 4, 4)];
    assert_eq!(arms(&report), expected.map(|(arm, passed, trials)| (arm.to_owned(), passed, trials)));
    assert_eq!(report["comparisons"][0]["name"], "pull vs placebo-inert");
    assert_eq!(report["headline"]["mechanism_check"], true);

    for file in &files {
        fs::remove_file(file).expect("removes");
    }
    let again = place.output(&["report", "out"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(files.clone().map(|file| fs::read(file).expect("a report")), first);
    assert_eq!(json_of(&place.output(&["report", "out", "--json"])), report);
}

#[test]
fn a_bench_that_lost_its_end_is_gone_on_with_and_no_other_takes_its_folder() {
    let place = garden();
    place.output(&bench(&[]));
    let runs = fs::read_dir(place.path("out/measure")).expect("runs");
    let run = runs.flatten().next().expect("a run").path();
    let rows = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    let kept: Vec<&str> = rows.lines().take(7).collect();
    // As if the process had been killed: the later attempts have no line, and a folder only.
    fs::write(run.join("trials.jsonl"), kept.join("\n") + "\n").expect("writes");
    let half = json_of(&place.output(&["report", "out", "--json"]));
    assert_eq!(half["not_run"].as_array().map(Vec::len), Some(5));

    let resumed = place.output(&["resume", "out", "--json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    let report = json_of(&place.output(&["report", "out", "--json"]));
    assert_eq!(arms(&report).iter().map(|(.., trials)| trials).sum::<u64>(), 12);
    let lines = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    assert!(lines.starts_with(&kept.join("\n")), "what was finished stays as it was");
    let by_run = place.output(&["resume", &run.to_string_lossy()]);
    assert_eq!(by_run.status.code(), Some(0), "a run of an experiment leads to it: {}", text(&by_run.stderr));

    let other = place.output(&bench(&["--seeds", "2", "--arms", "none,pull"]));
    assert_eq!(other.status.code(), Some(3));
    let said = text(&other.stderr);
    assert!(said.contains("contains another experiment: arms, seeds differ"), "{said}");
    assert!(!said.contains("to go on"), "{said}");
    let missing = place.output(&["report", "garden"]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stderr));
    assert!(text(&missing.stderr).contains("is a suite of tasks"), "{}", text(&missing.stderr));
}

const SHEET: &str = r#"
suite = "garden"
skillbook = "book"
students = ["builtin/novice"]
seeds = 1
max_usd = 1.0
"#;

#[test]
fn an_experiment_from_a_file_is_planned_registered_carried_out_packed_and_verified() {
    let place = garden();
    write(&place.path("garden.toml"), SHEET);
    let planned = json_of(&place.output(&["plan", "garden.toml", "--json", "--register"]));
    assert_eq!((&planned["schema"], &planned["trials"]), (&json!("apprentice.plan/1"), &json!(12)));
    assert_eq!((&planned["most_usd"], &planned["power"]["smallest_effect"]), (&json!(0.0), &Value::Null));
    assert!(place.path("garden.prereg.lock").is_file(), "beside the file");

    // What is changed after the registration is allowed and told.
    write(
        &place.path("garden.toml"),
        &format!("{SHEET}arms = [\"none\", \"pull\", \"placebo-inert\", \"masked\"]\n"),
    );
    let told = json_of(&place.output(&["plan", "garden.toml", "--json"]));
    assert_eq!(told["deviations"], json!([{ "field": "arms", "what": "added masked" }]));
    let distilled = json_of(&place.output(&["distill", "garden.toml", "--out", "out", "--json"]));
    let resumed = place.output(&["resume", "out"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    let report = json_of(&place.output(&["report", "out", "--json"]));
    assert_eq!(arms(&distilled), arms(&report));
    let arms: Vec<String> = arms(&report).into_iter().map(|(arm, ..)| arm).collect();
    assert_eq!(arms, ["masked", "none", "placebo-inert", "pull"]);
    assert_eq!(report["registration"]["deviations"][0]["what"], "added masked");
    assert!(fs::read_to_string(place.path("out/report.md")).expect("text").contains("added masked"));

    let packed = place.output(&["bundle", "out"]);
    assert_eq!(packed.status.code(), Some(0), "{}", text(&packed.stderr));
    fs::rename(place.path("out.tar.gz"), place.path("elsewhere.tar.gz")).expect("moves");
    fs::remove_dir_all(place.path("out")).expect("removes");
    let told = json_of(&place.output(&["verify", "elsewhere.tar.gz", "--json"]));
    assert_eq!((&told["holds"], &told["signed_by"]), (&true.into(), &Value::Null));
    let verified = place.output(&["verify", "elsewhere.tar.gz"]);
    assert_eq!(verified.status.code(), Some(0), "{}{}", text(&verified.stdout), text(&verified.stderr));
    assert!(text(&verified.stdout).lines().any(|line| line == "verified"));

    write(&place.path("garden.toml"), &SHEET.replace("students", "student"));
    let refused = place.output(&["plan", "garden.toml"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    let said = text(&refused.stderr);
    assert!(said.contains("garden.toml:4:1: there is no key `student`; did you mean `students`?"), "{said}");
}

#[test]
fn trials_without_a_result_end_a_demo_as_they_end_a_bench() {
    let place = Place::new();
    let tasks = ["mousepad-windows-lines", "mousepad-add-line"];
    let selection =
        json!({ "schema": "apprentice.selection/1", "suite": "starter", "rule": "Two.", "tasks": tasks });
    write(&place.path("two.json"), &selection.to_string());
    let suite = crate::place::suite().to_string_lossy().into_owned();
    let common = ["--suite", &suite, "--select", "two.json", "--seeds", "1", "--out", "out"];
    // No machine of these is ever brought into its first state.
    let machine =
        ["--world", "vm", "--vm-url", "http://127.0.0.1:9", "--vm-reset", "false", "--measure-empty-book"];
    let mut demo = place.command(&[&["demo"], &common[..], &machine[..]].concat());
    let output = demo.env("APPRENTICE_ATTEMPTS", "1").output().expect("it starts");
    assert_eq!(output.status.code(), Some(11), "{output:?}");
    let heard = String::from_utf8_lossy(&output.stderr);
    assert!(heard.contains("7 void trials") && heard.contains("the report lists their causes"), "{heard}");
    assert!(place.path("out/report.html").is_file(), "the report is written all the same");
}
