//! Traces of other programs: what is read of them, and what is said of other files.

use std::fs;

use serde_json::{Value, json};

use crate::place::Place;

/// A short trajectory in ATIF.
fn atif(prompt: &str, verdict: Option<&str>) -> Value {
    let step = json!({
        "step_id": 2, "source": "agent", "message": "I press Save.",
        "tool_calls": [{ "tool_call_id": "a", "function_name": "click", "arguments": { "x": 1 } }],
        "observation": { "results": [{ "source_call_id": "a", "content": "Error: the button is covered" }] },
        "metrics": { "prompt_tokens": 100, "completion_tokens": 7 },
    });
    json!({
        "schema_version": "ATIF-v1.8", "session_id": prompt, "agent": { "name": "a", "version": "1", "model_name": "m" },
        "steps": [{ "step_id": 1, "source": "user", "message": prompt }, step, { "step_id": 3, "source": "agent", "message": "It is covered." }],
        "extra": { "verdict": verdict },
    })
}

#[test]
fn what_is_read_of_traces_is_shown_and_printed_as_json() {
    let place = Place::new();
    fs::create_dir(place.path("traces")).expect("a folder");
    fs::write(place.path("traces/one.json"), atif("Save the form.", None).to_string()).expect("written");
    fs::write(place.path("traces/two.json"), atif("Save it.", Some("pass")).to_string()).expect("written");
    let output = place.output(&["trace", "read", "--json", "traces"]);
    assert!(output.status.success(), "{output:?}");
    let read: Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(read["schema"], "apprentice.trace.read/1");
    let (one, two) = (&read["traces"][0], &read["traces"][1]);
    assert_eq!(
        (&one["program"], &one["assistant_turns"], &one["verdict"]),
        (&json!("ATIF"), &json!(2), &Value::Null)
    );
    assert_eq!((&one["calls"][0]["failed"], &two["verdict"]), (&json!(true), &json!(true)));
    let output = place.output(&["trace", "read", "traces/one.json"]);
    let shown = String::from_utf8(output.stdout).expect("text");
    for words in [
        "ATIF ATIF-v1.8",
        "2 replies; 1 call, 1 failed",
        "click {\"x\":1} failed: Error",
        "verdict: none",
        "answer: It is covered.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn secrets_in_traces_are_not_shown() {
    let place = Place::new();
    let key = format!("sk-ant-{}", "a1B2".repeat(20));
    fs::write(place.path("one.json"), atif("Go.", None).to_string().replace("is covered.", &key))
        .expect("written");
    for arguments in [["trace", "read", "one.json"].as_slice(), &["trace", "read", "--json", "one.json"]] {
        let output = place.output(arguments);
        assert!(output.status.success(), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(&key), "{output:?}");
    }
}

#[test]
fn what_is_no_trace_is_named_and_the_others_are_shown() {
    let place = Place::new();
    fs::write(place.path("list.json"), "[1, 2]").expect("written");
    let told = |arguments: &[&str]| {
        let output = place.output(arguments);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(told(&["trace", "read", "list.json"]).contains("is a list of 2 in JSON, not a trace"));
    fs::create_dir(place.path("traces")).expect("a folder");
    fs::write(place.path("traces/a.json"), atif("Go.", None).to_string().replace("v1.8", "v7.0"))
        .expect("written");
    fs::write(place.path("traces/b.json"), atif("Go.", None).to_string()).expect("written");
    let told = told(&["trace", "read", "traces"]);
    assert!(told.contains("1 of 2 traces could not be read") && told.contains("ATIF-v7.0"), "{told}");
}
