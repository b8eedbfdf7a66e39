//! Sessions of several turns and the reviews after them, through the real program: instructions on standard input, one
//! world, interrupts, and a worker that is killed at the worst moment.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use apprentice_skillbook::{At, Gateway, GatewayOptions, Snapshot};
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, Running, await_some, worlds_can_start};
use crate::starter::is_installed;

#[expect(clippy::needless_pass_by_value, reason = "literals read better so")]
fn tool(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn line(calls: &[Value]) -> String {
    json!({ "calls": calls }).to_string()
}

fn acts(actions: Value) -> String {
    let mut arguments = json!({});
    arguments["actions"] = actions;
    line(&[tool("computer", arguments)])
}

fn done() -> String {
    line(&[tool("finish", json!({ "finish": "done" }))])
}

fn written(place: &Place, name: &str, lines: &[String]) -> String {
    let path = place.path(name);
    fs::write(&path, lines.join("\n")).expect("written");
    format!("scripted:{}", path.to_string_lossy())
}

fn events(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.path("out").join("events.jsonl")).expect("a trace");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

/// Starts a command that reads from a pipe, with its output in files.
fn piped(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    let file = |name: &str| fs::File::create(place.path(name)).expect("a file");
    command.stdin(Stdio::piped()).stdout(file("stdout")).stderr(file("stderr"));
    command
}

fn say(running: &mut Running, words: &str) {
    let input = running.0.stdin.as_mut().expect("a pipe");
    input.write_all(words.as_bytes()).and_then(|()| input.flush()).expect("written");
}

#[test]
fn instructions_follow_each_other_in_one_world_until_the_input_ends() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let typed = |text: &str| acts(json!([{ "do": "type", "text": text }]));
    let saved = acts(json!([{ "do": "key", "chord": "ctrl+s" }, { "do": "wait", "ms": 500 }]));
    let replies =
        [typed("one"), done(), typed("two"), saved, json!({ "say": "Both stand there." }).to_string()];
    let model = written(&place, "script.jsonl", &replies);
    fs::write(place.path("notes.txt"), "").expect("written");
    let out = place.path("out").to_string_lossy().into_owned();
    let asked = [
        "do",
        "--chat",
        "--app",
        "mousepad notes.txt",
        "--file",
        "notes.txt",
        "--model",
        &model,
        "--out",
        &out,
    ];
    let mut running = Running::start(piped(&place, &asked));
    say(&mut running, "\nWrite one.\n/remember it\n/nonsense\n");
    say(&mut running, "Now write two, and save.\n");
    drop(running.0.stdin.take());
    assert!(running.ended().success(), "{}", place.text("stderr"));
    assert_eq!(place.text("stdout"), "done\nBoth stand there.\n");
    let heard = place.text("stderr");
    assert!(
        heard.contains("/remember requires --learn") && heard.contains("no command /nonsense"),
        "{heard}"
    );
    let events = events(&place);
    let started: Vec<&Value> =
        of_kind(&events, "turn.started").iter().map(|event| &event["data"]["instruction"]).collect();
    assert_eq!(started, ["Write one.", "Now write two, and save."]);
    assert_eq!(events[0]["data"]["brief"]["instruction"], "Write one.");
    assert_eq!((of_kind(&events, "world.opened").len(), of_kind(&events, "stopped").len()), (1, 1));
    let ends: Vec<&Value> =
        of_kind(&events, "turn.ended").iter().map(|event| &event["data"]["reason"]).collect();
    assert_eq!(ends, ["done", "answered"]);
    assert_eq!(place.cells(), [""; 0], "the world is gone");
}

#[test]
fn an_interrupt_ends_the_turn_and_two_end_the_session() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let hangs = || acts(json!([{ "do": "wait", "ms": 60_000 }]));
    let model = written(&place, "script.jsonl", &[hangs(), done(), hangs(), done()]);
    let out = place.path("out").to_string_lossy().into_owned();
    let asked = ["do", "Wait.", "--chat", "--app", "mousepad", "--model", &model, "--out", &out];
    let mut running = Running::start(piped(&place, &asked));
    let replied = |count: usize| {
        await_some("a reply", || {
            let text = fs::read_to_string(place.path("out").join("events.jsonl")).ok()?;
            (text.matches("\"model.replied\"").count() >= count).then_some(())
        });
    };
    replied(1);
    running.signal(Signal::INT);
    await_some("the end of the turn", || place.text("stdout").contains("not finished").then_some(()));
    say(&mut running, "Go on.\nWait again.\n");
    replied(3);
    running.signal(Signal::INT);
    await_some("the turn to stop", || {
        (place.text("stderr").matches("interrupt again to end the session").count() == 2).then_some(())
    });
    running.signal(Signal::INT);
    assert_eq!(running.ended().code(), Some(130), "{}", place.text("stderr"));
    let events = events(&place);
    let ends: Vec<Value> = of_kind(&events, "turn.ended")
        .iter()
        .map(|event| json!([event["data"]["reason"], event["data"]["void"]]))
        .collect();
    assert_eq!(ends, [json!([null, "interrupted"]), json!(["done", null]), json!([null, "interrupted"])]);
    assert_eq!(of_kind(&events, "stopped").len(), 1);
    assert_eq!(place.cells(), [""; 0], "the world is gone");
}

