//! Functions on pages of MiniWoB++, whose wheel the environment names (`scripts/conformance/miniwob`): admitted by replays, they solve
//! what the rule-based policies cannot solve alone. Each task is asked in the words of its page, which a first run reads.
#![expect(clippy::print_stdout, reason = "what is skipped is said, and what is measured")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::ablation::done;
use crate::place::{Place, worlds_can_start};
use crate::starter::is_installed;

/// Episodes of each page.
const CASES: u64 = 4;
/// Where a world keeps the words of its page.
const STARTED: &str = "/home/user/.miniwob/started.json";

/// A page with the function that does what it asks for, the function's name, and its arguments in the words of the task: `a` and
/// `b` are the quoted parts of what the page says.
const PAGES: [(&str, &str, &str, &str); 4] = [
    (
        "login-user",
        "log_in",
        r#"{"username": "{{case.a}}", "password": "{{case.b}}"}"#,
        "/// Enters the username and the password into the text fields and presses login.
/// - username (text): the name
/// - password (text): the password
/// Example: log_in(\"bob\", \"x9\")
fn log_in(desktop, username, password) {
    desktop.get_by_label(\"Username\").click();
    desktop.type(username + \"\\t\" + password);
    desktop.get_by_role(\"button\", \"Login\").click();
}
",
    ),
    (
        "enter-password",
        "enter_twice",
        r#"{"password": "{{case.a}}"}"#,
        "/// Enters the password into both text fields and presses submit.
/// - password (text): the password
/// Example: enter_twice(\"x9\")
fn enter_twice(desktop, password) {
    desktop.get_by_label(\"Password\").click();
    desktop.type(password + \"\\t\" + password);
    desktop.get_by_role(\"button\", \"Submit\").click();
}
",
    ),
    (
        "enter-text",
        "enter_text",
        r#"{"words": "{{case.a}}"}"#,
        "/// Enters a text into the text field and presses Submit.
/// - words (text): the text
/// Example: enter_text(\"Bob\")
fn enter_text(desktop, words) {
    desktop.get_by_role(\"textbox\", \"\").click();
    desktop.type(words);
    desktop.get_by_role(\"button\", \"Submit\").click();
}
",
    ),
    (
        "click-link",
        "click_link",
        r#"{"name": "{{case.a}}"}"#,
        "/// Clicks on the link.
/// - name (text): the text of the link
/// Example: click_link(\"lorem\")
fn click_link(desktop, name) {
    desktop.get_by_text(name).click();
}
",
    ),
];

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

/// The rows of the one run below a folder, with that run's folder.
fn rows(place: &Place, out: &str) -> (PathBuf, Vec<Value>) {
    let run = fs::read_dir(place.path(out)).expect("runs").flatten().next().expect("one").path();
    let text = fs::read_to_string(run.join("trials.jsonl")).expect("rows");
    (run, text.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect())
}

/// A suite of pages of `miniwob`, each task as `change` makes it of a page's own.
fn suite(place: &Place, name: &str, change: &dyn Fn(&str, u64, Value) -> Option<Value>) {
    fs::create_dir_all(place.path(name)).expect("made");
    crate::place::copy(&place.path("miniwob/files"), &place.path(&format!("{name}/files")));
    let mut ids = Vec::new();
    for (page, ..) in PAGES {
        for case in 1..=CASES {
            let own = read(&place.path(&format!("miniwob/examples/miniwob/{page}.json")));
            let Some(task) = change(page, case, own) else { continue };
            let id = task["id"].as_str().expect("an id").to_owned();
            write(&place.path(&format!("{name}/examples/miniwob/{id}.json")), &task.to_string());
            ids.push(id);
        }
    }
    write(&place.path(&format!("{name}/suite.json")), &json!({ "miniwob": ids }).to_string());
}

/// Starts the episode of this number.
fn with_episode(task: &Value, number: &str) -> Value {
    let text = task.to_string().replace("--seed={{seed}}", &format!("--seed={number}"));
    serde_json::from_str(&text).expect("JSON")
}

/// What each page says in each episode, as its world's file tells.
fn said(place: &Place) -> BTreeMap<String, Vec<String>> {
    suite(place, "look", &|page, case, own| {
        let mut task = with_episode(&own, &case.to_string());
        task["id"] = json!(format!("{page}-{case}"));
        task["evaluator"] = json!({
            "func": "exact_match",
            "result": { "type": "vm_command_line", "command": ["cat", STARTED] },
            "expected": { "type": "rule", "rules": { "expected": "what no page says" } },
        });
        task["apprentice"].as_object_mut()?.remove("vary");
        Some(task)
    });
    place.output(&["run", "look", "--model", "baseline/noop", "--seeds", "1", "--out", "looked"]);
    let (run, rows) = rows(place, "looked");
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let of = |row: Value| {
        let text = |name: &str| row[name].as_str().expect("a text").to_owned();
        let evidence = read(&run.join(text("trace")).join("evidence/evidence.json"));
        let started = evidence["results"][0]["value"].as_str().expect("what the page tells").to_owned();
        let started: Value = serde_json::from_str(&started).expect("JSON");
        (text("task"), started["utterance"].as_str().expect("words").to_owned())
    };
    let by_task: BTreeMap<String, String> = rows.into_iter().map(of).collect();
    for (task, words) in by_task {
        let (page, _) = task.rsplit_once('-').expect("a number");
        said.entry(page.to_owned()).or_default().push(words);
    }
    said
}

/// The episodes of a page as the values of a task: the number, the words, and the quoted parts of them.
fn cases(said: &[String]) -> Value {
    let of = |(number, words): (u64, &String)| {
        let quoted = words.split('"').skip(1).step_by(2);
        let parts = ["a", "b"].into_iter().zip(quoted).map(|(name, part)| (name.to_owned(), json!(part)));
        let mut case: Map<String, Value> = parts.collect();
        case.insert("n".into(), json!(number));
        case.insert("said".into(), json!(words));
        Value::Object(case)
    };
    (1..).zip(said).map(of).collect()
}

/// Verdicts and numbers of actions of all trials, by page.
fn trials(place: &Place, model: &str, arm: &str) -> BTreeMap<String, Vec<(bool, u64)>> {
    let out = format!("{}-{arm}", model.replace('/', "-"));
    let seeds = CASES.to_string();
    let run = ["run", "asked", "--model", model, "--arm", arm, "--skillbook", "book", "--seeds", &seeds];
    place.output(&[&run[..], &["--out", &out]].concat());
    let mut found: BTreeMap<String, Vec<(bool, u64)>> = BTreeMap::new();
    for row in rows(place, &out).1 {
        let page = row["task"].as_str().expect("a task").to_owned();
        let steps = row["world_steps"].as_u64().expect("a number");
        found.entry(page).or_default().push((row["verdict"] == "pass", steps));
    }
    println!("{model}, {arm}: {found:?}");
    found
}

fn passed(trials: &BTreeMap<String, Vec<(bool, u64)>>) -> usize {
    trials.values().flatten().filter(|trial| trial.0).count()
}

#[test]
#[ignore = "needs the wheel of MiniWoB++: scripts/conformance/miniwob"]
fn functions_solve_pages_of_miniwob_that_rules_do_not() {
    #[expect(clippy::disallowed_methods, reason = "the wheel's place is given by the environment")]
    let Some(wheel) = std::env::var_os("APPRENTICE_MINIWOB") else {
        println!("skipped: APPRENTICE_MINIWOB names no wheel of the package `miniwob`");
        return;
    };
    if !worlds_can_start() || !is_installed("chromium") || !is_installed("python3") {
        return;
    }
    let place = Place::new();
    done(&place, &["tasks", "add", "miniwob", "--from", &wheel.to_string_lossy(), "--to", "miniwob"]);
    let said = said(&place);
    suite(&place, "asked", &|page, case, own| {
        let mut task = with_episode(&own, "{{case.n}}");
        task["instruction"] = json!("{{case.said}}");
        task["apprentice"]["vary"] = json!({ "case": cases(&said[page]) });
        (case == 1).then_some(task)
    });
    for (page, function, arguments, source) in PAGES {
        let note = "## Situation\n\nA page asks for something.\n\n## Guidance\n\n1. Look at the page.\n\n## Annotations\n\nNone\n";
        let skill = format!("chromium/{page}");
        write(&place.path(&format!("book/{skill}.md")), note);
        write(&place.path("source.fn"), source);
        done(&place, &["skills", "--skillbook", "book", "sync"]);
        done(&place, &["functions", "--skillbook", "book", "add", &skill, "source.fn"]);
        let admit = ["functions", "--skillbook", "book", "admit", &skill, function, "--suite", "asked"];
        let told = done(&place, &[&admit[..], &["--task", page, "--arguments", arguments]].concat());
        assert!(told.contains("is verified"), "{page}: {told}");
    }
    let trials_of_all = PAGES.len() * usize::try_from(CASES).expect("a few");
    let (alone, with) =
        (trials(&place, "builtin/explorer", "none"), trials(&place, "builtin/explorer", "code"));
    let (before, after) = (passed(&alone), passed(&with));
    println!("the explorer: {before} of {trials_of_all} pass, and {after} with functions");
    assert!(after == trials_of_all && before < after, "{alone:?} {with:?}");
    let (weak, helped) = (trials(&place, "builtin/novice", "none"), trials(&place, "builtin/novice", "code"));
    println!("the novice: {} of {trials_of_all} pass, and {} with functions", passed(&weak), passed(&helped));
    assert!(passed(&helped) == trials_of_all && passed(&weak) < trials_of_all, "{weak:?} {helped:?}");
}
