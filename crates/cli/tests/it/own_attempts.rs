//! Learning from attempts of `do`, through the real program: who judges, what the log says of it, and what it can lift.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::place::{Place, suite, worlds_can_start};

/// Writes an attempt as `do` writes it, from the trace that is kept for every version.
pub(crate) fn attempt(place: &Place, name: &str, instruction: &str) -> String {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/golden/trace-v1.jsonl");
    let trace = fs::read_to_string(golden).expect("a trace");
    let folder = place.path(name);
    fs::create_dir_all(&folder).expect("a folder");
    let trace = trace.replace("Save the note in capitals.", instruction);
    fs::write(folder.join("events.jsonl"), trace).expect("written");
    folder.to_string_lossy().into_owned()
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "calls": [{ "name": name, "arguments": arguments }] })
}

/// A review with one learning.
pub(crate) fn review() -> Value {
    let learning = json!({ "type": "friction", "scope": "mousepad", "confidence": "high", "steps_wasted": 2,
        "situation": "A text is to be written in capitals.",
        "guidance": "1. Open Edit > Convert.\n2. Choose To Uppercase.", "evidence": ["s2"] });
    let skill = json!({ "skill_id": "notes/capitals", "followed": "no", "reason": "irrelevant",
        "explanation": "it was not needed" });
    json!({ "say": json!({ "skill_reviews": [skill], "new_learnings": [learning] }).to_string() })
}

fn create(agrees_with: &[&str]) -> Value {
    call(
        "create_skill",
        &json!({ "domain": "mousepad", "skill_name": "capitals", "description": "Writing in capitals",
            "situation": "A text is to be written in capitals.",
            "guidance": "1. Open Edit > Convert.\n2. Choose To Uppercase.", "agrees_with": agrees_with }),
    )
}

fn look() -> Value {
    call("fetch_similar_skills", &json!({ "situation": "capitals" }))
}

/// Opens the domain and creates the skill.
pub(crate) fn manager(agrees_with: &[&str]) -> Vec<Value> {
    let domain =
        call("create_domain", &json!({ "domain": "mousepad", "description": "The text editor Mousepad." }));
    let leave = call("leave_item", &json!({ "reason": "unsupported", "why": "One attempt says it." }));
    vec![look(), domain, create(agrees_with), leave]
}

pub(crate) fn scripted(place: &Place, name: &str, lines: &[Value]) -> String {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(place.path(name), lines.join("\n")).expect("written");
    format!("scripted:{}", place.path(name).display())
}

pub(crate) fn learn(place: &Place, attempts: &[&str], options: &[&str]) -> Output {
    let book = place.path("book").to_string_lossy().into_owned();
    place.output(&[&["learn"], attempts, &["--skillbook", &book, "--json"], options].concat())
}

pub(crate) fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("one JSON object: {output:?}"))
}

pub(crate) fn heard(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn log(place: &Place) -> Vec<Value> {
    let log = fs::read_to_string(place.path("book/.meta/ops.jsonl")).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).expect("an operation")).collect()
}

pub(crate) fn operations<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    log.iter().filter(|one| one["op"] == name).collect()
}