#[test]
fn a_rule_based_model_works_on_each_instruction() {
    if !worlds_can_start() || !is_installed("chromium") {
        return;
    }
    let place = Place::new();
    let out = place.path("out").to_string_lossy().into_owned();
    let page = "data:text/html,<title>p</title><h1>p</h1><button>Alpha</button><button>Beta</button>";
    let asked = ["do", "--chat", "--url", page, "--out", &out, "--steps", "12"];
    let mut running = Running::start(piped(&place, &asked));
    say(&mut running, "Click the button \"Alpha\".\nClick the button \"Beta\".\n");
    drop(running.0.stdin.take());
    running.ended();
    let events = events(&place);
    let mut clicked: Vec<Vec<String>> = Vec::new();
    for event in &events {
        match event["kind"].as_str() {
            Some("turn.started") => clicked.push(Vec::new()),
            Some("action") if event["data"]["target_role"] == "button" => {
                let name = event["data"]["target_name"].as_str().unwrap_or_default().to_owned();
                clicked.last_mut().expect("a turn").push(name);
            }
            _ => {}
        }
    }
    assert_eq!(clicked.len(), 2, "{}", place.text("stderr"));
    assert_eq!(
        (clicked[0].first(), clicked[1].first()),
        (Some(&"Alpha".into()), Some(&"Beta".into())),
        "{clicked:?}"
    );
}

/// A session in which something failed and was got over, with its book.
fn session(place: &Place, settings: &str, reviewer: &[Value]) -> (String, std::process::Output) {
    let missing = acts(json!([{ "do": "click", "at": { "ref": "n99999" } }]));
    let works = acts(json!([{ "do": "key", "chord": "ctrl+n" }, { "do": "wait", "ms": 200 }]));
    let model = written(place, "agent.jsonl", &[missing, works, done()]);
    let lines: Vec<String> = reviewer.iter().map(Value::to_string).collect();
    let background = written(place, "reviewer.jsonl", &lines);
    let text = format!(
        "[role.background]\nmodel = {background:?}\n[learning]\nreview_interval_minutes = 0\n{settings}\n"
    );
    fs::write(place.path("apprentice.toml"), text).expect("written");
    let book = place.path("book").to_string_lossy().into_owned();
    let out = place.path("out").to_string_lossy().into_owned();
    let asked = ["do", "Open a second window.", "--app", "mousepad", "--model", &model, "--out", &out];
    let done = place.output(&[&asked[..], &["--skillbook", &book, "--learn"]].concat());
    assert!(done.status.success(), "{done:?}");
    (book, done)
}

fn reading() -> Value {
    let turn = json!({ "turn": 1, "relation": "new_task", "asks_to_remember": "no", "recurs": "yes" });
    json!({ "say": json!({ "turns": [turn] }).to_string() })
}

fn creates() -> Value {
    let guidance = "1. Press Ctrl+N in the editor's window.\n2. Work in the new window.\nVerification: two windows are open.";
    let asked = json!({ "name": "rl-second-window", "domain": "mousepad", "description": "A second window of the editor",
        "situation": "Two texts are to be edited side by side.", "guidance": guidance, "event_refs": ["e1", "e2"] });
    json!({ "calls": [tool("create_skill", asked)] })
}

