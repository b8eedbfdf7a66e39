//! Episodes for trainers: a proxy before the model hears which attempt a request belongs to, and an attempt is one sequence.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::{Place, Running, rows};
use crate::played_back::tick_task;
use crate::spending::serving_by;

/// Suites of this size run their trials side by side.
const TASKS: [&str; 3] = ["first", "second", "third"];

/// Three tasks with a box to tick.
fn plant(place: &Place) -> PathBuf {
    place.suite(&TASKS.map(|name| (name, tick_task(640, 400))))
}

/// What the model says, by the number of its replies so far: an act that is refused, words without sense, a call that cannot be
/// read, the act, the end.
fn reply(turn: usize) -> Value {
    let call = |arguments: &str| {
        let function = json!({ "name": "computer", "arguments": arguments });
        json!({ "role": "assistant", "content": null,
            "tool_calls": [{ "id": format!("c{turn}"), "type": "function", "function": function }] })
    };
    match turn {
        0 => call("{\"action\": \"left_click\", \"ref\": \"n77\"}"),
        1 => json!({ "role": "assistant", "content": "" }),
        2 => call("{\"action\": \"dance\"}"),
        3 => call("{\"action\": \"left_click\", \"ref\": \"n2\"}"),
        _ => {
            let function = json!({ "name": "finish", "arguments": "{\"finish\": \"done\"}" });
            json!({ "role": "assistant", "content": null,
                "tool_calls": [{ "id": "end", "type": "function", "function": function }] })
        }
    }
}

fn answer(asked: &str) -> Value {
    if !asked.starts_with("POST") {
        return json!({ "object": "list", "data": [{ "id": "m" }] });
    }
    let turn =
        asked.matches("\"role\":\"assistant\"").count() + asked.matches("\"role\": \"assistant\"").count();
    let token = json!({ "token": "x", "id": 7 + turn, "logprob": -0.5 });
    json!({ "id": "c", "object": "chat.completion", "model": "m", "usage": { "prompt_tokens": 9, "completion_tokens": 9 },
        "choices": [{ "index": 0, "message": reply(turn), "finish_reason": "stop", "logprobs": { "content": [token] } }] })
}

fn run(place: &Place, suite: &Path, address: &str, more: &[(&str, &str)]) -> (PathBuf, String) {
    let suite = suite.to_string_lossy();
    let words = ["run", &suite, "--model", "compat/m", "--base-url", address, "--out", "runs", "--yes"];
    let mut command = place.command(&words);
    command.env("APPRENTICE_PROVIDER_COMPAT_HISTORY", "grow").envs(more.iter().copied());
    let done = crate::place::output_of(&mut command);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    let folder = fs::read_dir(place.path("runs")).ok().and_then(|mut runs| runs.next()?.ok());
    (folder.unwrap_or_else(|| panic!("{told}")).path(), told)
}

/// The path of an attempt's requests, as its row gives it.
fn name_of(row: &Value) -> String {
    format!(
        "{}/{}/{}",
        row["run"].as_str().unwrap_or("?"),
        row["trial"].as_str().unwrap_or("?"),
        row["attempt"]
    )
}

#[test]
fn a_server_hears_which_attempt_asks_and_each_prompt_begins_with_the_one_before() {
    let place = Place::new();
    let suite = plant(&place);
    let (base, heard) = serving_by(answer);
    let address = base.replace("/v1", "/{run}/{trial}/{attempt}/v1");
    let (folder, told) = run(&place, &suite, &address, &[]);
    assert!(told.contains("nothing is left out of its conversations"), "{told}");
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for asked in heard.lock().expect("unpoisoned").iter() {
        let (head, body) = asked.split_once("\r\n\r\n").expect("a body");
        let path = head.split_whitespace().nth(1).expect("a path").trim_start_matches('/');
        // What belongs to no attempt: the questions what is served.
        if path.starts_with("-/-/-/") {
            continue;
        }
        let name = path.split("/v1").next().expect("a name").to_owned();
        sent.entry(name).or_default().push(body.to_owned());
    }
    let rows = rows(&folder);
    assert_eq!(rows.len(), TASKS.len(), "{told}");
    assert_eq!(sent.keys().cloned().collect::<Vec<_>>(), {
        let mut names: Vec<String> = rows.iter().map(name_of).collect();
        names.sort();
        names
    });
    // The bytes of the messages, without the end of their list.
    let messages = |body: &str| {
        let from = body.find("\"messages\":").expect("messages");
        let parsed: Value = serde_json::from_str(body).expect("JSON");
        let count = parsed["messages"].as_array().expect("messages").len();
        let end = body.rfind("],\"max_tokens\"").expect("what follows the messages");
        (body[from..end].to_owned(), count)
    };
    for row in &rows {
        assert_eq!((&row["verdict"], &row["turns"]), (&json!("pass"), &json!(5)), "{row}");
        let sent = &sent[&name_of(row)];
        assert_eq!(sent.len(), 5);
        for pair in sent.windows(2) {
            let ((before, fewer), (after, more)) = (messages(&pair[0]), messages(&pair[1]));
            assert!(after.starts_with(&before) && more >= fewer + 2, "{before}\n{after}");
        }
        let last = sent.last().expect("a request");
        assert_eq!(
            last.matches("data:image").count(),
            3,
            "all pictures: at first, after the refused act, after the act: {}",
            last.len()
        );
    }
}

