//! `apprentice skills …` as others drive it: JSON on standard output, exit codes.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::{DEADLINE, output_of};

/// A folder to work in, with a book in it.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.path().join(name), text).expect("writes");
        name.to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
        command.args(["skills", "--skillbook", "book", "--json"]).args(arguments);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.path());
        output_of(command.current_dir(self.path()))
    }

    fn ok(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        serde_json::from_slice(&output.stdout).expect("json")
    }

    fn code(&self, arguments: &[&str]) -> Option<i32> {
        self.run(arguments).status.code()
    }

    /// Works a learning in with a script of manager calls.
    fn learn(&self) -> Value {
        let reflection = json!({
            "trajectory_id": "run/trial/1", "consumer": "teacher", "verdict": "pass",
            "new_learnings": [{"type": "friction", "scope": "GIMP", "situation": "A colour must become transparent.",
                "guidance": "1. Open Colors > Color to Alpha.\n2. Choose the colour.", "confidence": "high",
                "steps_wasted": 5}]
        });
        let create = json!({"domain": "gimp", "skill_name": "color-to-alpha",
            "description": "Making a colour transparent", "situation": "A colour must become transparent.",
            "guidance": "1. Open Colors > Color to Alpha.\n2. Choose the colour."});
        let script = self.script(&[
            json!([{"name": "fetch_similar_skills", "arguments": {"situation": "transparent"}}]),
            json!([{"name": "create_domain", "arguments": {"domain": "gimp", "description": "Pictures."}},
                   {"name": "create_skill", "arguments": create}]),
        ]);
        let file = self.file("reflection.json", &reflection.to_string());
        self.ok(&["apply", &file, "--model", &script])
    }

    fn script(&self, turns: &[Value]) -> String {
        let lines: Vec<String> = turns.iter().map(|calls| json!({ "calls": calls }).to_string()).collect();
        format!("scripted:{}", self.file("script.jsonl", &lines.join("\n")))
    }
}

