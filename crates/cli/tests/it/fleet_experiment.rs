//! Experiments of several workers by the commands: one leads, all measure, and the report is that of one machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::experiment::{plant, write, write_book};
use crate::fleet::Place;
use crate::place::await_within;

/// No step of these tests takes longer.
const LONGEST: Duration = Duration::from_secs(240);

/// Tasks in a program whose commands hide two menus deep, which a novice does not find alone.
const TASKS: [(&str, &str, &str); 5] = [
    ("prune", "Prune the roses.", "Prune Roses"),
    ("water", "Water the lilies.", "Water Lilies"),
    ("trim", "Trim the hedges.", "Trim Hedges"),
    ("rake", "Rake the leaves.", "Rake Leaves"),
    ("sow", "Sow the carrots.", "Sow Carrots"),
];

/// The arm `inline` needs what `pull` retrieved on another worker, and `raw-trace` the attempts behind the book.
const EXPERIMENT: &str = r#"
suite = "."
teacher = "builtin/explorer"
students = ["builtin/novice"]
arms = ["none", "pull", "inline", "raw-trace", "placebo-inert"]

[learning]
epochs = 1
rehearsal = false
"#;

/// A place with a locked suite and an experiment on it.
fn garden() -> Place {
    let place = Place::new();
    let garden = place.home.path().join("garden");
    plant(&garden, &TASKS);
    write(&garden.join("experiment.toml"), EXPERIMENT);
    place.succeeds("split draw garden");
    place.succeeds("split lock garden");
    place
}

/// A worker that ends with this value.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A worker that is not lost, however busy the machine is.
fn worker(place: &Place, name: &str) -> Worker {
    leasing(place, name, 600)
}

/// A worker whose trials others take over after so many seconds.
fn leasing(place: &Place, name: &str, lease: u32) -> Worker {
    let mut command = place.command(&format!("worker --until-done --lease {lease} --name {name}"));
    Worker(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"))
}

fn ended(workers: Vec<Worker>) {
    for mut worker in workers {
        let ended = await_within(LONGEST, "the end of a worker", || worker.0.try_wait().expect("asks"));
        assert!(ended.success(), "workers end by themselves when all is done");
    }
}

/// Removes what differs between two times at which the same thing is done, and where.
fn timeless(value: &Value) -> Value {
    const TIMES: [&str; 9] = [
        "wall_s",
        "working_s",
        "started_at",
        "registered_at",
        "run",
        "trace",
        "command",
        "generated_at",
        "platform",
    ];
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !TIMES.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), timeless(value)))
            .collect(),
        Value::Array(values) => values.iter().map(timeless).collect(),
        other => other.clone(),
    }
}

/// The results of an experiment by trial: those that count.
fn results(folder: &Path) -> BTreeMap<String, (String, String)> {
    let report = report(folder);
    let trials = report["trials"].as_array().expect("trials").iter().filter(|trial| trial["counts"] == true);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    trials.map(|one| (text(&one["trial"]), (text(&one["arm"]), text(&one["verdict"])))).collect()
}

fn report(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("report.json")).expect("a report")).expect("json")
}

fn status(place: &Place) -> Value {
    serde_json::from_str(&place.succeeds("queue --json")).expect("json")
}

/// Asks for the state of the queue until it is as wanted.
fn until(place: &Place, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    await_within(LONGEST, what, || Some(status(place)).filter(&wanted))
}

fn fetched(place: &Place, experiment: &str) -> PathBuf {
    place.home.path().join(place.succeeds(&format!("fetch {experiment}")))
}

