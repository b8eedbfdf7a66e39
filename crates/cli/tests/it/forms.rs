//! Commands of which no other test reads the JSON. What they print is held to its published form where they are called.

use std::fs;

use crate::experiment::{bench, garden};
use crate::place::{Place, rows, text};

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