#[test]
fn an_episode_is_one_row_of_an_export_and_all_that_was_sent() {
    let place = Place::new();
    let suite = plant(&place);
    let (base, heard) = serving_by(answer);
    let (folder, _) = run(&place, &suite, &base.replace("/v1", "/{task}/v1"), &[]);
    let folder = folder.to_string_lossy();
    let words = [
        "export",
        &folder,
        "--format",
        "openai",
        "--out",
        "data",
        "--licence",
        "CC0-1.0",
        "--keep-duplicates",
    ];
    let done = place.output(&[&words[..], &["--pictures", "inline"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines = fs::read_to_string(place.path("data/unsplit.jsonl")).expect("written");
    assert_eq!(lines.lines().count(), TASKS.len(), "a row for each episode");
    let heard = heard.lock().expect("unpoisoned");
    for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let task = line["metadata"]["task"].as_str().expect("a task");
        let of_task = |asked: &&String| asked.starts_with(&format!("POST /{task}/v1/"));
        let last = heard.iter().rfind(of_task).expect("a request");
        let last: Value = serde_json::from_str(last.split_once("\r\n\r\n").expect("a body").1).expect("JSON");
        let (sent, all) =
            (last["messages"].as_array().expect("messages"), line["messages"].as_array().expect("messages"));
        assert_eq!(all[..sent.len()], sent[..], "{task}");
        assert_eq!(all[sent.len()]["tool_calls"][0]["id"], "end", "{task}: the last reply follows");
    }
}

#[test]
fn the_proxy_of_the_examples_keeps_each_episode_with_its_tokens() {
    let place = Place::new();
    let suite = plant(&place);
    let (base, _) = serving_by(answer);
    let proxy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recording_proxy.py");
    let mut command = Command::new("python3");
    command.arg(proxy).arg(&base).arg(place.path("recorded")).args(["--port", "0"]).stdout(Stdio::piped());
    let mut running = Running::start(command);
    let mut address = String::new();
    BufReader::new(running.0.stdout.take().expect("an output")).read_line(&mut address).expect("read");
    let quiet = [("APPRENTICE_PROVIDER_COMPAT_STREAM", "false")];
    let (folder, told) = run(&place, &suite, address.trim(), &quiet);
    let rows = rows(&folder);
    assert_eq!(rows.len(), TASKS.len(), "{told}");
    for row in &rows {
        assert_eq!(row["verdict"], "pass", "{row}");
        let kept =
            fs::read_to_string(place.path(&format!("recorded/{}.jsonl", name_of(row)))).expect("an episode");
        let turns: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(turns.len(), 5);
        assert!(turns.iter().all(|turn| turn["continues"] == true), "{kept}");
        let tokens: Vec<&Value> = turns.iter().map(|turn| &turn["token_ids"][0]).collect();
        assert_eq!(tokens, [7, 8, 9, 10, 11].map(Value::from).iter().collect::<Vec<_>>());
        assert_eq!(turns[4]["logprobs"], json!([-0.5]));
    }
}

#[test]
fn what_names_no_attempt_is_refused_before_anything_runs() {
    let place = Place::new();
    let suite = plant(&place).to_string_lossy().into_owned();
    for (address, history, words) in [
        ("http://127.0.0.1:9/{episode}/v1", "grow", "the address of compat/m has {episode}"),
        (
            "http://127.0.0.1:9/v1",
            "shrink",
            "unknown variant `shrink`, expected one of `blocks`, `grow`, `window`",
        ),
    ] {
        let words_of_run = ["run", &suite, "--model", "compat/m", "--base-url", address, "--yes"];
        let done = place.command(&words_of_run).env("APPRENTICE_PROVIDER_COMPAT_HISTORY", history).output();
        let done = done.expect("it starts");
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(3), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let settings = "[role.student]\nmodel = \"anthropic/claude-sonnet-5-5\"\nhistory = \"grow\"\n";
    fs::write(place.path("apprentice.toml"), settings).expect("written");
    let mut command = place.command(&["run", &suite, "--model", "student", "--yes"]);
    let done = command.env("ANTHROPIC_API_KEY", "no-real-key").output().expect("it starts");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        told.contains("role.student.history: this provider's conversations are kept by its own rule"),
        "{told}"
    );
}
