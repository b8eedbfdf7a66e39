//! Commands of which no other test reads the JSON. What they print is held to its published form where they are called.

use std::fs;
use std::path::Path;

use apprentice_skillbook::{Actor, Change, Gateway, GatewayOptions, WriteRequest};
use jiff::Timestamp;
use serde_json::json;

use crate::experiment::{bench, garden};
use crate::place::{Place, copy, rows, text};

/// Calls commands that have to succeed.
fn succeed(place: &Place, commands: &[&[&str]]) {
    for command in commands {
        let done = place.output(&[command, &["--json"][..]].concat());
        assert_eq!(done.status.code(), Some(0), "{command:?}: {}", text(&done.stderr));
    }
}

#[test]
fn commands_over_a_run_print_their_published_forms() {
    let place = garden();
    let run = ["run", "garden", "--model", "builtin/explorer"];
    succeed(&place, &[&[&run[..], &["--dry-run"]].concat(), &run]);
    let folder = place.run_folder();
    let row = rows(&folder).remove(0);
    let trace = folder.join(row["trace"].as_str().expect("a folder"));
    let (run, trace) = (folder.to_string_lossy(), trace.to_string_lossy());
    succeed(
        &place,
        &[
            &["compare", &run, &run],
            &["report", &run, "--by-steps"],
            &["grade", &run],
            &["export", &run, "--format", "csv", "--out", "tables"],
            &["sql", &run, "select 1"],
            &["bundle", &run, "--out", "run.tar.gz"],
            &["verify", "run.tar.gz"],
            &["trace", "review", &trace],
            &["trace", "review", &trace, "--expand", "e1"],
        ],
    );
}

#[test]
fn a_plan_of_another_version_is_refused_by_what_reads_it() {
    let place = garden();
    let ran = place.output(&["run", "garden", "--model", "builtin/explorer"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let folder = place.run_folder();
    let plan = fs::read_to_string(folder.join("run.json")).expect("a plan");
    fs::write(folder.join("run.json"), plan.replace("apprentice.run/1", "apprentice.run/9"))
        .expect("written");
    let run = folder.to_string_lossy();
    for command in [
        &["report", &run, "--json"][..],
        &["export", &run, "--format", "csv", "--out", "tables"],
        &["resume", &run],
        &["sql", &run, "select 1"],
    ] {
        let done = place.output(command);
        assert_eq!(done.status.code(), Some(3), "{command:?}: {}", text(&done.stdout));
        assert!(text(&done.stderr).contains("has the form \"apprentice.run/9\""), "{}", text(&done.stderr));
    }
}

#[test]
fn commands_over_a_suite_print_their_published_forms() {
    let place = garden();
    fs::write(place.path("said.txt"), "a").expect("written");
    succeed(
        &place,
        &[
            &["tasks", "show", "garden", "mow"],
            &["tasks", "metric", "exact_match", "--result", "\"a\"", "--expected", r#"{"expected": "a"}"#],
            &["split", "draw", "garden"],
            &["split", "lock", "garden"],
            &["split", "show", "garden"],
            &["explore", "garden", "--model", "builtin/explorer", "--steps", "9", "--dry-run"],
            &bench(&[]),
        ],
    );
    // So few experiments say nothing of error rates, and that is told.
    let few = place.output(&["selftest", "stats", "--experiments", "4", "--json"]);
    assert!(!few.stdout.is_empty(), "{}", text(&few.stderr));
}

#[test]
fn commands_that_change_a_skill_print_their_published_forms() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    copy(&root.join("skillbook"), &place.path("book"));
    fs::copy(root.join("docs/images/viewer-live.png"), place.path("live.png")).expect("a picture");
    let skill = "chromium/page-edit-table-cell";
    let suspended =
        json!({"op": "skill.suspended", "data": {"skill": skill, "why": "it clicks the wrong cell"}});
    let change: Change = serde_json::from_value(suspended).expect("a change");
    let (mut book, _) =
        Gateway::open(&place.path("book"), GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens");
    book.apply(WriteRequest::of(Actor::Handler, Timestamp::UNIX_EPOCH, change)).expect("suspended");
    drop(book);
    let add =
        ["skills", "--skillbook", "book", "add-figure", skill, "live.png", "--alt", "the page of what runs"];
    succeed(&place, &[&["skills", "--skillbook", "book", "resume", skill], &add]);
}