fn reviewed(place: &Place, book: &str) -> Value {
    let output = place.output(&["skills", "learning", "run", "--now", "--json", "--skillbook", book]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn skills(book: &str) -> Vec<String> {
    let book = Snapshot::open(Path::new(book), At::Now);
    book.map(|book| book.skills().map(|skill| skill.id.to_string()).collect()).unwrap_or_default()
}

#[test]
fn a_review_runs_after_the_answer_and_tells_only_what_it_changed() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let settings = "background = \"on\"\nreview_after_turns = 1";
    let (book, done) = session(&place, settings, &[reading(), creates()]);
    let heard = String::from_utf8_lossy(&done.stderr);
    assert!(heard.contains("rl-second-window"), "{heard}");
    assert_eq!(skills(&book), ["mousepad/rl-second-window"]);
    let shown =
        place.output(&["skills", "--json", "--skillbook", &book, "show", "mousepad/rl-second-window"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("json");
    assert_eq!(shown["provenance"]["origin"], "learned");
    let again = reviewed(&place, &book);
    assert_eq!((&again["reviewed"], &again["why"]), (&json!(false), &json!("no trigger")));

    let quiet = Place::new();
    let nothing = tool("no_skill", json!({ "reason": "basic", "why": "known" }));
    let (book, done) = session(&quiet, settings, &[reading(), json!({ "calls": [nothing] })]);
    let heard = String::from_utf8_lossy(&done.stderr);
    let after = heard.split("trace: ").nth(1).expect("the end of the work");
    assert_eq!(after.lines().count(), 1, "a review that changes nothing says nothing: {heard}");
    let learning = quiet.output(&["skills", "--json", "--skillbook", &book, "learning"]);
    assert!(String::from_utf8_lossy(&learning.stdout).contains("\"outcome\": \"nothing\""), "{learning:?}");
}

#[test]
fn a_worker_that_is_killed_before_it_publishes_leaves_the_book_as_it_was() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (book, _) = session(&place, "", &[reading(), creates()]);
    assert_eq!(skills(&book), [""; 0], "by default nothing is reviewed unasked");
    let (writer, _) =
        Gateway::open(Path::new(&book), GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens");
    let before = writer.state().last;
    let run = ["skills", "learning", "run", "--now", "--skillbook", &book];
    let running = Running::start(piped(&place, &run));
    let staged = Path::new(&book).join(".meta/review/staged.json");
    await_some("the staged change", || staged.is_file().then_some(()));
    let other = reviewed(&place, &book);
    assert_eq!((&other["reviewed"], &other["why"]), (&json!(false), &json!("a review is running")));
    running.signal(Signal::KILL);
    drop(running);
    drop(writer);
    assert_eq!(skills(&book), [""; 0]);
    let last = Snapshot::open(Path::new(&book), At::Now).expect("opens").last();
    assert_eq!(last, before, "nothing was written");
    // The reading is asked for again; what was decided is not.
    written(&place, "reviewer.jsonl", &[reading().to_string()]);
    let summary = reviewed(&place, &book);
    assert_eq!((&summary["outcome"], &summary["turns"]), (&json!("learned"), &json!(1)), "{summary}");
    assert_eq!(skills(&book), ["mousepad/rl-second-window"]);
    assert!(!staged.exists());
    let again = reviewed(&place, &book);
    assert_eq!(again["reviewed"], false, "{again}");
}

#[test]
fn the_money_of_the_day_holds_in_the_middle_of_a_review_and_for_the_next_process() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let priced = |mut reply: Value| {
        reply["cost_usd"] = json!(0.2);
        reply
    };
    let looks = json!({ "calls": [tool("review_event", json!({ "id": "e1" }))] });
    let settings = "review_usd = 0.3\nreviews_usd_per_day = 0.3";
    let (book, _) = session(&place, settings, &[priced(reading()), priced(looks), priced(creates())]);
    let summary = reviewed(&place, &book);
    assert_eq!((&summary["outcome"], &summary["turns"]), (&json!("budget"), &json!(0)), "{summary}");
    assert!((summary["usd"].as_f64().expect("a number") - 0.4).abs() < 1e-9, "{summary}");
    assert_eq!(skills(&book), [""; 0]);
    let next = reviewed(&place, &book);
    assert_eq!(next["why"], "the money of today is used up", "{next}");
}

#[test]
fn a_session_that_goes_on_is_not_reviewed() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let model = written(&place, "script.jsonl", &[done(), done()]);
    let background = written(&place, "reviewer.jsonl", &[]);
    let text =
        format!("[role.background]\nmodel = {background:?}\n[learning]\nreview_interval_minutes = 0\n");
    fs::write(place.path("apprentice.toml"), text).expect("written");
    let (book, out) = (place.path("book").to_string_lossy().into_owned(), place.path("out"));
    let out = out.to_string_lossy().into_owned();
    let asked =
        ["do", "Do nothing.", "--chat", "--learn", "--skillbook", &book, "--app", "mousepad", "--model"];
    let mut running = Running::start(piped(&place, &[&asked[..], &[&model, "--out", &out]].concat()));
    await_some("the first turn", || place.path("out").join("final-1.json").is_file().then_some(()));
    let held = reviewed(&place, &book);
    assert_eq!(held["why"], "the sessions are still going on", "{held}");
    drop(running.0.stdin.take());
    assert!(running.ended().success(), "{}", place.text("stderr"));
    let over = reviewed(&place, &book);
    assert_eq!((&over["outcome"], &over["turns"]), (&json!("no_candidate"), &json!(1)), "{over}");
}
