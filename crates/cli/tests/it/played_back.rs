//! What is exported for training is what a compatible model's server got: played back, it gives the same attempts.

use std::fs;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::place::{Place, rows};
use crate::spending::serving_by;

/// A model whose profile is named, and not found by its name.
const SMALL: &str = "small";

fn say(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

/// A call, with the spaces of a server that writes JSON as Python does.
fn call(id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": id, "type": "function", "function": function }] })
}

/// A model's name, by which its profile is found, and two replies in its action format: they tick the box, and end.
fn conversations() -> [(&'static str, [Value; 2]); 6] {
    let qwen = |arguments: &str| {
        say(&format!(
            "Action: go on.\n<tool_call>\n{{\"name\": \"computer_use\", \"arguments\": {arguments}}}\n</tool_call>"
        ))
    };
    let code = |code: &str| {
        say(&format!("## Thought\nIt is there.\n\n## Action\nGo on.\n\n## Code\n```python\n{code}\n```"))
    };
    let json = |tool: &str, arguments: &str| {
        say(&format!("{{\"thought\": \"On.\", \"tool\": \"{tool}\", \"arguments\": {arguments}}}"))
    };
    [
        (
            "m",
            [
                call("a", "computer", "{\"action\": \"left_click\", \"ref\": \"n2\"}"),
                call("b", "finish", "{\"finish\": \"done\"}"),
            ],
        ),
        (
            "Qwen3-VL-8B",
            [
                qwen("{\"action\": \"left_click\", \"coordinate\": [125, 55]}"),
                qwen("{\"action\": \"terminate\", \"status\": \"success\"}"),
            ],
        ),
        (
            "UI-TARS-1.5-7B",
            [
                say("Thought: It is there.\nAction: click(start_box='(160,44)')"),
                say("Thought: Ticked.\nAction: finished(content='')"),
            ],
        ),
        ("OpenCUA-7B", [code("pyautogui.click(x=160, y=44)"), code("computer.terminate(status='success')")]),
        (
            "Holo1.5-7B",
            [
                json("computer", "{\"action\": \"left_click\", \"coordinate\": [160, 44]}"),
                json("finish", "{\"finish\": \"done\"}"),
            ],
        ),
        (SMALL, [say("{\"click\": \"Show grid (checkbox)\"}"), say("{\"finish\": \"done\"}")]),
    ]
}

/// A task in memory: tick the box. The size is that of its screen.
pub(crate) fn tick_task(width: u32, height: u32) -> Value {
    let page = json!({ "title": "Main", "controls": [
        { "role": "checkbox", "name": "Show grid", "bind": "ticked" }, { "role": "textbox", "name": "Note", "bind": "note" },
    ] });
    let scene =
        json!({ "start": "main", "state": { "ticked": false, "note": "" }, "pages": { "main": page } });
    let rules = json!({ "expect": [{ "key": ["values", "ticked"], "method": "eq", "ref": true }] });
    json!({
        "instruction": "Tick the box 'Show grid'.",
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": rules },
        },
        "apprentice": { "environment": "scene", "template": "tick", "screen": { "width": width, "height": height }, "scene": scene },
    })
}

fn plant(place: &Place) {
    place.suite(&[("tick", tick_task(1280, 800))]);
}

/// Runs the suite at a server that gives these replies one after the other; returns the row, and the last request.
fn run(place: &Place, model: &str, replies: Vec<Value>, out: &str) -> (Value, Value) {
    run_by(place, model, (model == SMALL).then_some(SMALL), replies, out)
}

/// The same with a profile that is named.
fn run_by(
    place: &Place,
    model: &str,
    profile: Option<&str>,
    replies: Vec<Value>,
    out: &str,
) -> (Value, Value) {
    let left = Mutex::new(replies.into_iter());
    let (base, heard) = serving_by(move |asked| match asked.starts_with("POST") {
        true => {
            let message =
                left.lock().expect("unpoisoned").next().unwrap_or_else(|| say("I have no more replies."));
            json!({ "id": "c", "object": "chat.completion", "model": "m", "usage": { "prompt_tokens": 9, "completion_tokens": 9 },
                "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
        }
        false => json!({ "object": "list", "data": [] }),
    });
    let model = format!("compat/{model}");
    let suite = place.path("suite");
    let suite = suite.to_string_lossy();
    let mut words = vec!["run", &suite, "--model", &model, "--base-url", &base, "--out", out, "--yes"];
    words.extend(profile.into_iter().flat_map(|profile| ["--profile", profile]));
    let done = place.output(&words);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    let folder =
        fs::read_dir(place.path(out)).ok().and_then(|mut runs| runs.next()?.ok()).map(|entry| entry.path());
    let folder = folder.unwrap_or_else(|| panic!("{told}"));
    let row = rows(&folder).pop().expect(&told);
    let heard = heard.lock().expect("unpoisoned").clone();
    let last = heard.iter().rev().find(|one| one.starts_with("POST")).expect("a request");
    (row, serde_json::from_str(last.split_once("\r\n\r\n").expect("a body").1).expect("JSON"))
}

/// The messages of a request or an export without their pictures, which an export holds as files.
fn words_of(messages: &Value) -> Vec<Value> {
    let mut all = messages.as_array().expect("messages").clone();
    for message in &mut all {
        for part in message["content"].as_array_mut().into_iter().flatten() {
            if part["type"] == "image_url" {
                *part = json!("a picture");
            }
        }
    }
    all
}

/// Exports the only attempt of the run in `first` as OpenAI's conversations, and returns its line.
fn exported(place: &Place, model: &str) -> Value {
    let folder =
        fs::read_dir(place.path("first")).expect("runs").next().expect("a run").expect("an entry").path();
    let words =
        ["export", &folder.to_string_lossy(), "--format", "openai", "--out", "data", "--licence", "CC0-1.0"];
    let done = place.output(&words);
    assert!(done.status.success(), "{model}: {}", String::from_utf8_lossy(&done.stderr));
    let line = fs::read_to_string(place.path("data/unsplit.jsonl")).expect("written");
    serde_json::from_str(&line).expect("one line")
}

#[test]
fn what_a_compatible_model_was_sent_and_said_can_be_played_back() {
    for (model, replies) in conversations() {
        let place = Place::new();
        plant(&place);
        let (row, asked) = run(&place, model, replies.to_vec(), "first");
        assert_eq!(
            (&row["verdict"], &row["stop_reason"]),
            (&json!("pass"), &json!("done")),
            "{model}: {row}"
        );
        let line = exported(&place, model);
        let (messages, sent) = (words_of(&line["messages"]), words_of(&asked["messages"]));
        assert_eq!(messages[..sent.len()], sent[..], "{model}: what the server got");
        assert_eq!(
            line["tools"],
            if asked["tools"].is_null() { json!([]) } else { asked["tools"].clone() },
            "{model}"
        );
        let mut said: Vec<Value> =
            messages.iter().filter(|message| message["role"] == "assistant").cloned().collect();
        // The example turns of `small` stand before the replies.
        let examples = sent.iter().filter(|message| message["role"] == "assistant").count() - 1;
        assert_eq!(examples > 0, model == SMALL, "{model}");
        let said = said.split_off(examples);
        assert_eq!(said.len(), 2, "{model}");
        let pictures = line["messages"].to_string().matches("images/").count();
        assert_eq!(pictures > 0, model != SMALL, "{model}");
        assert_eq!(pictures, asked["messages"].to_string().matches("data:image").count(), "{model}");

        let (again, _) = run(&place, model, said, "second");
        for field in ["verdict", "score", "stop_reason", "steps"] {
            assert_eq!(again[field], row[field], "{model}: {field}");
        }
    }
}

/// A profile without pictures, whose views are those of the built-in models.
fn plain_profile(dialect: &str) -> String {
    format!(
        "consumer = \"small-llm\"\ndialect = {dialect:?}\nspace = \"pixels\"\nimages = \"none\"\noutline = true\nviews = \
         \"whole\"\nmax_output_tokens = 2048\nstructured = \"json_schema\"\ntemperature = 0.0\n"
    )
}

#[test]
fn what_is_written_for_another_profile_can_be_played_back_by_it() {
    for dialect in ["tools", "json"] {
        let place = Place::new();
        plant(&place);
        let done = place.output(&["run", "suite", "--model", "builtin/explorer", "--out", "first", "--yes"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let run =
            fs::read_dir(place.path("first")).expect("runs").next().expect("a run").expect("entry").path();
        let row = rows(&run).pop().expect("a row");
        let run = run.to_string_lossy().into_owned();
        fs::write(place.path("mine.toml"), plain_profile(dialect)).expect("written");
        let export = |profile: &str, out: &str| {
            let words = ["export", &run, "--format", "openai", "--for-profile", profile, "--out", out];
            place.output(&words)
        };
        let done = export("mine.toml", "data");
        assert!(done.status.success(), "{dialect}: {}", String::from_utf8_lossy(&done.stderr));
        let line = fs::read_to_string(place.path("data/unsplit.jsonl")).expect("written");
        let line: Value = serde_json::from_str(&line).expect("one line");
        assert_eq!(line["metadata"]["written_for_profile"], json!("mine"), "{line}");
        let messages = words_of(&line["messages"]);
        let said: Vec<Value> =
            messages.iter().filter(|message| message["role"] == "assistant").cloned().collect();
        assert_eq!(said.iter().any(|reply| reply["tool_calls"].is_array()), dialect == "tools", "{line}");

        let (again, asked) = run_by(&place, "m", Some("mine.toml"), said, "second");
        for field in ["verdict", "score", "stop_reason", "world_steps", "turns"] {
            assert_eq!(again[field], row[field], "{dialect}: {field}");
        }
        let sent = words_of(&asked["messages"]);
        assert_eq!(messages[..sent.len()], sent[..], "{dialect}: what such a model is sent");
        let tools = if asked["tools"].is_null() { json!([]) } else { asked["tools"].clone() };
        assert_eq!(line["tools"], tools, "{dialect}");

        let other = export("text", "other");
        let told = String::from_utf8_lossy(&[other.stdout, other.stderr].concat()).into_owned();
        assert!(told.contains("is shown the list of elements in another form"), "{told}");
    }
}

#[test]
fn only_whole_conversations_are_written_for_a_profile() {
    let place = Place::new();
    for (words, part) in [
        (["--format", "sharegpt"].as_slice(), "--format openai"),
        (&["--format", "openai", "--from-step", "2"], "whole conversations"),
        (&["--format", "openai", "--without-guidance"], "whole conversations"),
    ] {
        plant(&place);
        let mut all = vec!["export", "runs", "--out", "data", "--for-profile", "text"];
        all.extend(words);
        let done = place.output(&all);
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert!(String::from_utf8_lossy(&done.stderr).contains(part), "{words:?}");
    }
}

/// Attempts of the default profile and of `small` that end in different ways, with their verdicts.
fn attempts() -> [(&'static str, Vec<Value>, &'static str); 8] {
    let acts = |id: &str, arguments: &str| call(id, "computer", arguments);
    let tick = |id: &str| acts(id, "{\"action\": \"left_click\", \"ref\": \"n2\"}");
    let end = || call("z", "finish", "{\"finish\": \"done\"}");
    let click = || say("{\"click\": \"Show grid (checkbox)\"}");
    let done = || say("{\"finish\": \"done\"}");
    [
        ("m", vec![tick("a"), end()], "pass"),
        ("m", vec![tick("a"), tick("b"), end()], "fail"),
        ("m", vec![acts("a", "{\"action\": \"left_click\", \"ref\": \"n3\"}"), tick("b"), end()], "pass"),
        ("m", vec![say("The box is ticked.")], "fail"),
        (SMALL, vec![click(), done()], "pass"),
        (SMALL, vec![click(), click(), done()], "fail"),
        (
            SMALL,
            vec![say("{\"type_into\": \"Note (textbox)\", \"text\": \"grid\"}"), click(), done()],
            "pass",
        ),
        (SMALL, vec![say("{\"answer\": \"The box is ticked.\"}")], "fail"),
    ]
}

#[test]
fn attempts_that_end_in_different_ways_are_played_back_with_the_same_score() {
    for (index, (model, replies, verdict)) in attempts().into_iter().enumerate() {
        let place = Place::new();
        plant(&place);
        let (row, _) = run(&place, model, replies.clone(), "first");
        assert_eq!(row["verdict"], verdict, "{index}: {row}");
        let said: Vec<Value> = exported(&place, model)["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .filter(|message| message["role"] == "assistant")
            .cloned()
            .collect();
        // The example turns of `small` stand before the replies.
        let own = said[said.len() - replies.len()..].to_vec();
        let (again, _) = run(&place, model, own, "second");
        for field in ["verdict", "score", "stop_reason", "steps"] {
            assert_eq!(again[field], row[field], "{index}: {field}");
        }
    }
}

#[test]
fn a_profile_that_is_not_known_any_more_is_named() {
    let place = Place::new();
    plant(&place);
    let profile = "consumer = \"small\"\ndialect = \"tools\"\nspace = \"pixels\"\nimages = \"none\"\noutline = true\n\
                   context_tokens = 32768\nmax_output_tokens = 500\nstructured = \"words\"\n";
    fs::write(place.path("mine.toml"), profile).expect("written");
    let settings = "[provider.compat]\nprofile = \"mine.toml\"\n";
    fs::write(place.path("apprentice.toml"), settings).expect("written");
    let [(model, replies), ..] = conversations();
    let (row, _) = run(&place, model, replies.to_vec(), "first");
    assert_eq!(row["verdict"], "pass", "{row}");
    let folder =
        fs::read_dir(place.path("first")).expect("runs").next().expect("a run").expect("an entry").path();
    let words =
        ["export", &folder.to_string_lossy(), "--format", "openai", "--out", "data", "--licence", "CC0-1.0"];
    let told = String::from_utf8_lossy(&place.output(&words).stderr).into_owned();
    assert!(told.contains("nothing is known here of the profile \"mine\""), "{told}");
    let line = fs::read_to_string(place.path("data/unsplit.jsonl")).expect("written");
    assert!(line.contains("actions") && !line.contains("as_sent_by_profile"), "{line}");
}
