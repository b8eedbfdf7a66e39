//! More alterations of stored results: of what lies between trials, of clocks and books, and of the plan with its rows.

use std::fs;
use std::path::{Path, PathBuf};

use apprentice_evaluator::verify::verify_folder;
use serde_json::{Value, json};

use crate::experiment::copied;
use crate::verify::Stored;

impl Stored {
    /// Two rows of the same task and variation in two arms of the student.
    fn pair(&self, is_pair: fn(&Value, &Value) -> bool) -> (Value, Value) {
        let rows = self.rows();
        let pairs = rows.iter().flat_map(|one| rows.iter().map(move |other| (one, other)));
        let (one, other) = pairs.clone().find(|(one, other)| is_pair(one, other)).expect("a pair");
        (one.clone(), other.clone())
    }

    fn folder(&self, row: &Value) -> PathBuf {
        self.run.join(row["trace"].as_str().expect("a trace"))
    }

    fn swap_folders(&self, one: &Value, other: &Value) {
        let (one, other) = (self.folder(one), self.folder(other));
        let aside = self.run.join("aside");
        fs::rename(&one, &aside).expect("moved");
        fs::rename(&other, &one).expect("moved");
        fs::rename(&aside, &other).expect("moved");
    }

    /// Exchanges two attempts as a whole: the traces, and in the rows all but what the plan fixes.
    fn exchange(&self, one: &Value, other: &Value) {
        const KEPT: [&str; 10] =
            ["run", "trial", "task", "template", "arm", "seed", "model", "role", "order", "trace"];
        self.swap_folders(one, other);
        let with = |row: &Value, results: &Value| {
            let mut made = results.clone();
            for field in KEPT.into_iter().chain(["skillbook_hash", "split"]) {
                made[field] = row[field].clone();
            }
            made
        };
        let rows: Vec<Value> = self.rows();
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| match () {
                () if row["trace"] == one["trace"] => with(one, other),
                () if row["trace"] == other["trace"] => with(other, one),
                () => row.clone(),
            })
            .collect();
        self.write_rows(&rows);
    }

    fn events(&self) -> PathBuf {
        self.attempt().join("events.jsonl")
    }

    fn edit_plan(&self, change: fn(&mut Value)) {
        edit_json(&self.run.join("run.json"), change);
    }
}

fn edit_json(path: &Path, change: fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).expect("reads")).expect("JSON");
    change(&mut value);
    fs::write(path, value.to_string()).expect("written");
}

fn edit_lines(path: &Path, change: impl Fn(&str) -> Option<String>) {
    let text = fs::read_to_string(path).expect("reads");
    let made: String = text.lines().filter_map(change).map(|line| line + "\n").collect();
    assert_ne!(made, text, "{} stays as it is", path.display());
    fs::write(path, made).expect("written");
}

fn same_but_arm(one: &Value, other: &Value) -> bool {
    let same = ["task", "seed", "model", "role"].iter().all(|field| one[*field] == other[*field]);
    same && one["arm"] == "none" && other["arm"] != "none" && one["verdict"] != other["verdict"]
}