#[test]
fn an_attempt_without_a_judge_is_refused_with_the_remedy() {
    let place = Place::new();
    let one = attempt(&place, "one", "Write it in capitals.");
    let missing = learn(&place, &[&one], &[]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(heard(&missing).contains("--judged-by me"), "{missing:?}");
    let nobody_there = learn(&place, &[&one], &["--judged-by", "me"]);
    assert_eq!(nobody_there.status.code(), Some(2), "{nobody_there:?}");
    assert!(heard(&nobody_there).contains(&format!("--verdict {one}=pass")), "{nobody_there:?}");
    let typo = learn(&place, &[&one], &["--verdict", "ome=pass"]);
    assert!(typo.status.code() == Some(2) && heard(&typo).contains("did you mean"), "{typo:?}");
    let word = learn(&place, &[&one], &["--verdict", "one=yes"]);
    assert!(word.status.code() == Some(2) && heard(&word).contains("ATTEMPT=fail"), "{word:?}");
    let both = learn(&place, &[&one], &["--judged-by", "none", "--verdict", "one=pass"]);
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    assert!(!place.path("book").exists(), "nothing is written");
}

#[test]
fn no_verdict_leaves_a_suspicion_that_a_persons_verdict_lifts() {
    let place = Place::new();
    let one = attempt(&place, "one", "Write it in capitals.");
    let two = attempt(&place, "two", "Make the heading upper case.");
    let model = scripted(&place, "first", &[vec![review()], manager(&[])].concat());
    let first = learn(&place, &[&one], &["--judged-by", "none", "--model", &model]);
    assert!(first.status.success(), "{first:?}");
    let record = &told(&first)["trajectories"][0];
    assert_eq!((&record["verdict"], &record["judged_by"]), (&Value::Null, &json!("nobody")), "{record}");
    assert_eq!(record["phase"], "own");
    assert!(record["changed"].as_array().is_some_and(Vec::is_empty), "{record}");
    let log_now = log(&place);
    assert_eq!(operations(&log_now, "attempt.judged")[0]["data"], json!({ "by": "nobody" }));
    let suspicion = operations(&log_now, "candidate.recorded")[0]["id"].as_str().expect("an id").to_owned();

    // A second attempt agrees, but in a model's opinion only.
    let opinion = json!({ "say": r#"{"verdict": "pass", "reason": "The text is in capitals."}"# });
    let again = [vec![opinion, review()], manager(&[&suspicion])].concat();
    let model = scripted(&place, "second", &again);
    let second = learn(&place, &[&two], &["--judged-by", "model", "--model", &model]);
    assert!(second.status.success(), "{second:?}");
    let record = &told(&second)["trajectories"][0];
    assert_eq!((&record["verdict"], &record["judged_by"]), (&json!("pass"), &json!("model")), "{record}");
    let refusals = record["refusals"].to_string();
    assert!(refusals.contains("unjudged") && refusals.contains("a model's opinion"), "{record}");
    let log_now = log(&place);
    assert_eq!(operations(&log_now, "suspicion.kept").len(), 1, "an event");
    assert!(operations(&log_now, "skill.created").is_empty());
    assert_eq!(operations(&log_now, "attempt.judged")[1]["data"]["why"], "The text is in capitals.");

    // A person saw the third one pass.
    let three = attempt(&place, "three", "Turn the list into capital letters.");
    let model = scripted(&place, "third", &[vec![review()], manager(&[&suspicion])].concat());
    let third = learn(&place, &[&three], &["--verdict", "three=pass", "--model", &model]);
    assert!(third.status.success(), "{third:?}");
    let record = &told(&third)["trajectories"][0];
    assert_eq!(record["changed"], json!(["mousepad/capitals"]), "{record}");
    let book = place.path("book").to_string_lossy().into_owned();
    let shown = place.output(&["skills", "history", "--skillbook", &book]);
    let history = String::from_utf8_lossy(&shown.stdout);
    for part in ["nobody judged", "passed, in a model's opinion", "passed, by a person"] {
        assert!(history.contains(part), "{part}: {history}");
    }
    // Learned again, nothing changes.
    let before = log(&place).len();
    let again = learn(&place, &[&three], &["--verdict", "three=pass", "--model", &model]);
    assert!(again.status.success() && told(&again)["trajectories"][0]["known_before"] == true, "{again:?}");
    assert_eq!(log(&place).len(), before);
}

#[test]
fn a_judge_that_cannot_be_read_leaves_the_attempt_unlearned() {
    let place = Place::new();
    let one = attempt(&place, "one", "Write it in capitals.");
    let model = scripted(&place, "script", &vec![json!({ "say": "Looks fine." }); 3]);
    let learned = learn(&place, &[&one], &["--judged-by", "model", "--model", &model]);
    assert_eq!(learned.status.code(), Some(20), "{learned:?}");
    assert_eq!(told(&learned)["unjudged"], 1);
    assert!(heard(&learned).contains("no usable answer"), "{learned:?}");
    assert!(log(&place).is_empty());
}

#[test]
fn the_text_of_a_held_out_task_does_not_reach_a_book_that_is_locked_to_its_suite() {
    let place = Place::new();
    let suite = suite();
    let lock: Value =
        serde_json::from_slice(&fs::read(suite.join("split.json")).expect("a lock")).expect("json");
    let is_test = |task: &str| lock["templates"][lock["tasks"][task].as_str().unwrap_or_default()] == "test";
    let tasks = lock["tasks"].as_object().expect("tasks").keys();
    let task = tasks.filter(|task| is_test(task)).find_map(|task| {
        let domains = fs::read_dir(suite.join("examples")).expect("examples").flatten();
        let file = domains.map(|one| one.path().join(format!("{task}.json"))).find(|path| path.is_file());
        let file = fs::read(file?).ok()?;
        let task: Value = serde_json::from_slice(&file).ok()?;
        let instruction = task["instruction"].as_str()?.to_owned();
        (instruction.split_whitespace().count() > 10 && !instruction.contains("{{")).then_some(instruction)
    });
    let instruction = task.expect("a test task with a fixed instruction");
    let one = attempt(&place, "one", &instruction.replace('"', "'"));
    let other = attempt(&place, "other", "Write it in capitals.");
    let model = scripted(&place, "script", &[vec![review()], manager(&[])].concat());
    let suite = suite.to_string_lossy().into_owned();
    let options = ["--judged-by", "none", "--model", &model, "--suite", &suite];
    let learned = learn(&place, &[&one, &other], &options);
    assert!(learned.status.success(), "{learned:?}");
    assert_eq!(
        (&told(&learned)["sealed"], told(&learned)["trajectories"].as_array().map(Vec::len)),
        (&json!(1), Some(1))
    );
    assert!(heard(&learned).contains("kept for the test"), "{learned:?}");
    assert!(!fs::read_to_string(place.path("book/.meta/ops.jsonl")).expect("a log").contains(&instruction));

    // The book remembers which suite it is locked to, in hashes.
    let kept = fs::read_dir(place.path("book/.meta/held-out")).expect("kept").flatten().collect::<Vec<_>>();
    assert_eq!(kept.len(), 1);
    let text = fs::read_to_string(kept[0].path()).expect("text");
    assert!(!instruction.split_whitespace().any(|word| word.len() > 6 && text.contains(word)));
    let later = learn(&place, &[&one], &["--judged-by", "none", "--model", &model]);
    assert_eq!((later.status.code(), &told(&later)["sealed"]), (Some(4), &json!(1)), "{later:?}");
}

#[test]
fn a_page_that_is_handed_over_is_open_at_the_first_view() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    fs::write(place.path("page.html"), "<title>Handed over</title><button>Export</button>").expect("written");
    let end = json!({ "calls": [{ "name": "finish", "arguments": { "finish": "done" } }] });
    let model = scripted(&place, "model", &[end]);
    let (file, out) = (place.path("page.html"), place.path("out"));
    let (file, out) = (file.to_string_lossy().into_owned(), out.to_string_lossy().into_owned());
    let url = "file:///home/user/page.html";
    let output =
        place.output(&["do", "Look.", "--url", url, "--file", &file, "--model", &model, "--out", &out]);
    assert!(output.status.success(), "{output:?}");
    let blobs = fs::read_dir(place.path("out/blobs")).expect("blobs").flatten();
    let seen: String = blobs.filter_map(|blob| fs::read_to_string(blob.path()).ok()).collect();
    assert!(seen.contains("Handed over") && seen.contains("Export"), "{seen}");
}