#[test]
fn an_experiment_of_four_workers_has_the_report_of_one_machine_and_survives_that_all_are_killed() {
    let place = garden();
    place.succeeds("distill garden/experiment.toml --out embedded");
    let embedded = place.home.path().join("embedded");
    let artifacts = place.home.path().join("artifacts");
    let submit = format!("submit garden/experiment.toml --artifacts file://{}", artifacts.display());

    let experiment = place.succeeds(&submit);
    ended((0..4).map(|at| worker(&place, &format!("w{at}"))).collect());
    let rows_only = format!("fetch --rows-only --out rows {experiment}");
    let rows = place.home.path().join(place.succeeds(&rows_only));
    assert_eq!(results(&rows), results(&embedded));
    let of_trials = |folder: &Path| {
        let runs = fs::read_dir(folder.join("measure")).expect("runs").flatten();
        runs.filter(|run| run.path().join("trials").exists()).count()
    };
    let folder = fetched(&place, &experiment);
    assert_eq!((of_trials(&rows), of_trials(&folder)), (0, 1));
    assert_eq!(timeless(&report(&folder)), timeless(&report(&embedded)));
    for line in ["report", "bundle", "resume"] {
        place.succeeds(&format!("{line} {}", folder.display()));
    }
    place.succeeds(&format!("bundle queue:{experiment} --out queue.tar.gz"));
    assert!(place.succeeds("verify queue.tar.gz").ends_with("\nverified"));
    // What was done here is not overwritten; a report is made of the rest.
    fetched(&place, &experiment);
    let rows = fs::read_dir(folder.join("measure"))
        .expect("runs")
        .flatten()
        .next()
        .expect("a run")
        .path()
        .join("trials.jsonl");
    let kept = fs::read_to_string(&rows).expect("rows").lines().skip(1).collect::<Vec<_>>().join("\n");
    fs::write(&rows, &kept).expect("writes");
    place.fails(&format!("fetch {experiment}"), 3);
    assert_eq!(fs::read_to_string(&rows).expect("rows"), kept);
    assert!(place.succeeds(&format!("verify {}.tar.gz", folder.display())).contains("verified"));

    // Killed: the leader while it learns, another one while all measure, and then all of them.
    let experiment = place.succeeds(&submit);
    let copied = |status: &Value| status["experiments"][1]["copied"] == true;
    let first = vec![leasing(&place, "first", 15)];
    until(&place, "a copy of the folder", copied);
    drop(first);
    let all: Vec<Worker> = (0..3).map(|at| leasing(&place, &format!("v{at}"), 15)).collect();
    let done = |status: &Value| status["runs"][1]["done"].as_u64().is_some_and(|done| done >= 2);
    until(&place, "the measurement", done);
    drop(all);
    ended((0..2).map(|at| leasing(&place, &format!("u{at}"), 15)).collect());
    let status = status(&place);
    assert_eq!(status["experiments"][1]["state"], "done", "{status}");
    let folder = fetched(&place, &experiment);
    assert_eq!(results(&folder), results(&embedded));
    place.succeeds(&format!("bundle {}", folder.display()));
    assert!(place.succeeds(&format!("verify {}.tar.gz", folder.display())).contains("verified"));
}

#[test]
fn a_bench_of_workers_has_the_report_of_one_machine() {
    let place = garden();
    let home = place.home.path();
    write_book(&home.join("book"));
    place.succeeds("skills sync --skillbook book");
    let bench = "garden --student builtin/novice --skillbook book --arms none,pull --seeds 2 --baselines";
    place.succeeds(&format!("bench {bench} --out embedded"));
    let submit = format!("submit {bench} --artifacts file://{}/artifacts", home.display());
    let experiment = place.succeeds(&submit);
    assert!(experiment.starts_with("bench-"), "{experiment}");
    // Whoever leads has the files that were submitted, wherever they were.
    for (from, to) in [("garden", "moved"), ("book", "moved-book")] {
        fs::rename(home.join(from), home.join(to)).expect("moves");
    }
    ended((0..2).map(|at| worker(&place, &format!("w{at}"))).collect());
    let folder = fetched(&place, &experiment);
    assert_eq!(timeless(&report(&folder)), timeless(&report(&home.join("embedded"))));
    place.succeeds(&format!("bundle queue:{experiment} --out b.tar.gz"));
    assert!(place.succeeds("verify b.tar.gz").ends_with("\nverified"));
    for (from, to) in [("garden", "moved"), ("book", "moved-book")] {
        fs::rename(home.join(to), home.join(from)).expect("moves");
    }
    place.succeeds(&format!("resume {}", folder.display()));

    for option in ["--out here", "--runnable-here", "--deny-tool x", "--max-steps 3"] {
        let said = place.fails(&format!("{submit} {option}"), 2);
        assert!(
            said.contains(option.split(' ').next().expect("a name")) || said.contains("tool servers"),
            "{said}"
        );
    }
    let said = place.fails(&format!("{submit} --model builtin/novice"), 2);
    assert!(said.contains("--model") && said.contains("--student"), "{said}");
}