type Case = (&'static str, fn(&Stored));

const CASES: [Case; 19] = [
    ("attempts exchanged between arms", |at| {
        let (one, other) = at.pair(same_but_arm);
        at.exchange(&one, &other);
    }),
    ("traces exchanged between arms", |at| {
        let (one, other) = at.pair(same_but_arm);
        at.swap_folders(&one, &other);
    }),
    ("attempts exchanged between tasks", |at| {
        let (one, other) = at.pair(|one, other| one["task"] != other["task"] && one["arm"] == other["arm"]);
        at.exchange(&one, &other);
    }),
    ("the book's hash", |at| at.set(&[("skillbook_hash", json!("0".repeat(64)))])),
    ("whether the cost is an estimate", |at| at.set(&[("cost_estimated", json!(true))])),
    ("the model's time", |at| at.set(&[("model_s", json!(0.25))])),
    ("another order", |at| at.set(&[("order", json!(99))])),
    ("another template", |at| at.set(&[("template", json!("other"))])),
    ("an action taken out, the rest numbered anew", |at| {
        let path = at.events();
        let text = fs::read_to_string(&path).expect("reads");
        let out = text.lines().position(|line| line.contains("\"kind\":\"action\"")).expect("an action");
        let kept = text.lines().enumerate().filter(|(line, _)| *line != out).map(|(_, line)| line);
        let made: String = (1..)
            .zip(kept)
            .map(|(id, line)| {
                let mut event: Value = serde_json::from_str(line).expect("an event");
                event["id"] = json!(format!("e{id}"));
                format!("{event}\n")
            })
            .collect();
        fs::write(path, made).expect("written");
    }),
    ("what the trace's end says was spent", |at| {
        edit_lines(&at.events(), |line| {
            let mut event: Value = serde_json::from_str(line).expect("an event");
            if event["kind"] == "stopped" {
                event["data"]["spent"]["world_steps"] = json!(41);
            }
            Some(event.to_string())
        });
    }),
    ("the isolation in the trace", |at| {
        edit_lines(&at.events(), |line| {
            let mut event: Value = serde_json::from_str(line).expect("an event");
            if event["kind"] == "world.opened" {
                event["data"]["isolation"] = json!("container");
            }
            Some(event.to_string())
        });
    }),
    ("an evidence that is empty", |at| {
        let folder = at.events().with_file_name("evidence");
        fs::write(folder.join("evidence.json"), "{}").expect("written");
    }),
    ("evidence of another trial", |at| {
        let (one, other) = at.pair(|one, other| one["verdict"] == "fail" && other["verdict"] == "pass");
        let from = at.folder(&other).join("evidence/evidence.json");
        fs::copy(from, at.folder(&one).join("evidence/evidence.json")).expect("copied");
    }),
    ("a trial taken out of plan, rows and folders", |at| {
        let mut rows = at.rows();
        // The last of the order leaves no gap: what is left then is a shorter plan.
        let last = rows.iter().filter_map(|row| row["order"].as_u64()).max().expect("rows");
        let is_one = |row: &Value| row["verdict"] == "fail" && row["order"] != json!(last);
        let out = rows.iter().position(is_one).expect("a failed trial");
        let row = rows.remove(out);
        at.write_rows(&rows);
        fs::remove_dir_all(at.folder(&row).parent().expect("the trial's folder")).expect("removed");
        let path = at.run.join("run.json");
        let mut plan: Value = serde_json::from_slice(&fs::read(&path).expect("reads")).expect("JSON");
        plan["trials"].as_array_mut().expect("trials").retain(|trial| trial["trial"] != row["trial"]);
        fs::write(path, plan.to_string()).expect("written");
    }),
    ("more attempts in the plan", |at| at.edit_plan(|plan| plan["attempts"] = json!(9))),
    ("the book's hash in the plan", |at| {
        at.edit_plan(|plan| {
            for arm in plan["arms"].as_array_mut().expect("arms") {
                if arm["skillbook_hash"].is_string() {
                    arm["skillbook_hash"] = json!("1".repeat(64));
                }
            }
        });
    }),
    ("another suite's hash in the plan", |at| at.edit_plan(|plan| plan["suite_hash"] = json!("00"))),
    ("another student in the definition", |at| {
        edit_json(&at.experiment.join("experiment.json"), |all| all["student"] = json!("builtin/better"));
    }),
    ("a picture in the place of another", |at| {
        let blobs = fs::read_dir(at.run.join("blobs")).expect("blobs").flatten().map(|entry| entry.path());
        let mut blobs: Vec<PathBuf> = blobs.collect();
        blobs.sort();
        let (one, other) = (&blobs[0], blobs.iter().find(|path| path.extension() != blobs[0].extension()));
        fs::copy(other.unwrap_or(&blobs[1]), one).expect("copied");
    }),
];

#[tokio::test]
async fn alterations_between_trials_and_of_plans_are_found() {
    let mut missed = Vec::new();
    for (name, alter) in CASES {
        let (folder, run) = copied().await;
        let stored = Stored { experiment: folder.path().to_owned(), run };
        // Whoever alters rows makes the report anew.
        for page in ["report.json", "report.html", "report.md"] {
            fs::remove_file(stored.experiment.join(page)).expect("removed");
        }
        let before = verify_folder(&stored.experiment).expect("verifies");
        assert!(before.holds, "{:#?}", before.contradictions);
        alter(&stored);
        // An error names what was altered, too.
        if verify_folder(&stored.experiment).is_ok_and(|found| found.holds) {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
