//! Watching, pausing, taking over and stopping a real run: a rule-based model in a real Chromium, steered by the commands,
//! over the socket, and by the live page in a second Chromium.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use apprentice_control::{Answer, ControlPlace, Order, OrderKind, Peer};
use apprentice_protocol::{Action, Button, ScreenPoint, Size, Target};
use serde_json::{Value, json};

use crate::place::{Place, Running, await_some, events, rows, text, worlds_can_start};
use crate::published;
use crate::viewing::Browser;

/// A field at the top left, which has the focus, and three buttons that are to be pressed in order.
const PAGE: &str = "data:text/html,<title>Form</title><input aria-label=Note autofocus \
                    style='position:fixed;left:0;top:0;width:400px;height:80px'><div style='margin-top:120px'>\
                    <button>One</button> <button>Two</button> <button>Three</button></div>";

struct WatchedRun {
    place: Place,
    running: Running,
}

impl WatchedRun {
    /// Starts a run of one task and pauses it before its first step.
    fn paused() -> Self {
        let place = Place::new();
        let click = |name: &str| json!({ "click": { "role": "button", "name": name } });
        let suite = place.suite(&[(
            "buttons",
            json!({
                "evaluator": {
                    "func": "exact_match",
                    "result": { "type": "vm_command_line", "command": ["echo", "wanted"] },
                    "expected": { "type": "rule", "rules": { "expected": "wanted\n" } },
                },
                "apprentice": {
                    "environment": "browser", "template": "buttons", "url": PAGE,
                    "solution": [click("One"), click("Two"), click("Three")],
                },
            }),
        )]);
        let running = Running::start(place.run_of(&suite, "baseline/solution"));
        let watched = Self { place, running };
        await_some("the pause", || watched.place.output(&["pause"]).status.success().then_some(()));
        watched.await_trial("the wait", |trial| trial["phase"] == "waiting_for_person");
        watched
    }

    fn ps(&self) -> Value {
        let output = self.place.output(&["ps", "--json"]);
        serde_json::from_slice(&output.stdout).expect("a list")
    }

    /// Waits until the only trial is as wanted, and returns it.
    fn await_trial(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        await_some(what, || {
            let trial = self.ps()["processes"][0]["trials"][0].clone();
            is_so(&trial).then_some(trial)
        })
    }

    fn socket(&self) -> ControlPlace {
        let path = self.place.path("state");
        let state = apprentice_sandbox::open_state_folder(&path).expect("the state folder");
        ControlPlace::open(&state, &path).expect("the folder of the sockets")
    }

    fn run(&self) -> PathBuf {
        self.place.run_folder()
    }

    /// What persons did, by the trace.
    fn person_events(&self) -> Vec<Value> {
        let all = events(&self.run())
            .into_iter()
            .map(|line| serde_json::from_str::<Value>(&line).expect("an event"));
        all.filter(|event| event["kind"] == "person").map(|event| event["data"].clone()).collect()
    }
}

async fn order(peer: &Peer<'_>, by: &str, order: OrderKind) -> Answer {
    let trial = peer.status().await.expect("a state").trials[0].trial.clone();
    peer.order(Order { trial: Some(trial), by: by.into(), order }).await.expect("an answer")
}

fn act(key: &str, action: Action<ScreenPoint>) -> OrderKind {
    OrderKind::Act { key: key.into(), action: Box::new(action) }
}

