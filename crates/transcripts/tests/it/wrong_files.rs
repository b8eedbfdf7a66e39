//! What is no log, a log of an unknown version, half a log, or no file at all.

use std::fs;

use serde_json::{Value, json};

use crate::place::Place;

/// What is said of a path that cannot be read.
fn told(place: &Place, name: &str) -> String {
    place.read_all(name).expect_err(name).to_string()
}

#[test]
fn logs_of_unknown_versions_say_so() {
    let place = Place::new();
    let claude = json!({ "type": "user", "sessionId": "s", "version": "9.0.0", "message": { "role": "user", "content": "Go." } });
    for (name, log, words) in [
        ("claude.jsonl", claude, ["Claude Code", "version 9.0.0"]),
        (
            "pi.jsonl",
            json!({ "type": "session", "version": 9, "id": "s", "cwd": "/" }),
            ["pi coding agent", "version 9"],
        ),
        (
            "mini.json",
            json!({ "trajectory_format": "mini-swe-agent-9", "messages": [] }),
            ["mini-swe-agent", "mini-swe-agent-9"],
        ),
        ("atif.json", json!({ "schema_version": "ATIF-v2.0", "steps": [] }), ["ATIF", "ATIF-v2.0"]),
        ("inspect.json", json!({ "version": 3, "eval": {}, "samples": [] }), ["Inspect", "version 3"]),
        ("verifiers.jsonl", json!({ "traces": [{ "version": 2 }] }), ["verifiers", "version 2"]),
    ] {
        place.write(name, format!("{log}\n"));
        let told = told(&place, name);
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    }
}

#[test]
fn other_files_are_named_by_what_they_seem_to_be() {
    let place = Place::new();
    for (name, bytes, words) in [
        ("a.json", b"{\"name\": 1, \"value\": 2}".as_slice(), "JSON with the fields \"name\", \"value\""),
        ("b.jsonl", b"{\"name\": 1}\n{\"name\": 2}\n", "lines of JSON with the fields \"name\""),
        ("c.json", b"[1, 2]", "a list of 2"),
        ("d.txt", b"hello", "text and no JSON"),
        ("e.json", b"", "is empty"),
        ("f.db", b"SQLite format 3\0....", "opencode export"),
        ("g.bz2", b"BZh91AY&SY", "packed by bzip2"),
        ("h.zip", b"PK\x03\x04", "ZIP file that cannot be read"),
        ("i.png", b"\x89PNG\r\n", "a picture"),
        ("j.json", b"{\n \"history\": [\n", "JSON that is cut off"),
        ("k.json", b"{\n \"history\": [}\n", "JSON that is damaged"),
        ("l.bin", b"a\0b", "no text"),
    ] {
        place.write(name, bytes);
        let told = told(&place, name);
        assert!(told.contains(words) && told.contains("not a trace"), "{name}: {told}");
    }
    assert!(told(&place, "").contains("12 files of which none is a trace"), "{}", told(&place, ""));
    assert!(told(&place, "").contains("(a.json is JSON with the fields"), "{}", told(&place, ""));
    fs::create_dir(place.path("empty")).expect("a folder");
    assert!(told(&place, "empty").contains("a folder without a trace"));
}

/// Forms of 2025, as descriptions of them by others have them (read on 2026-11-30): what is not read is named, and taken for nothing
/// else.
#[test]
fn older_forms_that_are_not_read_are_named() {
    let place = Place::new();
    let item = |more: Value| {
        let mut item = json!({ "type": "message", "id": 1 });
        item.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        item
    };
    for (name, text, words) in [
        (
            "swe-agent.traj.json",
            json!({ "trajectory": [], "history": [{ "role": "system" }], "info": { "exit_status": "submitted" } })
                .to_string(),
            "a trajectory of SWE-agent",
        ),
        (
            "rollout.jsonl",
            format!("{}\n{}\n", json!({ "id": "c", "timestamp": "t", "instructions": null }), item(json!({}))),
            "a session of Codex CLI in the form of its first versions",
        ),
        (
            "events.json",
            json!([{ "id": 0, "source": "user", "action": "message", "args": {} }, item(json!({})), item(json!({}))])
                .to_string(),
            "events of OpenHands before its SDK",
        ),
        ("msg_1.json", json!({ "id": "msg_1", "sessionID": "ses_1", "role": "user" }).to_string(), "opencode export"),
        // Serde takes a list for a structure: its second and third items were a session and a project once.
        ("list.json", json!(["user", "s", "p", 4]).to_string(), "a list of 4"),
        ("objects.json", json!([{ "a": 1 }, { "a": 2 }, { "a": 3 }]).to_string(), "a list of 3"),
    ] {
        place.write(name, text);
        let told = told(&place, name);
        assert!(told.contains(words), "{name}: {told}");
    }
}

/// A list of conversations on one line is one, too, however many it holds.
#[test]
fn a_list_of_conversations_on_one_line_is_read() {
    let place = Place::new();
    let talk = json!({ "messages": [{ "role": "user", "content": "Go." }, { "role": "assistant", "content": "Done." }] });
    place.write("list.json", json!([talk, talk, talk, talk]).to_string());
    assert_eq!(place.read("list.json")["samples"].as_array().map(Vec::len), Some(4));
}

