//! A review in the attempt's own conversation, through the real program: real worlds, no key.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, suite, worlds_can_start};

/// One task to learn on and one to measure.
const TASKS: [&str; 2] = ["mousepad-windows-lines", "mousepad-add-line"];

#[test]
fn a_demo_whose_teacher_has_nothing_to_say_in_its_own_conversation_is_reviewed_by_a_reader() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let selection = json!({ "schema": "apprentice.selection/1", "suite": "starter", "rule": "The quickest.", "tasks": TASKS });
    fs::write(place.path("two.json"), selection.to_string()).expect("written");
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let suite = suite().to_string_lossy().into_owned();
    let demo = place.output(&[
        "demo",
        "--suite",
        &suite,
        "--select",
        &path("two.json"),
        "--seeds",
        "1",
        "--reflection",
        "in-context",
        "--out",
        &path("out"),
    ]);
    assert!(demo.status.success(), "{demo:?}");

    let book = path("out/skillbook");
    let log = fs::read_to_string(place.path("out/skillbook/.meta/ops.jsonl")).expect("a log");
    let operations = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("an operation"));
    let reflected: Vec<Value> = operations.filter(|one| one["op"] == "trajectory.reflected").collect();
    let way = |one: &Value| {
        (
            one["data"]["mode"].as_str().map(str::to_owned),
            one["data"]["fallback"]["why"].as_str().map(str::to_owned),
        )
    };
    let modes: Vec<_> = reflected.iter().map(way).collect();
    // Two lessons of the teacher's, whose rules give no answer there; the rehearsal is the student's, whom the teacher cannot answer
    // for.
    let read = (Some("fresh".to_owned()), Some("unusable".to_owned()));
    assert_eq!(modes[..2], [read.clone(), read], "{reflected:#?}");
    assert_eq!(modes[2].1.as_deref(), Some("another_model"), "{reflected:#?}");
    let skills = place.output(&["skills", "list", "--skillbook", &book, "--json"]);
    let skills: Value = serde_json::from_slice(&skills.stdout).expect("JSON");
    assert!(skills["skills"].as_array().is_some_and(|skills| !skills.is_empty()), "{skills}");
}