#[test]
fn a_reflection_is_applied_shown_searched_and_taken_back() {
    let desk = Desk::new();
    let applied = desk.learn();
    assert_eq!(applied["schema"], "apprentice.skills.apply/1");
    let decision = &applied["trajectories"][0]["decisions"][0];
    assert_eq!(
        (&decision["outcome"], &decision["tool"], &decision["skill_id"], &decision["operation"]),
        (&json!("wrote"), &json!("create_skill"), &json!("gimp/color-to-alpha"), &json!("o3"))
    );
    assert_eq!(decision["calls"].as_array().map(Vec::len), Some(3));
    assert_eq!(desk.learn()["trajectories"][0]["known_before"], true);

    let shown = desk.ok(&["show", "gimp/color-to-alpha"]);
    assert_eq!(shown["schema"], "apprentice.skill/1");
    assert_eq!(shown["provenance"]["trajectories"], json!(["run/trial/1"]));
    assert_eq!(shown["metrics"]["current"]["times_requested"], 0);

    let found = desk.ok(&["search", "erase the transparent background"]);
    assert_eq!(found["hits"][0]["id"], "gimp/color-to-alpha");
    assert_eq!(found["hits"][0]["matched"], json!(["transparent"]));

    let blame = desk.ok(&["blame", "gimp/color-to-alpha"]);
    assert_eq!(blame["lines"][2]["text"], "2. Choose the colour.");
    assert_eq!(
        (&blame["lines"][2]["operation"], &blame["lines"][2]["trajectory"]),
        (&json!("o3"), &json!("run/trial/1"))
    );

    desk.ok(&["revert", "o3"]);
    let diff = desk.ok(&["diff", "o2"]);
    assert_eq!(diff["skills"], json!([]), "nothing but the operation is gone");
    assert_eq!(desk.ok(&["diff", "o3"])["skills"][0]["kind"], "removed");
    assert_eq!(desk.ok(&["at", "o3", "gimp/color-to-alpha"])["version"], 1);
    let made = &desk.ok(&["history"])["operations"][2];
    assert_eq!(made["id"], "o3");
    let made = made["time"].as_str().expect("a time");
    assert_eq!(desk.ok(&["at", made])["skills"][0]["id"], "gimp/color-to-alpha", "it was there at that time");
    assert_eq!(desk.ok(&["list"])["skills"], json!([]), "and is not now");
    assert_eq!(desk.ok(&["at", "9999-01-01"])["last"], desk.ok(&["list"])["last"]);
    assert_eq!(desk.ok(&["at", "1960-01-01"])["skills"], json!([]));
    assert_eq!(desk.code(&["show", "gimp/color-to-alpha"]), Some(4));
    let history = desk.ok(&["history", "gimp/color-to-alpha"]);
    let ops: Vec<&str> = history["operations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["op"].as_str())
        .collect();
    assert_eq!(ops, ["skill.created", "operation.reverted"]);
}

#[test]
fn metrics_are_kept_by_version_and_consumer_and_cleaning_asks_the_target() {
    let desk = Desk::new();
    desk.learn();
    let review = |fields: Value| {
        let mut review = json!({"skill_id": "gimp/color-to-alpha"});
        for (key, value) in fields.as_object().expect("fields") {
            review[key] = value.clone();
        }
        review
    };
    let knew = json!({"followed": "no", "reason": "already_knew", "explanation": "I knew."});
    let helped = json!({"followed": "yes", "impact": "positive", "what_helped": "the menu"});
    let mut entries = Vec::new();
    for (consumer, count, fields) in [("teacher", 12, &knew), ("student", 3, &helped)] {
        for number in 0..count {
            entries.push(json!({"trajectory_id": format!("{consumer}-{number}"), "consumer": consumer,
                                "verdict": "pass", "skill_reviews": [review(fields.clone())]}));
        }
    }
    let file = desk.file("reviews.json", &json!(entries).to_string());
    let script = desk.script(&[]);
    desk.ok(&["apply", &file, "--model", &script]);
    let shown = desk.ok(&["show", "gimp/color-to-alpha"]);
    let counters = &shown["metrics"]["by_version"]["1"];
    assert_eq!(counters["teacher"]["times_requested"], 12);
    assert_eq!(
        (&counters["student"]["positive_impact"], &counters["student"]["times_not_followed"]),
        (&json!(3), &json!(0.0))
    );

    let dry = desk.ok(&["clean", "--dry-run"]);
    assert_eq!(dry["tasks"][0]["cleanup_type"], "low_follow_rate");
    assert_eq!(desk.ok(&["clean", "--dry-run", "--target", "student"])["tasks"], json!([]));
    let script = desk.script(&[
        json!([{"name": "read_skills", "arguments": {"skill_ids": ["gimp/color-to-alpha"]}}]),
        json!([{"name": "delete_skill", "arguments": {"skill_id": "gimp/color-to-alpha"}}]),
    ]);
    let cleaned = desk.ok(&["clean", "--model", &script]);
    let decision = &cleaned["decisions"][0];
    assert_eq!(
        (&decision["outcome"], &decision["refusals"][0]["code"]),
        (&json!("nothing"), &json!("not_supported_enough"))
    );
    assert_eq!(desk.ok(&["clean", "--model", &script])["decisions"], json!([]), "it is not asked again");
}

#[test]
fn wrong_input_is_named_with_its_exit_code() {
    let desk = Desk::new();
    desk.learn();
    let file = desk.file("wrong.json", r#"{"skill_reviews": [{"skill_id": "a/b"}]}"#);
    let output = desk.run(&["apply", &file]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("reflection 0"));
    assert_eq!(desk.code(&["apply", "nowhere.json"]), Some(3));
    assert_eq!(desk.code(&["show", "Not An Id"]), Some(2));
    assert_eq!(desk.code(&["show", "gimp/nothing"]), Some(4));
    assert_eq!(desk.code(&["search", "xylophone", "--words"]), Some(4));
    assert_eq!(desk.code(&["search", "木琴"]), Some(4), "no word is known and none is shared");
    let near = desk.run(&["search", "xylophone"]);
    assert_eq!(near.status.code(), Some(0));
    let said = String::from_utf8_lossy(&near.stderr).into_owned();
    assert!(
        said.contains("no skill shares a word with \"xylophone\""),
        "the hits are only the nearest: {said}"
    );
    assert_eq!(desk.code(&["revert", "o99"]), Some(4));
    assert_eq!(desk.code(&["at", "nine"]), Some(2));
    assert_eq!(desk.code(&["at", "o99"]), Some(4));
}

#[test]
fn a_book_goes_out_as_packages_and_comes_back() {
    let desk = Desk::new();
    desk.learn();
    let exported = desk.ok(&["export", "packages"]);
    assert_eq!(exported["packages"], json!(["gimp-color-to-alpha"]));
    assert_eq!(desk.code(&["export", "packages"]), Some(3), "nothing is written over");
    let valid = desk.ok(&["validate", "packages"]);
    assert_eq!((&valid["kind"], &valid["valid"]), (&json!("packages"), &json!(true)));
    assert_eq!(desk.ok(&["validate"])["kind"], "book");
    fs::rename(desk.path().join("book"), desk.path().join("old")).expect("renames");
    let imported = desk.ok(&["import", "packages"]);
    assert_eq!(imported["content_hash"], exported["content_hash"]);
    fs::write(desk.path().join("packages/gimp-color-to-alpha/SKILL.md"), "no head").expect("writes");
    assert_eq!(desk.code(&["validate", "packages"]), Some(3));
    fs::write(desk.path().join("book/gimp/color-to-alpha.md"), "no page").expect("writes");
    let output = desk.run(&["validate", "book"]);
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(report["results"][0]["findings"][0]["path"], "gimp/color-to-alpha.md");
    assert_eq!(desk.code(&["import", "old"]), Some(4), "a book holds no packages");
}

#[test]
fn a_search_by_meaning_says_who_does_not_answer_and_words_need_nobody() {
    let desk = Desk::new();
    desk.learn();
    let settings = "retries = 0\n[embeddings]\nmodel = \"small\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    desk.file("apprentice.toml", settings);
    let output = desk.run(&["search", "transparent"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(20), "{told}");
    assert!(told.contains("was not reached") && told.contains("--words turns semantic search off"), "{told}");
    let found = desk.ok(&["search", "transparent", "--words"]);
    assert_eq!(found["hits"][0]["id"], "gimp/color-to-alpha");
    assert_eq!(found["hits"][0].get("similarity"), None, "nobody was asked");
    desk.file("apprentice.toml", "[embeddings]\nmodel = \"words\"\n");
    let found = desk.ok(&["search", "transparent"]);
    assert_eq!(found["hits"][0].get("similarity"), None, "the settings choose words alone: {found}");
    desk.file("apprentice.toml", "");
    let found = desk.ok(&["search", "transparent"]);
    assert_eq!(found["hits"][0]["id"], "gimp/color-to-alpha");
    assert!(found["hits"][0]["similarity"].is_number(), "by default the built-in vectors are used: {found}");
    desk.file("apprentice.toml", settings);
    let learned = desk.ok(&["clean", "--model", "builtin/explorer", "--dry-run"]);
    assert_eq!(learned["tasks"], json!([]), "there is no pair to compare, and no reason to ask");
}

/// Says one line and hears what is answered, each within a deadline.
struct Talk {
    child: std::process::Child,
    heard: std::sync::mpsc::Receiver<Value>,
}

impl Talk {
    fn with(desk: &Desk, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_apprentice"))
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", desk.path())
            .current_dir(desk.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        let output = std::io::BufReader::new(child.stdout.take().expect("its output"));
        let (say, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { break };
                if say.send(serde_json::from_str(&line).expect("json")).is_err() {
                    break;
                }
            }
        });
        Self { child, heard }
    }

    fn say(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().expect("its input");
        input.write_all(format!("{message}\n").as_bytes()).expect("is heard");
    }

    fn answer_to(&self, id: u32) -> Value {
        let mut other = Vec::new();
        loop {
            let answer = self.heard.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("{id}: only {other:?}"));
            if answer["id"] == id {
                return answer;
            }
            other.push(answer);
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_message_of_twenty_megabytes_is_refused_and_the_next_is_heard() {
    let desk = Desk::new();
    desk.learn();
    let mut talk = Talk::with(&desk, &["mcp", "--skillbook", "book"]);
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client });
    talk.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    talk.answer_to(1);
    talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let search = |query: &str| json!({ "name": "skill_search", "arguments": { "query": query } });
    let call = |id: u32, query: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": search(query) });
    talk.say(&call(2, &"transparent ".repeat(1_700_000)));
    let refused = talk.answer_to(2);
    assert!(refused["error"]["message"].as_str().is_some_and(|why| why.contains("at most")), "{refused}");
    talk.say(&call(3, "transparent"));
    let found = talk.answer_to(3);
    assert!(
        found["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("gimp/")),
        "{found}"
    );
}

#[test]
fn the_book_that_came_with_the_program_is_written_only_where_it_is_named() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path().join("skillbook/.meta")).expect("a folder");
    desk.file("skillbook/.meta/shipped", "");
    let said = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_apprentice"))
            .args(words)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", desk.path())
            .current_dir(desk.path())
            .stdin(std::process::Stdio::null())
            .output()
            .expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    desk.file("r.json", r#"{"new_learnings": []}"#);
    let writers: [&[&str]; 6] = [
        &["learn", "runs/none"],
        &["skills", "sync"],
        &["skills", "revert", "o1"],
        &["skills", "import", "--from", "shipped"],
        &["skills", "apply", "r.json"],
        &["mcp", "--write"],
    ];
    for words in writers {
        let (code, told) = said(words);
        assert_eq!(code, Some(3), "{words:?}: {told}");
        assert!(
            told.contains("shipped with the program") && told.contains("--skillbook DIR"),
            "{words:?}: {told}"
        );
        let there = fs::read_dir(desk.path().join("skillbook/.meta")).expect("a folder").count();
        assert_eq!(there, 1, "{words:?} wrote");
    }
    let (code, told) = said(&["skills", "list"]);
    assert_eq!(code, Some(0), "whoever reads may: {told}");
    let (code, told) = said(&["skills", "sync", "--skillbook", "skillbook"]);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn what_is_wrong_with_a_book_or_a_flag_is_said_where_it_is() {
    let desk = Desk::new();
    for words in [&["sync"][..], &["revert", "o1"], &["clean", "--dry-run"]] {
        assert_eq!(desk.code(words), Some(3), "{words:?}");
        assert!(!desk.path().join("book").exists(), "{words:?} began a book under a mistyped name");
    }
    desk.learn();
    for words in [
        &["search", ""][..],
        &["search", "x", "--limit", "0"],
        &["clean", "--dry-run", "--similarity", "7"],
        &["clean", "--dry-run", "--similarity", "nan"],
    ] {
        assert_eq!(desk.code(words), Some(2), "{words:?}");
    }
    let output = desk.run(&["search", &"qqq ".repeat(4000), "--words"]);
    assert!(
        output.status.code() == Some(4) && output.stderr.len() < 1000,
        "a long query is not said back whole"
    );
    let log = desk.path().join("book/.meta/ops.jsonl");
    let text = fs::read_to_string(&log).expect("a log");
    let later = r#"{"v":9,"id":"o9","time":"2026-01-01T00:00:00Z","actor":"human","op":"skill.sung"}"#;
    fs::write(&log, format!("{text}{later}\n{{\"v\":1,\"id")).expect("writes");
    let output = desk.run(&["validate", "book"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("json");
    let findings = report["results"][0]["findings"].as_array().expect("findings");
    let codes: Vec<&Value> = findings.iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["unreadable", "cut_off"], "{report}");
    let output = desk.run(&["sync"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("later version") && told.contains(".meta/ops.torn-"), "{told}");
}

/// An archive of files by path; a text of zeroes says one thing often.
fn archive(place: &Path, files: &[(&str, &[u8])]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(place).expect("a file"));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).expect("begins");
        archive.write_all(bytes).expect("writes");
    }
    archive.finish().expect("ends");
}

#[test]
fn packages_come_in_archives_and_by_their_file() {
    let desk = Desk::new();
    let page = |name: &str| {
        format!("---\nname: {name}\ndescription: Helps with {name}\n---\n\nOpen Tools > {name}.\n")
            .into_bytes()
    };
    let (frames, charts) = (page("frames"), page("charts"));
    let place = |name: &str| desk.path().join(name);
    archive(
        &place("frames.skill"),
        &[("SKILL.md", &frames), ("references/more.md", b"Open View."), ("__MACOSX/._SKILL.md", b"junk")],
    );
    archive(
        &place("many.zip"),
        &[("set/charts/SKILL.md", &charts), ("set/charts/node_modules/x.js", b"1"), ("README.md", b"Read.")],
    );
    let taken = |name: &str| {
        let told = desk.ok(&["import", name]);
        let names = told["packages"].as_array().expect("a list").iter();
        names.map(|one| (one["package"].clone(), one["written"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(taken("frames.skill"), [(json!("frames"), json!(true))]);
    assert_eq!(taken("many.zip"), [(json!("charts"), json!(true))]);
    assert_eq!(desk.ok(&["validate", "frames.skill"])["valid"], true);
    desk.ok(&["export", "out"]);
    assert_eq!(fs::read(place("out/frames/SKILL.md")).expect("it is there"), frames, "as it came");
    assert_eq!(fs::read(place("out/frames/references/more.md")).expect("it is there"), b"Open View.");
    assert!(!place("out/charts/node_modules").exists());
    assert_eq!(taken("out/charts/SKILL.md"), [(json!("charts"), json!(false))], "it is there already");

    archive(&place("out.zip"), &[("../evil/SKILL.md", &page("evil"))]);
    archive(&place("big.zip"), &[("big/SKILL.md", &page("big")), ("big/zeroes", &vec![0; 10_000_001])]);
    archive(&place("none.zip"), &[("README.md", b"Read.")]);
    desk.file("no.zip", "no archive");
    for (name, code, part) in [
        ("out.zip", 3, "leaves the archive"),
        ("big.zip", 3, "at most"),
        ("none.zip", 4, "no folder with a SKILL.md"),
        ("no.zip", 3, "zip archive"),
        ("nowhere.zip", 3, "nowhere.zip"),
    ] {
        let output = desk.run(&["import", name]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {told}");
        assert!(told.contains(part), "{name}: {told}");
    }
    assert!(!place("../evil").exists());
    assert_eq!(desk.ok(&["list"])["skills"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_book_that_cannot_be_written_is_no_models_fault() {
    let desk = Desk::new();
    desk.learn();
    fs::remove_dir_all(desk.path().join("book")).expect("removed");
    let line = "trap '' XFSZ; ulimit -f 2; exec \"$0\" skills --skillbook book apply reflection.json --model scripted:script.jsonl";
    let mut full = Command::new("sh");
    full.args(["-c", line, env!("CARGO_BIN_EXE_apprentice")]).env_clear().env("PATH", "/usr/bin:/bin");
    let output = full.env("HOME", desk.path()).current_dir(desk.path()).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("ops.jsonl: cannot be") && told.contains("repeat the command to continue"),
        "{told}"
    );
    assert_eq!(desk.ok(&["list"])["problems"], json!([]), "what was cut off was never committed");
    let decision = &desk.learn()["trajectories"][0]["decisions"][0];
    assert_eq!(decision["outcome"], "wrote", "{decision}");
}
