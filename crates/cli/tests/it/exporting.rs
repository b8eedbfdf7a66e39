//! `export`, `collect` and `run --ci` with the real program, in worlds in memory.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::experiment::garden;
use crate::place::{PROGRAM, Place};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The only run of a place.
fn only_run(place: &Place) -> PathBuf {
    let mut runs = fs::read_dir(place.path("runs")).expect("runs");
    let run = runs.next().expect("a run").expect("an entry").path();
    assert!(runs.next().is_none(), "one run");
    run
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn a_collection_is_exported_and_its_run_can_be_resumed_and_exported_again() {
    let place = garden();
    let collect = ["collect", "garden", "--model", "builtin/explorer", "-n", "2", "--out", "data", "--json"];
    let done = place.output(&collect);
    assert_eq!(code(&done), Some(0), "{}", text(&done.stderr));
    let manifest: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!((&manifest["schema"], &manifest["exported"]), (&"apprentice.export/1".into(), &4.into()));
    let lines = fs::read_to_string(place.path("data/unsplit.jsonl")).expect("read");
    assert_eq!(lines.lines().count(), 4, "a world that does not vary is worked in once");
    assert!(lines.contains("\"role\":\"system\"") && lines.contains("Elements:"), "{lines}");

    let run = only_run(&place).to_string_lossy().into_owned();
    let resumed = place.output(&["resume", &run]);
    assert_eq!(code(&resumed), Some(0), "{}", text(&resumed.stderr));
    let again = place.output(&collect);
    assert_eq!(code(&again), Some(2), "a folder that is taken is refused before anything runs");
    only_run(&place);

    let wrong = place.output(&["export", &run, "--format", "xml", "--out", "x"]);
    assert!(
        code(&wrong) == Some(2) && text(&wrong.stderr).contains("osworld, csv"),
        "{}",
        text(&wrong.stderr)
    );
    let none = place.output(&["export", &run, "--format", "csv", "--arm", "push", "--out", "x"]);
    assert!(code(&none) == Some(4) && text(&none.stderr).contains("4 another arm"), "{}", text(&none.stderr));
    let missing = place.output(&["export", "nothing", "--format", "csv", "--out", "x"]);
    assert!(
        code(&missing) == Some(3) && text(&missing.stderr).contains("does not exist"),
        "{}",
        text(&missing.stderr)
    );
    assert!(!place.path("x").exists());
}

#[test]
fn a_collection_tries_each_variation_several_times() {
    let place = garden();
    let collect = [
        "collect",
        "garden",
        "--model",
        "builtin/explorer",
        "--tries",
        "3",
        "--keep-duplicates",
        "--out",
        "data",
        "--json",
    ];
    let done = place.output(&collect);
    assert_eq!(code(&done), Some(0), "{}", text(&done.stderr));
    let index = fs::read_to_string(place.path("data/index.jsonl")).expect("read");
    let lines = index.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let mut tried: Vec<String> =
        lines.map(|line| format!("{} {} {}", line["task"], line["seed"], line["arm"])).collect();
    tried.sort();
    let tasks = ["mow", "prune", "trim", "water"];
    let arms = ["none", "try-2", "try-3"];
    let wanted = tasks.iter().flat_map(|task| arms.map(|arm| format!("\"{task}\" 0 \"{arm}\"")));
    assert_eq!(tried, wanted.collect::<Vec<_>>());

    // A try that is missing is made up for, and nothing else.
    let run = only_run(&place);
    let rows = fs::read_to_string(run.join("trials.jsonl")).expect("read");
    let kept: Vec<&str> =
        rows.lines().filter(|row| !(row.contains("try-3") && row.contains("mow"))).collect();
    fs::write(run.join("trials.jsonl"), kept.join("\n") + "\n").expect("written");
    let resumed = place.output(&["resume", &run.to_string_lossy(), "--json"]);
    assert_eq!(code(&resumed), Some(0), "{}", text(&resumed.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&resumed.stdout).expect("JSON");
    assert_eq!((&summary["planned"], &summary["passed"]), (&12.into(), &12.into()), "{summary}");

    let helped = [
        "run",
        "garden",
        "--model",
        "builtin/explorer",
        "--arm",
        "pull",
        "--skillbook",
        "book",
        "--tries",
        "2",
    ];
    let refused = place.output(&helped);
    assert!(
        code(&refused) == Some(2) && text(&refused.stderr).contains("--tries"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn an_export_to_a_full_disk_leaves_nothing_behind() {
    let place = garden();
    let done = place.output(&["run", "garden", "--model", "builtin/explorer"]);
    assert_eq!(code(&done), Some(0), "{}", text(&done.stderr));
    let run = only_run(&place);
    // No file may become larger than two blocks: what a full disk is to a writer.
    let line = "trap '' XFSZ; ulimit -f 2; exec \"$0\" export \"$1\" --format openai --out data/deep";
    let full = Command::new("bash")
        .args(["-c", line, PROGRAM])
        .arg(&run)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", place.path("."))
        .current_dir(place.path("."))
        .output()
        .expect("it starts");
    assert_eq!(code(&full), Some(21), "{}", text(&full.stderr));
    assert!(text(&full.stderr).contains("the disk is full"), "{}", text(&full.stderr));
    assert_eq!(fs::read_dir(place.path("data")).expect("a folder").count(), 0, "not even half an export");
}

#[test]
fn a_build_server_gets_results_annotations_and_thresholds() {
    let place = garden();
    let run = |more: &[&str]| {
        place.output(
            &[&["run", "garden", "--model", "builtin/novice", "--ci", "--junit", "junit.xml"], more].concat(),
        )
    };
    let failed = run(&[]);
    assert_eq!(code(&failed), Some(10), "{}", text(&failed.stderr));
    let told = text(&failed.stderr);
    assert_eq!(told.lines().filter(|line| line.starts_with("::error title=")).count(), 4, "{told}");
    let junit = fs::read_to_string(place.path("junit.xml")).expect("read");
    assert_eq!((junit.matches("<testcase").count(), junit.matches("<failure").count()), (4, 4), "{junit}");
    assert_eq!(code(&run(&["--fail-under", "0"])), Some(0));
    let high = run(&["--fail-under", "0.5"]);
    assert!(
        code(&high) == Some(10) && text(&high.stderr).contains("0 of 4 passed"),
        "{}",
        text(&high.stderr)
    );
    assert_eq!(code(&run(&["--fail-under", "2"])), Some(2), "a rate is a share");
}
