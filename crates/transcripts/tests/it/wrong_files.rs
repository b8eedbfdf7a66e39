//! What is no log, a log of an unknown version, half a log, or no file at all.

use std::fs;

use serde_json::json;

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
        ("g.gz", b"\x1f\x8b\x08\x00", "packed by gzip"),
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
    fs::create_dir(place.path("empty")).expect("a folder");
    assert!(told(&place, "empty").contains("a folder without a trace"));
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