#[test]
fn what_is_wrong_with_an_experiment_is_told_before_it_is_queued_and_it_can_be_cancelled() {
    let place = garden();
    let submit = "submit garden/experiment.toml --artifacts";
    let at = format!("file://{}/a", place.home.path().display());
    let said = place.fails(&format!("{submit} {at} --seeds 4"), 2);
    assert!(said.contains("--seeds"), "{said}");
    let said = place.fails(&format!("{submit} {at} --out here"), 2);
    assert!(said.contains("--out"), "{said}");
    let said = place.fails(&format!("submit suite --artifacts {at}"), 2);
    assert!(said.contains("--model"), "{said}");
    let said = place.fails(&format!("{submit} ftp://x"), 2);
    assert!(said.contains("s3://BUCKET/PREFIX"), "{said}");
    let said = place.fails(&format!("--max-usd 1 {submit} {at}"), 2);
    assert!(said.contains("cap.trial_usd"), "{said}");
    // A cap of the student alone does not bound what the teacher's trials may cost.
    let settings = place.home.path().join("apprentice.toml");
    write(&settings, "[role.student]\nmodel = \"builtin/novice\"\ntrial_usd = 0.1\n");
    let said = place.fails(&format!("--max-usd 1 {submit} {at}"), 2);
    assert!(said.contains("any of its models"), "{said}");
    fs::remove_file(settings).expect("removes");
    let experiment = place.succeeds(&format!("{submit} {at}"));
    let said = place.fails(&format!("fetch {experiment}"), 4);
    assert!(said.contains("no worker has left anything"), "{said}");
    let said = place.fails(&format!("bundle queue:{experiment}"), 4);
    assert!(said.contains("no worker has left anything"), "{said}");
    place.succeeds(&format!("cancel {experiment}"));
    place.fails(&format!("fetch --follow {experiment}"), 4);
    ended(vec![worker(&place, "w")]);
    assert_eq!(status(&place)["experiments"][0]["state"], "cancelled");
}

#[test]
fn a_plan_tells_what_fleets_would_take_by_an_earlier_run() {
    let place = garden();
    place.succeeds("run suite --model baseline/solution --out runs");
    let run =
        fs::read_dir(place.home.path().join("runs")).expect("runs").flatten().next().expect("a run").path();
    let plan = format!("plan garden/experiment.toml --fleet 1,10,1000 --from {} --json", run.display());
    let planned: Value = serde_json::from_str(&place.succeeds(&plan)).expect("json");
    let hours: Vec<f64> =
        planned["fleet"].as_array().expect("a list").iter().filter_map(|one| one["hours"].as_f64()).collect();
    assert_eq!(hours.len(), 3, "{planned}");
    assert!(hours[0] >= hours[1] && hours[1] >= hours[2] && hours[2] > 0.0, "{hours:?}");
    assert!(planned["fleet"][0]["store_bytes"].as_f64().is_some_and(|bytes| bytes > 0.0), "{planned}");
    place.fails("plan garden/experiment.toml --fleet 10", 2);
    place.fails(&format!("plan garden/experiment.toml --fleet 10 --from {}", place.home.path().display()), 3);
}