/// Claude Code 1 wrote helpers into the session's own file, and a summary of another session before it; Gemini CLI one document; Codex
/// CLI 0.65 patches as calls of another kind and tokens in events alone.
#[test]
fn a_session_of_claude_code_1_with_its_helper_is_read() {
    let place = Place::new();
    let line = |id: &str, aside: bool, message: Value| {
        let kind = message["role"].clone();
        json!({ "type": kind, "uuid": id, "isSidechain": aside, "sessionId": "s", "version": "1.0.60", "message": message })
    };
    let reply = |id: &str, block: Value| {
        json!({ "role": "assistant", "id": id, "model": "m", "content": [block],
            "usage": { "input_tokens": 10, "output_tokens": 5 } })
    };
    let task = json!({ "type": "tool_use", "id": "t", "name": "Task", "input": { "prompt": "Count." } });
    let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "Three." }]);
    place.lines(
        "claude.jsonl",
        &[
            json!({ "type": "summary", "summary": "Before.", "leafUuid": "x" }),
            line("1", false, json!({ "role": "user", "content": "Count." })),
            line("2", false, reply("m1", task)),
            line("3", true, json!({ "role": "user", "content": "Count." })),
            line("4", true, reply("m2", json!({ "type": "text", "text": "Three." }))),
            line("5", false, json!({ "role": "user", "content": result })),
            line("6", false, reply("m3", json!({ "type": "text", "text": "There are three." }))),
        ],
    );
    let claude = place.read("claude.jsonl");
    assert_eq!(
        (&claude["assistant_turns"], &claude["final_answer"]),
        (&json!(2), &json!("There are three.")),
        "{claude:#}"
    );
    assert_eq!(claude["helpers"].as_array().map(Vec::len), Some(1), "{claude:#}");
}

#[test]
fn one_document_of_gemini_cli_is_read() {
    let place = Place::new();
    let talk = json!({ "sessionId": "s", "projectHash": "p", "startTime": "t", "messages": [
        { "id": "1", "type": "user", "content": "List." },
        { "id": "2", "type": "gemini", "content": "One file.", "model": "m",
          "tokens": { "input": 100, "output": 10, "cached": 50, "thoughts": 5, "total": 115 } }] });
    place.write("session.json", format!("{talk:#}"));
    let gemini = place.read("session.json");
    assert_eq!(
        (&gemini["assistant_turns"], &gemini["final_answer"]),
        (&json!(1), &json!("One file.")),
        "{gemini:#}"
    );
}

#[test]
fn a_session_of_codex_cli_of_2025_is_read() {
    let place = Place::new();
    let of = |kind: &str, payload: Value| json!({ "timestamp": "t", "type": kind, "payload": payload });
    let used = |input: u64, output: u64| {
        let usage = json!({ "input_tokens": input, "output_tokens": output });
        of(
            "event_msg",
            json!({ "type": "token_count", "info": { "total_token_usage": usage, "last_token_usage": usage } }),
        )
    };
    place.lines(
        "rollout.jsonl",
        &[
            of("session_meta", json!({ "id": "c", "cli_version": "0.65.0" })),
            of("turn_context", json!({ "model": "m" })),
            of("response_item", json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Fix." }] })),
            of("response_item", json!({ "type": "custom_tool_call", "call_id": "k", "name": "apply_patch", "input": "*** Begin Patch" })),
            used(100, 20),
            of("response_item", json!({ "type": "custom_tool_call_output", "call_id": "k", "output": "{\"output\":\"Success.\"}" })),
            of("response_item", json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] })),
        ],
    );
    let codex = place.read("rollout.jsonl");
    assert_eq!(
        (&codex["assistant_turns"], &codex["final_answer"]),
        (&json!(2), &json!("Done.")),
        "{codex:#}"
    );
    assert_eq!(codex["calls"][0]["name"], "apply_patch", "{codex:#}");
}

#[test]
fn half_a_line_at_the_end_is_left_out_and_a_broken_one_within_is_an_error() {
    let place = Place::new();
    let line = json!({ "type": "user", "sessionId": "s", "version": "2.1.0", "uuid": "1", "message": { "role": "user", "content": "Go." } });
    place.write("half.jsonl", format!("{line}\n{{\"type\":\"assistant\",\"mess"));
    let read = place.read("half.jsonl");
    assert!(read["notes"][0].as_str().expect("a note").contains("line 2 is cut off"), "{read:#}");
    place.write("broken.jsonl", format!("{line}\n{{\"type\":\"assistant\",\"mess\n{line}\n"));
    assert!(told(&place, "broken.jsonl").contains("damaged in line 2"), "{}", told(&place, "broken.jsonl"));
}

#[test]
fn nothing_waits_for_a_pipe() {
    let place = Place::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("pipe.jsonl"), rustix::fs::Mode::RWXU).expect("a pipe");
    let error = place.read_all("pipe.jsonl").expect_err("a pipe");
    assert!(
        std::error::Error::source(&error).expect("a cause").to_string().contains("it is a pipe"),
        "{error}"
    );
    assert!(told(&place, "").contains("1 files of which none"), "{}", told(&place, ""));
}
