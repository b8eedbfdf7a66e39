//! A full disk: runs stop with the reason and the remedy, no half-written line is read as a result, and once
//! there is room again they go on.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::place::{PROGRAM, Place, QUICK, suite, text, worlds_can_start};

/// Runs in a small file system of its own, makes room, and resumes. Its output, in order: both exit codes.
const SCRIPT: &str = r#"
mkdir "$2/runs" && mount -t tmpfs -o "size=$3" tmpfs "$2/runs" || exit 99
"$0" run "$1" --model baseline/solution --seeds 2 --task "$4" --task "$5" >"$2/out1" 2>"$2/err1"
echo "run $?"
cat "$2"/runs/*/trials.jsonl >"$2/rows1" 2>/dev/null
mount -o remount,size=200m "$2/runs"
for run in "$2"/runs/*; do
  if [ -f "$run/run.json" ]; then
    "$0" resume "$run" >"$2/out2" 2>"$2/err2"
    echo "resume $?"
    cp "$run/trials.jsonl" "$2/rows2"
  fi
done
"#;

/// The outcome of one such run.
struct Outcome {
    codes: BTreeMap<String, i32>,
    error: String,
}

fn check_with(size: &str) -> Option<Outcome> {
    let place = Place::new();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", SCRIPT, PROGRAM])
        .arg(suite())
        .arg(place.0.path())
        .args([size, QUICK[0], QUICK[1]])
        .env("APPRENTICE_STATE", place.path("state"))
        .env("APPRENTICE_RUNS", place.path("runs"))
        .env("APPRENTICE_JOBS", "2")
        .output()
        .expect("it starts");
    if output.status.code() == Some(99) {
        return None;
    }
    let told = text(&output.stdout);
    let codes = told.lines().filter_map(|line| line.split_once(' '));
    let codes = codes.map(|(name, code)| (name.to_owned(), code.parse().expect("a code"))).collect();
    let rows = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(place.path(name)).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).expect("a row")).collect()
    };
    let (before, after) = (rows("rows1"), rows("rows2"));
    assert_eq!(after[..before.len().min(after.len())], before, "{size}: finished attempts stand");
    if fs::exists(place.path("rows2")).expect("looked") {
        let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
        for row in after.iter().filter(|row| row["verdict"] != "void") {
            assert_eq!(row["verdict"], "pass", "{size}: {row}");
            *passed.entry(row["trial"].as_str().expect("a trial")).or_default() += 1;
        }
        assert_eq!(passed.len(), 4, "{size}: {after:?}");
        assert!(passed.values().all(|times| *times == 1), "{size}: {passed:?}");
    }
    Some(Outcome { codes, error: text(&fs::read(place.path("err1")).expect("standard error")) })
}

/// Runs on a disk of this size; `has_plan` says that a run's plan fits on it, so that there is something to resume. Sizes are tests of
/// their own, which run side by side.
fn a_full_disk_stops_a_run(size: &str, has_plan: bool) {
    if !worlds_can_start() {
        return;
    }
    let Some(Outcome { codes, error }) = check_with(size) else { return };
    assert_eq!(codes.get("run"), Some(&21), "{size}: {error}");
    assert!(error.contains("the disk is full"), "{size}: {error}");
    assert!(error.contains("free some space"), "{size}: {error}");
    let resumed = codes.get("resume");
    assert!(resumed.is_none_or(|code| *code == 0), "{size}: {codes:?} {error}");
    assert!(resumed.is_some() || !has_plan, "{size}: where there was room for a plan, the run goes on");
}

#[test]
fn a_disk_without_room_for_a_plan_stops_a_run() {
    a_full_disk_stops_a_run("4k", false);
}

#[test]
fn a_disk_with_room_for_a_plan_alone_stops_a_run_that_goes_on_when_there_is_room() {
    a_full_disk_stops_a_run("24k", true);
}

#[test]
fn a_disk_that_is_full_within_a_trial_stops_a_run_that_goes_on_when_there_is_room() {
    a_full_disk_stops_a_run("100k", true);
}

#[test]
fn a_disk_that_is_full_after_a_trial_stops_a_run_that_goes_on_when_there_is_room() {
    a_full_disk_stops_a_run("300k", true);
}
