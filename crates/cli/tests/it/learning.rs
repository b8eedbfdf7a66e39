//! Learning while working, through the real program: a package written with a terminal inside the world is published,
//! told in the user's language, and found again in trace, journal and book. And the skillbook that is shipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use apprentice_skillbook::{At, Snapshot, domains_file, index_file};
use serde_json::{Value, json};

use crate::place::{Place, copy, worlds_can_start};
use crate::starter::is_installed;

/// What the book of the repository holds; another number means that another book was put there.
const SHIPPED_HASH: &str = "3115b9aa5b3a603ee7d495303282d3c48d8bccd364f6a8b653772e9d26dcf70f";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn told(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// What the agent does: looks back, opens a package, types it into a terminal, publishes it, reports, ends.
fn script() -> String {
    let tool = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let page = r#"---\nname: rl-count-lines\ndescription: "Counting lines of many files"\nmetadata:\n  cua-domain: terminal\n---\n\n1. Run `wc -l *.csv` in the folder.\n"#;
    let line = format!("printf -- '{page}' > .claude/skills/rl-count-lines/SKILL.md; clear\n");
    let typed = json!({ "actions": [{ "do": "type", "text": line }, { "do": "wait", "ms": 1000 }] });
    let start = json!({ "action": "create", "skill_name": "rl-count-lines", "reason": "repeated_tool_pattern",
        "event_refs": ["e1"], "message": "Ich merke mir das Zählen." });
    let finish = json!({ "action": "create", "skill_name": "rl-count-lines", "status": "created",
        "message": "Fertig.", "summary": "wc counts many files at once." });
    let report = json!({ "used_skill_receipts": [{ "skill_name": "interaction/dialogs", "message": "m" }] });
    let calls = [
        tool("skill_timeline", json!({})),
        tool("skill_learning_start", start),
        tool("computer", typed),
        tool("skill_learning_finish", finish),
        tool("skill_view", json!({ "skill": "interaction/dialogs" })),
        tool("skill_report", json!({ "used_skill_receipts": 7 })),
        tool("skill_report", report),
        tool("finish", json!({ "finish": "done" })),
    ];
    calls.map(|call| json!({ "calls": [call] }).to_string()).join("\n")
}

/// The world said which versions its programs have, and the skill keeps that of its own.
fn check_versions(place: &Place, shown: &Value) {
    let trace = fs::read_to_string(place.path("out").join("events.jsonl")).expect("a trace");
    let seen = trace.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let seen = seen.filter(|event| event["kind"] == "versions.seen").collect::<Vec<_>>();
    assert_eq!(seen.len(), 1, "nothing was opened later: {seen:?}");
    let versions = &seen[0]["data"]["versions"];
    assert!(versions["os"].is_string(), "{versions}");
    let on: Vec<&Value> = shown["seen_on"].as_array().expect("a list").iter().collect();
    match versions["terminal"].as_str() {
        Some(version) => {
            let expected = json!({ "version": 1, "app": "terminal", "app_version": version, "written": true,
                "confirmed": 0, "outdated": 0 });
            assert_eq!(on, [&expected]);
        }
        // Nobody knows where programs come in no packages; then nothing is said.
        None => assert_eq!(on, [&Value::Null; 0]),
    }
}

#[test]
fn a_skill_that_an_agent_writes_in_its_world_is_in_the_book_when_it_ends() {
    if !worlds_can_start() || !is_installed("xfce4-terminal") {
        return;
    }
    let place = Place::new();
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    fs::write(path("script.jsonl"), script()).expect("written");
    let (model, book, out) = (format!("scripted:{}", path("script.jsonl")), path("book"), path("out"));
    let asked = ["do", "Count the lines.", "--app", "xfce4-terminal", "--model", &model, "--out", &out];
    let done = place.output(&[&asked[..], &["--skillbook", &book, "--learn", "--language", "de"]].concat());
    assert!(done.status.success(), "{done:?}");
    let heard = String::from_utf8_lossy(&done.stderr);
    assert!(heard.contains("Fertigkeit gelernt: rl-count-lines"), "{heard}");
    assert!(heard.contains("Gelernte Fertigkeit benutzt: interaction/dialogs"), "{heard}");

    let kept: Value =
        serde_json::from_slice(&fs::read(place.path("out").join("final.json")).expect("a report"))
            .expect("json");
    assert_eq!(kept["schema"], "apprentice.final/1");
    assert_eq!(
        (&kept["signal"]["code"], &kept["output"]["learning_signal"]),
        (&json!("silent"), &Value::Null)
    );
    let skills = |arguments: &[&str]| {
        told(&place.output(&[&["skills", "--json", "--skillbook", &book], arguments].concat()))
    };
    let shown = skills(&["show", "terminal/rl-count-lines"]);
    assert_eq!(shown["provenance"]["origin"], "learned");
    assert!(shown["guidance"].as_str().expect("text").contains("wc -l *.csv"), "{shown}");
    check_versions(&place, &shown);
    let learning = skills(&["learning"]);
    assert_eq!(learning["counters"]["turns_since_review"], 1, "{learning}");
    let names: Vec<&str> = learning["lines"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    let expected = ["learning.started", "skill.created", "learning.finished", "skill.declared_used"];
    assert_eq!(names, expected);
    let events = skills(&["events", "terminal/rl-count-lines"]);
    assert_eq!(events["events"][0]["event"], "skill.created");

    let bundle = told(&place.output(&["trace", "review", &out, "--skillbook", &book, "--json"]));
    assert!(bundle["authoring"].as_str().is_some_and(|text| text.contains("skill_learning_start")));
    let included = bundle["bundle"]["included_events"].as_array().expect("events");
    assert_eq!(included[0]["reason"], "user_input", "{bundle}");
    let refused = included.iter().find(|event| event["reason"] == "error").expect("the wrong report");
    let id = refused["id"].as_str().expect("an id");
    let whole = place.output(&["trace", "review", &out, "--expand", id]);
    assert!(String::from_utf8_lossy(&whole.stdout).starts_with(id), "{whole:?}");
    assert_eq!(place.output(&["trace", "review", &out, "--expand", "e999"]).status.code(), Some(4));
    assert_eq!(place.cells(), [""; 0], "the world is gone");
}

/// Writes a package with scripts of which one fails, and a check that finds that.
fn put_word_counter(place: &Place) {
    let package = place.path("count-words");
    let put = |path: &str, text: &str| {
        let file = package.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
        fs::write(file, text).expect("written");
    };
    put(
        "SKILL.md",
        "---\nname: count-words\ndescription: Counting the words of a text\n---\n\nRun scripts/count.sh TEXT.\n",
    );
    put(
        "scripts/count.sh",
        "echo \"$1\" | wc -w\ncat \"$(dirname \"$0\")/../references/unit.txt\"\n[ \"$HOME\" = /home/user ] || exit 9\n",
    );
    put("scripts/fails", "#!/bin/sh\necho broken >&2\nexit 3\n");
    put("references/unit.txt", "words\n");
    put("scripts/check.sh", "sh \"$(dirname \"$0\")/fails\" || exit 4\n");
}

/// What the agent does: runs scripts that are there and some that are not, reports one as broken, ends.
fn script_calls(skill: &str) -> [String; 6] {
    let run = |path: &str, arguments: &[&str]| {
        let arguments = json!({ "skill": skill, "path": path, "arguments": arguments });
        json!({ "calls": [{ "name": "skill_run", "arguments": arguments }] }).to_string()
    };
    let end = json!({ "calls": [{ "name": "finish", "arguments": { "finish": "done" } }] }).to_string();
    [
        run("scripts/count.sh", &["one two; exit 1"]),
        run("scripts/fails", &[]),
        run("../../../bin/ls", &[]),
        run("references/unit.txt", &[]),
        json!({ "calls": [{ "name": "skill_report", "arguments": { "skill_issue_signal": {
            "kind": "update_candidate", "skill_name": skill, "issue": "broken_script",
            "reason_not_patched": "needs_existing_skill_diff", "observed_effect": "manual_override",
            "event_refs": ["e1", "e2"], "patch_hint": "One script fails." } } }] })
        .to_string(),
        end,
    ]
}

/// The answers to calls, in order, with whether each is an error.
fn answers(events: &[Value]) -> Vec<(&str, bool)> {
    events
        .iter()
        .filter(|event| event["kind"] == "call.answered" && event["data"]["content"][0]["text"] != "finished")
        .map(|event| {
            let data = &event["data"];
            (data["content"][0]["text"].as_str().unwrap_or_default(), data["is_error"] == true)
        })
        .collect()
}

/// The report of a broken script stands in the journal with what the check of the skill found.
fn check_script_signal(place: &Place, book: &str, skill: &str) {
    let learning = told(&place.output(&["skills", "--json", "--skillbook", book, "learning"]));
    let signal =
        learning["lines"].as_array().expect("lines").iter().find(|line| line["event"] == "learning.signal");
    let signal = signal.expect("a signal");
    assert_eq!(
        (&signal["skill"], &signal["data"]["check"]["passed"]),
        (&json!(skill), &json!(false)),
        "{signal}"
    );
    assert!(
        signal["data"]["check"]["told"].as_str().is_some_and(|told| told.contains("exit code 4")),
        "{signal}"
    );
}

#[test]
fn a_script_of_a_skill_runs_inside_the_world() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    put_word_counter(&place);
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let (book, out) = (path("book"), path("out"));
    let imported =
        place.output(&["skills", "--skillbook", &book, "import", &path("count-words"), "--accept-effects"]);
    assert!(imported.status.success(), "{imported:?}");
    let listed = told(&place.output(&["skills", "--json", "--skillbook", &book, "list"]));
    let skill = listed["skills"][0]["id"].as_str().expect("a skill").to_owned();
    let lines = script_calls(&skill);
    fs::write(path("script.jsonl"), lines.join("\n")).expect("written");
    let model = format!("scripted:{}", path("script.jsonl"));
    let asked = [
        "do",
        "Count.",
        "--app",
        "mousepad",
        "--model",
        &model,
        "--out",
        &out,
        "--skillbook",
        &book,
        "--learn",
    ];
    let done = place.output(&asked);
    assert!(done.status.success(), "{done:?}");
    check_script_signal(&place, &book, &skill);
    let trace = fs::read_to_string(place.path("out").join("events.jsonl")).expect("a trace");
    let events: Vec<Value> =
        trace.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let answers = answers(&events);
    assert!(
        answers[0].0.starts_with("exit code 0\nstandard output:\n4\nwords\n") && !answers[0].1,
        "{answers:?}"
    );
    assert!(
        answers[1].0.starts_with("exit code 3") && answers[1].0.ends_with("broken") && answers[1].1,
        "{answers:?}"
    );
    assert_eq!(answers[4].0, "Noted.");
    for refused in &answers[2..4] {
        assert!(refused.1 && refused.0.contains("brings no such script"), "{answers:?}");
    }
    let ran: Vec<&Value> = events
        .iter()
        .filter(|event| event["data"]["happening"] == "skill.script_run")
        .map(|event| &event["data"]["detail"])
        .collect();
    assert_eq!(ran, ["scripts/count.sh: exit code 0", "scripts/fails: exit code 3"]);
    assert_eq!(place.cells(), [""; 0], "the world is gone");
}

/// The skills that a model saw at its first step, and what `do` said.
fn viewed_unasked(role: &str, instruction: &str) -> (usize, String) {
    let place = Place::new();
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let end = json!({ "calls": [{ "name": "finish", "arguments": { "finish": "done" } }] });
    fs::write(path("script.jsonl"), end.to_string()).expect("written");
    let settings = format!("[role.student]\nmodel = \"scripted:{}\"\n{role}", path("script.jsonl"));
    fs::write(path("apprentice.toml"), settings).expect("written");
    let (book, out) = (shipped(&place), path("out"));
    let asked =
        ["do", instruction, "--app", "mousepad", "--model", "student", "--skillbook", &book, "--out", &out];
    let done = place.output(&asked);
    let heard = String::from_utf8_lossy(&done.stderr).into_owned();
    let trace = fs::read_to_string(place.path("out").join("events.jsonl")).unwrap_or_default();
    let viewed = trace.lines().filter(|line| line.contains(r#""happening":"skill.viewed""#)).count();
    (viewed, heard)
}

#[test]
fn a_role_says_how_a_skillbook_reaches_its_model() {
    if !worlds_can_start() || !is_installed("mousepad") {
        return;
    }
    let instruction = "Turn on line numbers in the text editor.";
    assert_eq!(viewed_unasked("", instruction).0, 0);
    assert_eq!(viewed_unasked("delivery = \"pull\"", instruction).0, 0);
    let (viewed, heard) = viewed_unasked("delivery = \"push\"", instruction);
    assert!((1..=3).contains(&viewed), "{viewed}: {heard}");
    let (viewed, heard) = viewed_unasked("delivery = \"push\"", "zzqx");
    assert!(viewed == 0 && heard.contains("no skill is shown: no skill shares a word"), "{heard}");
    let (_, heard) = viewed_unasked("delivery = \"psh\"", instruction);
    assert!(heard.contains("unknown variant `psh`") && heard.contains("`index+pull`"), "{heard}");
}

/// A copy of the shipped book, so that nothing is written beside it.
fn shipped(place: &Place) -> String {
    let to = place.path("skillbook");
    copy(&root().join("skillbook"), &to);
    to.to_string_lossy().into_owned()
}

#[test]
fn the_shipped_book_is_what_its_log_says() {
    let place = Place::new();
    let folder = shipped(&place);
    let folder = Path::new(&folder);
    let book = Snapshot::open(folder, At::Now).expect("opens");
    assert_eq!((book.problems(), book.pending()), (&[][..], &[][..]), "no page differs from the log");
    let folded = Snapshot::open(folder, At::Operation(book.last())).expect("folds");
    assert_eq!(folded.content_hash(), book.content_hash());
    assert_eq!(book.content_hash(), SHIPPED_HASH);
    let read = |path: &str| fs::read_to_string(folder.join(path)).expect("a file");
    assert_eq!(read("DOMAINS.md"), domains_file(book.state()));
    for domain in book.domains() {
        assert_eq!(read(&format!("{domain}/INDEX.md")), index_file(book.state(), domain));
    }
    assert!(book.skills().count() >= 8, "{book:?}");
}

#[test]
fn the_shipped_book_is_valid_and_names_where_each_line_comes_from() {
    let place = Place::new();
    let folder = shipped(&place);
    let skills = |arguments: &[&str]| {
        told(&place.output(&[&["skills", "--json", "--skillbook", &folder], arguments].concat()))
    };
    assert_eq!(skills(&["validate"])["valid"], true);
    let packages = place.path("packages").to_string_lossy().into_owned();
    skills(&["export", &packages]);
    assert_eq!(skills(&["validate", &packages])["valid"], true);
    let listed = skills(&["list"]);
    for skill in listed["skills"].as_array().expect("skills") {
        assert_eq!(skill["source"], "learned");
        let blamed = skills(&["blame", skill["id"].as_str().expect("an id")]);
        let lines = blamed["lines"].as_array().expect("lines");
        assert!(!lines.is_empty());
        for line in lines {
            // Short steps were written by a person, from training tasks.
            let by_person = line["actor"] == "human";
            let from = line["trajectory"].as_str();
            assert!(by_person || from.is_some_and(|from| from.split('/').count() == 3), "{line}");
        }
    }
    let shipped: Vec<&str> =
        listed["shipped"].as_array().expect("notes").iter().filter_map(|note| note["id"].as_str()).collect();
    assert!(shipped.contains(&"interaction/file-chooser"), "{shipped:?}");
    let note = skills(&["show", "interaction/file-chooser"]);
    assert_eq!(note["provenance"]["origin"], "shipped");
}