#[tokio::test]
async fn a_person_takes_over_acts_and_hands_back_outside_of_the_models_budget() {
    if !worlds_can_start() {
        return;
    }
    let mut watched = WatchedRun::paused();
    let socket = watched.socket();
    let peer = Peer::new(&socket, watched.running.id());
    let Answer::Done { key: Some(key), .. } = order(&peer, "ann", OrderKind::TakeOver).await else {
        panic!("no lease")
    };
    let Answer::Refused { why } = order(&peer, "bob", OrderKind::TakeOver).await else {
        panic!("two leases")
    };
    assert!(why.contains("ann has taken over"), "{why}");
    let refused = watched.place.output(&["continue", "buttons"]);
    assert_eq!(refused.status.code(), Some(21), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("ann has taken over"), "{}", text(&refused.stderr));
    let at = Target::Point(ScreenPoint::new(60, 40));
    let click = Action::Click { at, button: Button::Left, count: 1, hold: None };
    for action in [click, Action::Type { text: "milk".into() }] {
        let answer = order(&peer, "ann", act(&key, action)).await;
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    }
    let picture =
        peer.picture(&peer.status().await.expect("a state").trials[0].trial).await.expect("a picture");
    assert_eq!(picture.media, "image/png");
    let answer = order(&peer, "ann", act(&key, Action::Script { source: "1".into() })).await;
    assert!(matches!(answer, Answer::Refused { .. }), "{answer:?}");
    order(&peer, "ann", OrderKind::HandBack { key: key.clone() }).await;
    let answer = order(&peer, "ann", act(&key, Action::Type { text: "late".into() })).await;
    assert!(matches!(answer, Answer::Refused { .. }), "{answer:?}");
    watched.await_trial("the pause after the take-over", |trial| trial["phase"] == "waiting_for_person");
    assert!(watched.place.output(&["step"]).status.success());
    let trial = watched
        .await_trial("one step", |trial| trial["world_steps"] == 1 && trial["phase"] == "waiting_for_person");
    assert_eq!((&trial["person_actions"], &trial["mode"]), (&json!(2), &json!("paused")), "{trial}");
    assert!(watched.place.output(&["continue"]).status.success());
    assert_eq!(watched.running.ended().code(), Some(0), "{}", watched.place.text("stderr"));
    let row = rows(&watched.run()).pop().expect("a row");
    assert_eq!(
        (&row["verdict"], &row["world_steps"]),
        (&json!("pass"), &json!(3)),
        "the model's own steps: {row}"
    );
    assert_eq!(row["person_acts"], json!(2), "the row says that a person acted: {row}");
    check_record(&watched);
    let nothing = watched.ps();
    assert_eq!(nothing["processes"], json!([]), "the socket is gone with its process");
}

/// Checks that the trace holds what ann did, as hers, and that the model was told.
fn check_record(watched: &WatchedRun) {
    let person_events = watched.person_events();
    let did: Vec<&str> = person_events.iter().filter_map(|acted| acted["did"].as_str()).collect();
    let expected = ["paused", "took_over", "acted", "acted", "handed_back", "continued", "continued"];
    assert_eq!(
        did.iter().filter(|did| **did != "paused").collect::<Vec<_>>(),
        expected[1..].iter().collect::<Vec<_>>()
    );
    assert!(
        person_events
            .iter()
            .filter(|acted| acted["did"] == "acted")
            .all(|acted| acted["origin"] == "person" && acted["by"] == "ann")
    );
    let told = events(&watched.run())
        .into_iter()
        .any(|line| line.contains("A person has used this screen since your last step: 2 actions"));
    assert!(told, "the model learns of it");
}

#[test]
fn a_trial_that_a_person_stops_is_void_and_not_tried_again() {
    if !worlds_can_start() {
        return;
    }
    let mut watched = WatchedRun::paused();
    let unknown = watched.place.output(&["stop", "nonsense"]);
    assert_eq!(unknown.status.code(), Some(4));
    assert!(text(&unknown.stderr).contains("(buttons)"), "{}", text(&unknown.stderr));
    let stopped = watched.place.output(&["stop", "buttons"]);
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    assert_eq!(watched.running.ended().code(), Some(11), "{}", watched.place.text("stderr"));
    let rows = rows(&watched.run());
    assert_eq!(rows.len(), 1, "it is not tried again");
    assert_eq!(
        (&rows[0]["verdict"], &rows[0]["void_cause"]),
        (&json!("void"), &json!("stopped_by_a_person"))
    );
    let trace = events(&watched.run());
    let stop = trace.iter().find(|line| line.contains("\"kind\":\"stopped\"")).expect("an end");
    assert!(stop.contains("stopped_by_a_person"), "{stop}");
    let again = watched.place.output(&["resume", &watched.run().to_string_lossy()]);
    assert_eq!(again.status.code(), Some(11), "{}", text(&again.stderr));
    assert_eq!(crate::place::rows(&watched.run()).len(), 1, "nor by resuming");
}

