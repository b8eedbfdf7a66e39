//! Everything that spends says beforehand what it may cost, and asks where that is much.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use apprentice_evaluator::run::{Contender, Conversations, PlanRequest, RunFolder, plan};
use apprentice_protocol::TaskId;
use apprentice_runs::row::Role;
use apprentice_tasks::suite::load;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::models::apprentice;
use crate::place::suite;

const PAID: &str = "anthropic/claude-sonnet-5-5";
const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "no-real-key");
const TRAIN: &str = "chromium-do-not-track";

/// A run of two tasks of which the first is finished, as it would lie there after a stop.
fn half_a_run(home: &Path) -> String {
    let suite_folder = suite();
    let loaded = load(&suite_folder).expect("the suite");
    let tasks = [TRAIN, "terminal-count-orders"];
    let command = ["apprentice", "run", suite_folder.to_str().expect("text"), "--model", PAID];
    let request = PlanRequest {
        suite: &loaded,
        split: None,
        tasks: Some(tasks.iter().map(|task| TaskId::new(*task)).collect()),
        contenders: vec![Contender {
            role: Role::Solo,
            model: PAID.into(),
            arm: "none".into(),
            tasks: None,
            seeds: None,
        }],
        seeds: 1,
        limits: None,
        attempts: 1,
        order_seed: 0,
        conversations: Conversations::Dropped,
        command: command.map(str::to_owned).to_vec(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        books: Vec::new(),
    };
    let planned = plan(&request, Timestamp::UNIX_EPOCH).expect("a plan");
    let done = planned.trials.iter().find(|trial| trial.task.as_str() == TRAIN).expect("planned").clone();
    let folder = RunFolder::create(&home.join("runs"), planned).expect("a folder");
    let plan = folder.plan();
    let row = json!({
        "schema": "apprentice.trial/1", "run": plan.run, "trial": done.trial, "suite": plan.suite,
        "role": "solo", "task": done.task, "template": done.template, "suite_hash": plan.suite_hash,
        "arm": "none", "seed": 0, "attempt": 1, "model": PAID, "verdict": "pass", "score": 1.0,
        "world_steps": 1, "turns": 1, "tokens": { "input": 1, "output": 1, "cached": 0 },
        "delivered_tokens": 0, "cost_usd": 0.01, "wall_s": 1.0, "working_s": 1.0, "stop_reason": "done",
        "void_cause": null, "skills_viewed": [], "order": done.order, "started_at": "1970-01-01T00:00:00Z",
        "prompt_hash": plan.prompt_hash, "isolation": "none", "trace": "trials/none",
    });
    std::fs::write(folder.path().join("trials.jsonl"), format!("{row}\n")).expect("writes");
    folder.path().display().to_string()
}

/// The two ends of a range as it is told.
fn ends(told: &str) -> (f64, f64) {
    let dollars: Vec<f64> = told
        .split('$')
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().expect("a number"))
        .map(|number| number.parse().expect("a number"))
        .collect();
    (dollars[0], dollars[1])
}

#[test]
fn a_resumed_run_asks_for_what_is_still_to_be_spent() {
    let home = tempfile::tempdir().expect("a home");
    let run = half_a_run(home.path());
    let (code, left, told) = apprentice(home.path(), &["resume", &run, "--dry-run"], &[KEY]);
    assert_eq!(code, 0, "{told}");
    assert!(left.starts_with("1 attempt, from $"), "the finished one is not paid for again: {left}");
    let suite = suite();
    let whole =
        ["run", suite.to_str().expect("text"), "--model", PAID, "--dry-run", "--task", TRAIN, "--task"];
    let whole: Vec<&str> = whole.into_iter().chain(["terminal-count-orders"]).collect();
    let (_, whole, _) = apprentice(home.path(), &whole, &[KEY]);
    assert!(whole.starts_with("2 attempts") && ends(&left).1 < ends(&whole).1, "{left}{whole}");
    let asking = [KEY, ("APPRENTICE_CONFIRM_ABOVE", "0.1")];
    let (code, _, told) = apprentice(home.path(), &["resume", &run], &asking);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("not confirmed"), "{told}");
}

