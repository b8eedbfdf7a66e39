//! Traces of other programs: what is read of them, and what is said of other files.

use std::fs;

use serde_json::{Value, json};

use crate::own_attempts::{heard, learn, log, manager, operations, review, scripted, told};
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

#[test]
fn a_trace_without_a_verdict_leaves_a_suspicion_that_judged_ones_lift() {
    let place = Place::new();
    fs::write(place.path("one.json"), atif("Write it in capitals.", None).to_string()).expect("written");
    let model = scripted(&place, "first", &[vec![review()], manager(&[])].concat());
    let first = learn(&place, &["one.json"], &["--model", &model]);
    assert!(first.status.success(), "{first:?}");
    let record = &told(&first)["trajectories"][0];
    assert_eq!((&record["phase"], &record["verdict"]), (&json!("foreign"), &Value::Null), "{record}");
    assert_eq!((&record["judged_by"], &record["changed"]), (&json!("nobody"), &json!([])), "{record}");
    let suspicion =
        operations(&log(&place), "candidate.recorded")[0]["id"].as_str().expect("an id").to_owned();

    fs::write(place.path("two.json"), atif("Make it upper case.", Some("pass")).to_string())
        .expect("written");
    let model = scripted(&place, "second", &[vec![review()], manager(&[&suspicion])].concat());
    let second = learn(&place, &["two.json"], &["--model", &model]);
    assert!(second.status.success(), "{second:?}");
    let record = &told(&second)["trajectories"][0];
    assert_eq!(
        (&record["verdict"], &record["changed"]),
        (&json!("pass"), &json!(["mousepad/capitals"])),
        "{record}"
    );
    // What is written says from which trace it comes.
    let now = log(&place);
    let origin =
        operations(&now, "skill.created")[0]["cause"]["trajectory"].as_str().expect("a trace").to_owned();
    assert!(origin.starts_with("two/"), "{origin}");
    let again = learn(&place, &["two.json"], &["--model", &model]);
    assert!(told(&again)["trajectories"][0]["known_before"] == true, "{again:?}");
    assert_eq!(log(&place).len(), now.len());
}

#[test]
fn secrets_and_interrupted_traces_do_not_reach_the_book() {
    let place = Place::new();
    let key = format!("sk-ant-{}", "a1B2".repeat(20));
    let with_key =
        atif(&format!("Log in with {key}."), None).to_string().replace("the button is covered", &key);
    fs::write(place.path("one.json"), with_key).expect("written");
    let void = atif("Go.", Some("void")).to_string();
    fs::write(place.path("two.json"), void).expect("written");
    let requests =
        scripted(&place, "model", &[json!({ "say": "{\"skill_reviews\": [], \"new_learnings\": []}" })]);
    let learned = learn(&place, &["one.json", "two.json"], &["--model", &requests]);
    assert!(learned.status.success(), "{learned:?}");
    assert_eq!(
        (&told(&learned)["void"], told(&learned)["trajectories"].as_array().map(Vec::len)),
        (&json!(1), Some(1))
    );
    assert!(heard(&learned).contains("two.json: not learned from"), "{learned:?}");
    assert!(!Value::from(log(&place)).to_string().contains(&key));
}

#[test]
fn where_a_trace_is_damaged_or_none_nothing_is_written() {
    let place = Place::new();
    fs::write(place.path("good.json"), atif("Go.", None).to_string()).expect("written");
    let whole = atif("Go.", None).to_string();
    fs::write(place.path("half.json"), &whole[..whole.len() / 2]).expect("written");
    fs::write(place.path("new.json"), whole.replace("v1.8", "v9.9")).expect("written");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("pipe.jsonl"), rustix::fs::Mode::RWXU).expect("a pipe");
    for (name, words) in [
        ("half.json", "JSON that is cut off"),
        ("new.json", "ATIF-v9.9"),
        ("pipe.jsonl", "a pipe, a socket or a device"),
    ] {
        let refused = learn(&place, &["good.json", name], &[]);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(heard(&refused).contains(words), "{refused:?}");
        assert!(!place.path("book/.meta/ops.jsonl").exists(), "{name}");
    }
    // One conversation per line.
    let line = json!({ "messages": [{ "role": "user", "content": "Go." }, { "role": "assistant", "content": "Gone." }] });
    fs::write(place.path("many.jsonl"), format!("{line}\n").repeat(10_000)).expect("written");
    let refused = learn(&place, &["many.jsonl"], &[]);
    assert!(heard(&refused).contains("more than the 1000 traces"), "{refused:?}");
    assert!(!place.path("book/.meta/ops.jsonl").exists());
}