/// The first object that a command prints, which has its published form.
pub(crate) fn first_told(running: &mut Running, command: &[&str]) -> Value {
    let output = running.0.stdout.take().expect("an output");
    let told = serde_json::Deserializer::from_reader(output).into_iter::<Value>().next();
    let told = told.expect("an object").expect("JSON");
    published::check(command, told.to_string().as_bytes());
    told
}

#[tokio::test]
async fn the_live_page_shows_the_screen_and_takes_over() {
    if !worlds_can_start() {
        return;
    }
    let mut watched = WatchedRun::paused();
    let run = watched.run();
    let mut view = watched.place.command(&["view", &run.to_string_lossy(), "--json", "--no-open"]);
    let mut viewer = Running(view.stdout(Stdio::piped()).spawn().expect("it starts"));
    let served = first_told(&mut viewer, &["view", "--json"]);
    let mut watch = watched.place.command(&["watch", "--json"]);
    let mut watcher = Running(watch.stdout(Stdio::piped()).spawn().expect("it starts"));
    first_told(&mut watcher, &["watch", "--json"]);
    drop(watcher);
    let url = served["url"].as_str().expect("an address");
    let mut page = Browser::at(&format!("{url}#/live"), Size::new(1000, 900)).await;
    let ready = page.await_node("button", "Take over").await;
    assert!(ready, "the card of the trial");
    page.shot("viewer-live.png").await;
    page.click("button", "Take over").await;
    assert!(page.await_node("button", "Hand back").await, "the lease");
    let trial = watched.await_trial("the holder", |trial| !trial["held"].is_null());
    let by = trial["held"]["by"].as_str().expect("a name").to_owned();
    assert!(by.starts_with("page "), "{by}");
    // The take-over gave the keyboard to the picture, and the page under test has its field in focus.
    page.key("m").await;
    page.key("Tab").await;
    watched.await_trial("what was typed", |trial| trial["person_actions"].as_u64() >= Some(2));
    page.click("img", "The newest picture of the screen").await;
    watched.await_trial("the click", |trial| trial["person_actions"].as_u64() >= Some(3));
    page.shot("viewer-taken-over.png").await;
    page.click("button", "Hand back").await;
    watched.await_trial("the end of the lease", |trial| trial["held"].is_null());
    assert!(page.await_node("button", "Continue").await);
    page.click("button", "Continue").await;
    assert_eq!(watched.running.ended().code(), Some(0), "{}", watched.place.text("stderr"));
    let acted: Vec<Value> =
        watched.person_events().into_iter().filter(|acted| acted["did"] == "acted").collect();
    let sent: Vec<&str> = acted.iter().filter_map(|acted| acted["sent"]["do"].as_str()).collect();
    assert_eq!(sent, ["type", "key", "click"], "{acted:?}");
    assert!(acted.iter().all(|acted| acted["by"] == by.as_str()));
    page.close().await;
    let leftover = fs::read_dir(watched.place.path("state/control")).expect("the folder").count();
    assert_eq!(leftover, 0, "no socket is left");
}

#[test]
fn nothing_to_watch_is_said() {
    let place = Place::new();
    let output = place.output(&["ps"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("nothing runs"), "{}", text(&output.stderr));
    for command in ["watch", "pause", "stop"] {
        let output = place.output(&[command]);
        assert_eq!(output.status.code(), Some(4), "{command}: {}", text(&output.stderr));
    }
}