#[test]
fn learning_says_what_it_may_cost() {
    let home = tempfile::tempdir().expect("a home");
    let run = half_a_run(home.path());
    let suite = suite();
    let learn = |more: &[&'static str], variables: &[(&str, &str)]| {
        let words = ["learn", &run, "--suite", suite.to_str().expect("text"), "--skillbook", "book"];
        let words: Vec<&str> = words.into_iter().chain(more.iter().copied()).collect();
        apprentice(home.path(), &words, variables)
    };
    let (code, told, noted) = learn(&["--model", PAID, "--dry-run"], &[]);
    assert_eq!(code, 0, "{noted}");
    assert!(told.starts_with("1 item to learn from or to decide on (reviewed in 1 to 3 requests"), "{told}");
    assert!(told.contains("), from $"), "{told}");
    let (least, most) = ends(&told);
    assert!(0.0 < least && least < most && most < 5.0, "{told}");
    let (_, told, _) = learn(&["--dry-run"], &[]);
    assert!(
        told.starts_with("1 item to learn from or to decide on (reviewed in 1 to 3 requests; "),
        "{told}"
    );
    assert!(told.ends_with("), free\n"), "{told}");
    let (code, told, noted) = learn(&["--model", PAID, "--dry-run", "--json"], &[]);
    assert_eq!(code, 0, "{noted}");
    let told: serde_json::Value = serde_json::from_str(&told).expect("one JSON object");
    assert_eq!((&told["schema"], &told["reviews"]), (&json!("apprentice.forecast/1"), &json!(1)));
    let ends = [&told["least_usd"], &told["most_usd"]].map(|end| end.as_f64().expect("a number"));
    assert!((ends[0] - least).abs() < 1e-4 && (ends[1] - most).abs() < 1e-2, "{told}");
    let (code, _, told) = learn(&["--model", PAID], &[KEY, ("APPRENTICE_CONFIRM_ABOVE", "0.001")]);
    assert_eq!(code, 2, "{told}");
    assert!(!home.path().join("book").exists(), "nothing was begun");
}

