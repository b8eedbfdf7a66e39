//! Experiments of several workers by the commands: one leads, all measure, and the report is that of one machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::Place;

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

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
    fs::write(path, text).expect("writes");
}

/// A place with a locked suite and an experiment on it.
fn garden() -> Place {
    let place = Place::new();
    let home = place.home.path();
    let entry = |(_, _, name): &(&str, &str, &str)| json!({ "role": "menuitem", "name": name, "click": [{ "set": { "done": name } }] });
    let scene = json!({
        "start": "main", "state": { "done": null },
        "pages": { "main": { "title": "Garden", "controls": [
            { "role": "menu", "name": "File", "items": [{ "role": "menuitem", "name": "Quit" }] },
            { "role": "menu", "name": "Beds", "items": [
                { "role": "menuitem", "name": "Care", "items": TASKS.iter().map(entry).collect::<Vec<_>>() } ] }
        ] } }
    });
    for (id, instruction, wanted) in TASKS {
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
        write(&home.join(format!("garden/examples/beds/{id}.json")), &task.to_string());
    }
    let ids: Vec<&str> = TASKS.iter().map(|(id, ..)| *id).collect();
    write(&home.join("garden/suite.json"), &json!({ "beds": ids }).to_string());
    write(
        &home.join("garden/inert/beds/leaving.md"),
        "## Situation\n\nThe program is to be left.\n\n## Guidance\n\nChoose Quit in the File menu.\n\n## Annotations\n\nNone\n",
    );
    write(&home.join("garden/experiment.toml"), EXPERIMENT);
    place.succeeds("split draw garden");
    place.succeeds("split lock garden");
    place
}

fn worker(place: &Place, name: &str) -> Child {
    let mut command = place.command(&format!("worker --until-done --lease 15 --name {name}"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
}

fn ended(workers: Vec<Child>) {
    for mut worker in workers {
        assert!(worker.wait().expect("ends").success(), "workers end by themselves when all is done");
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

/// How often a queue is asked.
const POLL: Duration = Duration::from_millis(200);

/// Asks for the state of the queue until it is as wanted.
#[expect(clippy::disallowed_methods, reason = "the queue of another process tells a test nothing by itself")]
fn until(place: &Place, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let status = status(place);
        if wanted(&status) {
            return status;
        }
        assert!(begun.elapsed() < Duration::from_secs(240), "{what} does not come: {status}");
        std::thread::sleep(POLL);
    }
}

fn kill(workers: Vec<Child>) {
    for mut worker in workers {
        worker.kill().expect("kills");
        worker.wait().expect("ends");
    }
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
    let folder = fetched(&place, &experiment);
    assert_eq!(timeless(&report(&folder)), timeless(&report(&embedded)));
    for line in ["report", "bundle", "resume"] {
        place.succeeds(&format!("{line} {}", folder.display()));
    }
    assert!(place.succeeds(&format!("verify {}.tar.gz", folder.display())).contains("verified"));

    // Killed: the leader while it learns, another one while all measure, and then all of them.
    let experiment = place.succeeds(&submit);
    let copied = |status: &Value| status["experiments"][1]["copied"] == true;
    let first = vec![worker(&place, "first")];
    until(&place, "a copy of the folder", copied);
    kill(first);
    let all: Vec<Child> = (0..3).map(|at| worker(&place, &format!("v{at}"))).collect();
    let done = |status: &Value| status["runs"][1]["done"].as_u64().is_some_and(|done| done >= 2);
    until(&place, "the measurement", done);
    kill(all);
    ended((0..2).map(|at| worker(&place, &format!("u{at}"))).collect());
    let status = status(&place);
    assert_eq!(status["experiments"][1]["state"], "done", "{status}");
    let folder = fetched(&place, &experiment);
    assert_eq!(results(&folder), results(&embedded));
    place.succeeds(&format!("bundle {}", folder.display()));
    assert!(place.succeeds(&format!("verify {}.tar.gz", folder.display())).contains("verified"));
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
    let experiment = place.succeeds(&format!("{submit} {at}"));
    place.succeeds(&format!("cancel {experiment}"));
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
