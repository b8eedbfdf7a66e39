//! `apprentice fork` through the real program: a measured trial is forked with and without the skill that it read.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::experiment::{bench, garden};
use crate::place::{Place, rows, text};

/// The run of a bench of the garden, and the id of its trial of `prune` under this arm.
fn measured(place: &Place, arm: &str) -> (PathBuf, String) {
    let done = place.output(&bench(&["--seeds", "1"]));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let runs = fs::read_dir(place.path("out/measure")).expect("runs").flatten();
    let run = runs.map(|entry| entry.path()).find(|path| path.join("run.json").is_file()).expect("a run");
    let row = rows(&run).into_iter().find(|row| row["task"] == "prune" && row["arm"] == arm).expect("a row");
    (run, row["trial"].as_str().expect("an id").to_owned())
}

#[test]
fn a_measured_trial_is_forked_without_the_skill_it_read() {
    let place = garden();
    let (_, trial) = measured(&place, "pull");
    let at = |step: &str, more: &[&str]| {
        let fixed = ["fork", &trial[..8], "--run", "out", "--at", step];
        place.output(&fixed.into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
    };
    let fork = |more: &[&str]| at("s2", more);
    let outlined = fork(&["--without", "beds/care", "-n", "4", "--out", "forked", "--dry-run", "--json"]);
    assert_eq!(outlined.status.code(), Some(0), "{}", text(&outlined.stderr));
    let done = fork(&["--without", "beds/care", "-n", "4", "--out", "forked", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).expect("a report");
    assert_eq!(report["schema"], "apprentice.fork/1");
    assert_eq!(report["notes"], Value::Array(Vec::new()), "the frozen book is the recorded one");
    let arms: Vec<_> = report["arms"].as_array().expect("arms").iter().collect();
    assert_eq!(
        (&arms[0]["arm"], &arms[0]["passed"], &arms[0]["judged"]),
        (&"pull".into(), &4.into(), &4.into())
    );
    assert_eq!(
        (&arms[1]["arm"], &arms[1]["passed"], &arms[1]["judged"]),
        (&"without:beds/care".into(), &0.into(), &4.into())
    );
    assert_eq!(report["effect"]["verdict"], "helps", "{report:#}");
    let stored = fs::read_to_string(place.path("forked/fork.json")).expect("a report");
    assert_eq!(serde_json::from_str::<Value>(&stored).expect("reads"), report);

    for (more, code, told) in [
        (
            &["--without", "beds/cure"][..],
            2,
            "the skillbook has no skill beds/cure; did you mean \"beds/care\"?",
        ),
        (&["-n", "0"], 2, "0 is not in 1..=1000"),
        (&["--attempt", "7"], 4, "has no finished attempt 7"),
        (&["--model", "baseline/noop"], 2, "baseline/noop is no model that can go on from a step"),
        (&["--out", "forked"], 21, "the folder is not empty"),
    ] {
        let refused = fork(more);
        assert_eq!(refused.status.code(), Some(code), "{more:?}: {}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains(told), "{more:?}: {}", text(&refused.stderr));
    }
    for (step, told) in [("s99", "there is no step s99 to fork at"), ("0", "is no step; write it as s3 or 3")]
    {
        let refused = at(step, &[]);
        assert_eq!(refused.status.code(), Some(2), "{step}: {}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains(told), "{step}: {}", text(&refused.stderr));
    }
    let path = place.path("garden/examples/beds/prune.json");
    let task = fs::read_to_string(&path).expect("reads").replace("Prune the roses.", "Prune the vines.");
    fs::write(&path, task).expect("writes");
    let refused = fork(&[]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("has changed since the run"), "{}", text(&refused.stderr));
}

#[test]
fn a_run_keeps_its_skillbook_and_goes_on_without_the_users_own() {
    let place = garden();
    let run = [
        "run",
        "garden",
        "--model",
        "builtin/novice",
        "--arm",
        "pull",
        "--skillbook",
        "book",
        "--out",
        "runs",
    ];
    let done = place.output(&run);
    let folder = fs::read_dir(place.path("runs")).expect("runs").flatten().next().expect("a run").path();
    let first = rows(&folder);
    assert!(first.len() > 1, "{}", text(&done.stderr));
    assert!(folder.join("book/DOMAINS.md").is_file() && folder.join("book/.meta/ops.jsonl").is_file());

    // One trial has no result yet, and the user's book is gone.
    fs::remove_dir_all(place.path("book")).expect("removed");
    let kept = fs::read_to_string(folder.join("trials.jsonl")).expect("rows");
    let (left, _) = kept.trim_end().rsplit_once('\n').expect("two rows");
    fs::write(folder.join("trials.jsonl"), format!("{left}\n")).expect("writes");
    let resumed = place.output(&["resume", &folder.to_string_lossy()]);
    let hashes = |rows: &[Value]| -> BTreeSet<(String, String)> {
        let of = |row: &Value| (row["trial"].to_string(), row["skillbook_hash"].to_string());
        rows.iter().filter(|row| row["verdict"] != "void").map(of).collect()
    };
    assert_eq!(hashes(&rows(&folder)), hashes(&first), "{}", text(&resumed.stderr));
    assert!(first[0]["skillbook_hash"].is_string());
}