#[test]
fn experiments_and_questions_say_it_too() {
    let home = tempfile::tempdir().expect("a home");
    let suite = suite();
    let demo = ["demo", "--suite", suite.to_str().expect("text"), "--teacher", PAID, "--dry-run"];
    let (code, told, noted) = apprentice(home.path(), &demo, &[KEY]);
    assert_eq!(code, 0, "{noted}");
    assert!(told.contains(" attempts and ") && told.contains(" items to learn from"), "{told}");
    assert!(ends(&told).0 > 0.0, "{told}");
    assert!(!home.path().join("runs").exists(), "nothing was begun");
    let experiment = suite.join("experiment.toml");
    let distill = ["distill", experiment.to_str().expect("text"), "--dry-run"];
    let (code, told, noted) = apprentice(home.path(), &distill, &[]);
    assert_eq!(code, 0, "{noted}");
    assert!(told.contains(" attempts and "), "{told}");
    let as_json = [&distill[..], &["--json"]].concat();
    let (_, told, _) = apprentice(home.path(), &as_json, &[]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("one JSON object");
    assert!(told["schema"] == "apprentice.forecast/1" && told["attempts"].as_u64() > Some(50), "{told}");
    let sheet = home.path().join("experiment.toml");
    let text = std::fs::read_to_string(&experiment).expect("the shipped sheet");
    let text = text
        .replace("suite = \".\"", &format!("suite = {suite:?}"))
        .replace("select = \"demo.json\"\n", "")
        .replace("teacher = \"builtin/explorer\"", &format!("teacher = {PAID:?}"));
    std::fs::write(&sheet, text).expect("writes");
    let (demo, distill) = (&demo[..5], ["distill", sheet.to_str().expect("text")]);
    for words in [demo, &distill[..]] {
        let (code, _, told) = apprentice(home.path(), words, &[KEY, ("APPRENTICE_CONFIRM_ABOVE", "0.1")]);
        assert_eq!(code, 2, "{told}");
        assert!(told.contains("not confirmed") && !home.path().join("runs").exists(), "{told}");
    }
    for (what, count) in [("check", "5 requests,"), ("calibrate", "9 requests,")] {
        let (code, told, noted) = apprentice(home.path(), &["models", what, PAID, "--dry-run"], &[]);
        assert_eq!(code, 0, "{noted}");
        assert!(told.starts_with(count), "{told}");
        let (least, most) = ends(&told);
        assert!(least < most && most < 5.0, "{told}");
    }
    let asking = [KEY, ("APPRENTICE_CONFIRM_ABOVE", "0")];
    let (code, _, told) = apprentice(home.path(), &["models", "check", PAID], &asking);
    assert_eq!(code, 2, "{told}");
}

#[test]
fn a_slip_of_the_pen_is_told_before_anything_is_sent_and_a_new_name_is_not_held_up() {
    let home = tempfile::tempdir().expect("a home");
    let keys = [KEY, ("OPENAI_API_KEY", "no-real-key")];
    // Nobody listens there: what is allowed gets as far as the address.
    let check = |model: &str| {
        let words = ["models", "check", model, "--base-url", "http://127.0.0.1:9"];
        let variables: Vec<_> = keys.into_iter().chain([("APPRENTICE_RETRIES", "0")]).collect();
        apprentice(home.path(), &words, &variables)
    };
    let (code, _, told) = check("anthropic/claude-sonet-5-5");
    // Which computer tool it takes is not guessed.
    assert_eq!(code, 3, "{told}");
    assert!(told.contains("set provider.anthropic.family"), "{told}");
    let (code, _, told) = check("openai/gpt-6.1-sool");
    assert_eq!(code, 20, "{told}");
    assert!(told.contains("openai/gpt-6.1-sol"), "{told}");
    let (_, _, told) = check("openai/gpt-9-sol");
    assert!(
        told.contains("openai/gpt-9-sol is not in the list of known models")
            && told.contains("was not reached"),
        "{told}"
    );
}

/// A server that gives every request the same answer, and keeps what it was asked.
fn serving(body: Value) -> (String, Arc<Mutex<Vec<String>>>) {
    serving_by(move |_| body.clone())
}

/// A server that answers each request by what stands in it, and keeps what it was asked.
pub(crate) fn serving_by(body: impl Fn(&str) -> Value + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a request");
            let mut bytes = Vec::new();
            let mut piece = [0; 65536];
            loop {
                let count = stream.read(&mut piece).expect("reads");
                bytes.extend_from_slice(&piece[..count]);
                let text = String::from_utf8_lossy(&bytes);
                let Some((head, rest)) = text.split_once("\r\n\r\n") else { continue };
                let head = head.to_lowercase();
                let length =
                    head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                if count == 0 || rest.len() >= length.unwrap_or(0) {
                    break;
                }
            }
            let asked = String::from_utf8_lossy(&bytes).into_owned();
            let body = body(&asked).to_string();
            kept.lock().expect("unpoisoned").push(asked);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).expect("writes");
        }
    });
    (base, heard)
}

#[test]
fn replaced_texts_are_what_is_sent() {
    let home = tempfile::tempdir().expect("a home");
    let reply = json!({ "model": "m", "usage": { "prompt_tokens": 7, "completion_tokens": 2 },
        "choices": [{ "message": { "content": "Thought: x\nAction: click(start_box='(9,9)')" } }] });
    let (base, heard) = serving(reply);
    let run = |more: &[&str]| {
        let words = ["models", "calibrate", "compat/ui-tars-1.5", "--base-url", &base];
        let words: Vec<&str> = words.into_iter().chain(more.iter().copied()).collect();
        apprentice(home.path(), &words, &[("APPRENTICE_PROVIDER_COMPAT_USD_PER_HOUR", "0")])
    };
    for (name, text) in [
        ("calibrate/system.md", "Point at what you are told, quoth the tester.\n"),
        ("calibrate/target.md", "Where, pray, is the {colour} square?\n"),
    ] {
        let path = home.path().join("mine").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("writes");
    }
    let sent = |more: &[&str]| {
        heard.lock().expect("unpoisoned").clear();
        let (_, shown, told) = run(more);
        assert!(shown.contains("picture of"), "{shown}{told}");
        let heard = heard.lock().expect("unpoisoned").clone();
        heard.into_iter().filter(|one| one.starts_with("POST /v1/chat")).collect::<Vec<_>>()
    };
    let (own, replaced) = (sent(&[]), sent(&["--prompts", "mine"]));
    assert_eq!((own.len(), replaced.len()), (9, 9));
    for (own, replaced) in own.iter().zip(&replaced) {
        for text in ["quoth the tester", "Where, pray, is the "] {
            assert!(!own.contains(text) && replaced.contains(text), "{text}");
        }
    }
}
