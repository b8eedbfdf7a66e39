//! Show once: a script is the person who does a training task by mouse and keyboard; what it did becomes the task's solution and a
//! skill, which helps a rule-based student on another task.

use std::fs;
use std::path::Path;

use apprentice_control::{Answer, ControlPlace, Order, OrderKind, Peer};
use apprentice_protocol::{Action, Button, Outline, ScreenPoint, Target};
use apprentice_trace::blob_path;
use serde_json::{Value, json};

use crate::place::{Place, Running, await_some, events, rows, suite, text, worlds_can_start};
use crate::published;

/// The training task, and another task that needs the same knowledge.
const SHOWN: &str = "mousepad-windows-lines";
const SIBLING: &str = "mousepad-one-long-line";

/// The place of the element with this name in the newest view of the trace; the person sees it on the picture.
fn place_of(run: &Path, name: &str) -> ScreenPoint {
    await_some(name, || {
        let events = events(run);
        let seen = events.iter().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let view = seen.into_iter().find(|event| event["kind"] == "observed")?;
        let hash = serde_json::from_value(view["data"]["outline"].clone()).ok()?;
        let outline = fs::read_to_string(blob_path(&run.join("blobs"), &hash, "txt")).ok()?;
        let at = Outline::parse(&outline).nodes.into_iter().find(|node| node.name == name)?.at?;
        #[expect(clippy::cast_possible_truncation, reason = "a point on a screen")]
        Some(ScreenPoint::new(at.x as i32, at.y as i32))
    })
}

/// The person, at the socket of the recording.
struct Person<'a> {
    peer: Peer<'a>,
    trial: String,
    key: String,
}

impl<'a> Person<'a> {
    async fn takes_over(peer: Peer<'a>) -> Self {
        let trial = peer.status().await.expect("a state").trials[0].trial.clone();
        let order = Order { trial: Some(trial.clone()), by: "ann".into(), order: OrderKind::TakeOver };
        let answer = peer.order(order).await.expect("an answer");
        let Answer::Done { key: Some(key), .. } = answer else { panic!("no lease: {answer:?}") };
        Self { peer, trial, key }
    }

    async fn orders(&self, order: OrderKind) -> Answer {
        let order = Order { trial: Some(self.trial.clone()), by: "ann".into(), order };
        self.peer.order(order).await.expect("an answer")
    }

    async fn acts(&self, action: Action<ScreenPoint>) {
        let order = OrderKind::Act { key: self.key.clone(), action: Box::new(action) };
        let answer = self.orders(order).await;
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    }
}

/// Records the training task, and returns the run's folder.
async fn record(place: &Place) -> std::path::PathBuf {
    let starter = suite();
    let mut command =
        place.command(&["tasks", "record", SHOWN, "--suite", &starter.to_string_lossy(), "--json"]);
    let file = |name: &str| fs::File::create(place.path(name)).expect("a file");
    command.stdout(file("stdout")).stderr(file("stderr"));
    let mut running = Running::start(command);
    await_some("the wait for the person", || {
        let output = place.output(&["ps", "--json"]);
        let listed: Value = serde_json::from_slice(&output.stdout).ok()?;
        (listed["processes"][0]["trials"][0]["phase"] == "waiting_for_person").then_some(())
    });
    let path = place.path("state");
    let state = apprentice_sandbox::open_state_folder(&path).expect("the state folder");
    let socket = ControlPlace::open(&state, &path).expect("the folder of the sockets");
    let person = Person::takes_over(Peer::new(&socket, running.id())).await;
    let run = place.run_folder();
    for name in ["Document", "Line Ending", "DOS / Windows (CR LF)"] {
        let at = Target::Point(place_of(&run, name));
        person.acts(Action::Click { at, button: Button::Left, count: 1, hold: None }).await;
    }
    let save: Action<ScreenPoint> =
        serde_json::from_value(json!({ "do": "key", "chord": "ctrl+s" })).expect("a chord");
    person.acts(save).await;
    let handed = person.orders(OrderKind::HandBack { key: person.key.clone() }).await;
    assert!(matches!(handed, Answer::Done { .. }), "{handed:?}");
    assert_eq!(running.ended().code(), Some(0), "{}", place.text("stderr"));
    published::check(&["tasks", "record", "--json"], place.text("stdout").as_bytes());
    run
}

#[tokio::test]
async fn what_a_person_shows_once_becomes_a_solution_and_a_skill_that_helps_a_student() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let starter = suite();
    let starter = starter.to_string_lossy();
    let run = record(&place).await;
    let row = rows(&run).pop().expect("a row");
    assert_eq!((&row["verdict"], &row["model"]), (&json!("pass"), &json!("person")), "{row}");
    assert_eq!((&row["world_steps"], &row["stop_reason"]), (&json!(4), &json!("done")), "{row}");

    let attempt = run.join(row["trace"].as_str().expect("a folder"));
    let kept = place.output(&[
        "tasks",
        "keep-solution",
        &attempt.to_string_lossy(),
        "--suite",
        &starter,
        "--dry-run",
    ]);
    let steps: Value = serde_json::from_slice(&kept.stdout).expect("steps");
    let names: Vec<&str> =
        steps.as_array().expect("a list").iter().filter_map(|step| step["click"]["name"].as_str()).collect();
    assert_eq!(names, ["Document", "Line Ending", "DOS / Windows (CR LF)"], "{}", text(&kept.stderr));

    let book = place.path("book");
    let book = book.to_string_lossy();
    let learned = place.output(&["learn", &run.to_string_lossy(), "--suite", &starter, "--skillbook", &book]);
    assert_eq!(learned.status.code(), Some(0), "{}", text(&learned.stderr));
    let student = |arm: &str| {
        let arguments = [
            "run",
            &starter,
            "--model",
            "builtin/novice",
            "--task",
            SIBLING,
            "--arm",
            arm,
            "--skillbook",
            &book,
        ];
        place.output(&arguments)
    };
    let alone = student("none");
    assert_eq!(alone.status.code(), Some(10), "the student alone: {}", text(&alone.stderr));
    let helped = student("pull");
    assert_eq!(helped.status.code(), Some(0), "with the skill: {}", text(&helped.stderr));
}
