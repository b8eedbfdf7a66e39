//! Files that an earlier version wrote: a bundle verifies, a run is graded and resumed, an experiment's old keys are read.
//!
//! `golden/run-1.tar.gz` is the bundle of a run of `golden/suite`, made with `--order 1 --steps 25`, two options that
//! have other names since. It stays as it is for ever; a new version of a format gets a new file beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::place::{Place, copy, rows, worlds_can_start};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Unpacks the golden bundle beside a copy of its suite, and gives the run's folder.
pub(crate) fn unpacked(place: &Place) -> PathBuf {
    copy(&golden("suite"), &place.path("suite"));
    let run = place.path("old");
    fs::create_dir(&run).expect("a folder");
    let archive = fs::File::open(golden("run-1.tar.gz")).expect("the bundle");
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(&run).expect("unpacked");
    run
}

#[test]
fn a_bundle_of_an_earlier_version_verifies() {
    let place = Place::new();
    let bundle = golden("run-1.tar.gz");
    let output = place.output(&["verify", &bundle.to_string_lossy()]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_run_of_an_earlier_version_is_graded_and_resumed() {
    let place = Place::new();
    let run = unpacked(&place);
    let graded = place.output(&["grade", "old"]);
    assert!(graded.status.success(), "{}", stderr(&graded));
    if !worlds_can_start() {
        return;
    }
    let lines = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    let (first, _) = lines.split_once('\n').expect("two rows");
    fs::write(run.join("trials.jsonl"), format!("{first}\n")).expect("written");
    let done = rows(&run)[0]["trial"].as_str().expect("a trial").to_owned();
    for entry in fs::read_dir(run.join("trials")).expect("trials").flatten() {
        if !entry.file_name().to_string_lossy().ends_with(&done) {
            fs::remove_dir_all(entry.path()).expect("removed");
        }
    }
    // Prompts may change between versions; the suite and the plan may not.
    let resumed = place.output(&["resume", "old", "--accept-drift"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    let trials = rows(&run);
    assert_eq!(trials.len(), 2, "{}", stderr(&resumed));
    assert!(trials.iter().all(|row| row["verdict"] == "pass"), "{trials:?}");
    assert_eq!(fs::read_to_string(run.join("trials.jsonl")).expect("rows").lines().next(), Some(first));
}

#[test]
fn a_run_of_an_earlier_version_is_shown_and_exported() {
    let place = Place::new();
    let run = unpacked(&place);
    let page = place.path("old.html");
    let shown = place.output(&["view", "old", "--export", &page.to_string_lossy()]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("2 attempts"), "{shown:?}");
    for row in rows(&run) {
        let trial = row["trial"].as_str().expect("a trial");
        assert!(fs::read_to_string(&page).expect("a page").contains(trial), "{trial} is on the page");
    }
    let exported = place.output(&["export", "old", "--format", "csv", "--out", "tables"]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let table = fs::read_to_string(place.path("tables/trials.csv")).expect("a table");
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn old_names_of_options_work_and_say_the_new_ones() {
    let place = Place::new();
    let run = unpacked(&place);
    let output = place.output(&["verify", &run.to_string_lossy(), "--most", "100000000"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("--most is now --max-bytes"), "{}", stderr(&output));
}
