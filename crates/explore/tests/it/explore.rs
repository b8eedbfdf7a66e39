//! Exploration on `scene`: what passes by the state becomes a skill and a verified function, what failed is returned to, and
//! an exploration goes on where it was cut off.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::learn::LockedSuites;
use apprentice_evaluator::run::{ModelSource, RunControl, RunDeps, TrialSpec};
use apprentice_explore::{
    EXPLORE_SCHEMA, Episode, ExploreError, ExploreFolder, ExploreLimits, ExplorePlan, Explorer, Outcome,
    Start,
};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::{Scripted, ScriptedCall, ScriptedReply};
use apprentice_protocol::{
    BoxFuture, CallBody, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelErrorKind,
    ModelProfile, TaskId, VirtualClock,
};
use apprentice_skillbook::{Gateway, GatewayOptions};
use apprentice_trace::Redactor;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const NAMES: [&str; 4] = ["rulers", "margins", "guides", "grids"];

/// A suite whose one task begins in a scene with buttons behind a button. Its instruction is nobody's business here.
fn suite(folder: &Path) -> PathBuf {
    let buttons = NAMES
        .map(|name| json!({ "role": "button", "name": format!("Show {name}"), "click": [{ "go": name }] }));
    let main = json!({ "title": "Main", "controls": [
        { "role": "button", "name": "Options", "click": [{ "go": "options" }] },
        { "role": "button", "name": "About rulers, margins, guides, grids, and more" } ] });
    let mut pages = json!({ "main": main, "options": { "title": "Options", "controls": buttons } });
    for name in NAMES {
        let shown = json!({ "role": "button", "name": format!("Showing {name}") });
        pages[name] = json!({ "title": "Page", "controls": [shown] });
    }
    let task = json!({
        "id": "start", "instruction": "Read by nobody.", "config": [],
        "evaluator": { "func": "exact_match", "result": { "type": "rule", "rules": "y" },
                       "expected": { "type": "rule", "rules": { "expected": "x" } } },
        "related_apps": ["notes"],
        "apprentice": {
            "environment": "scene", "template": "start", "screen": { "width": 640, "height": 400 },
            "scene": { "start": "main", "state": {}, "pages": pages } }
    });
    let root = folder.join("suite");
    std::fs::create_dir_all(root.join("examples/notes")).expect("a folder");
    std::fs::write(root.join("suite.json"), json!({ "notes": ["start"] }).to_string()).expect("written");
    std::fs::write(root.join("examples/notes/start.json"), task.to_string()).expect("written");
    root
}

/// Proposes, reviews, decides and writes a function, each as the request's schema asks.
struct Learner {
    profile: ModelProfile,
    /// The proposals that are left.
    proposals: Mutex<Vec<Value>>,
    /// Requests after which it cannot be reached.
    left: Mutex<usize>,
    asked: Mutex<Vec<String>>,
    /// The texts of the requests for tasks.
    read: Mutex<Vec<String>>,
}

impl Learner {
    fn new(proposals: &[Value], left: usize) -> Arc<Self> {
        let profile = Scripted::new([]).expect("a script").profile().clone();
        let proposals = Mutex::new(proposals.iter().rev().cloned().collect());
        Arc::new(Self {
            profile,
            proposals,
            left: Mutex::new(left),
            asked: Mutex::default(),
            read: Mutex::default(),
        })
    }

    fn answer(&self, request: &ChatRequest) -> ScriptedReply {
        let schema = request.schema.as_ref().map_or("manage", |schema| schema.name.as_str());
        self.asked.lock().expect("unpoisoned").push(schema.to_owned());
        let says = |value: &Value| ScriptedReply { say: Some(value.to_string()), ..ScriptedReply::default() };
        let text = |request: &ChatRequest| serde_json::to_string(&request.messages).unwrap_or_default();
        if schema == "practice.task.v1" {
            self.read.lock().expect("unpoisoned").push(text(request));
        }
        match schema {
            "practice.task.v1" => match self.proposals.lock().expect("unpoisoned").pop() {
                Some(task) => says(&json!({ "task": task, "decline": null })),
                None => says(&json!({ "task": null, "decline": "All is known." })),
            },
            "function.answer.v1" => says(&function(request)),
            "effects.reading.v1" => says(&json!({
                "run_code": [], "send_data": [], "spend": [], "delete": [], "grant_access": [], "hide": [],
                "persist": [], "change_protection": [], "unreadable": [] })),
            "manage" if request.messages.len() > 1 => ScriptedReply::default(),
            "manage" => create(),
            // One learning per book is enough for the test.
            _ if text(request).contains("notes/show") => says(&json!({ "new_learnings": [] })),
            _ => says(&json!({ "new_learnings": [{
                "type": "discovered", "scope": "notes", "situation": "Something is to be shown beside the text.",
                "guidance": "Press Options and then its button.", "confidence": "high", "evidence": ["s1"] }] })),
        }
    }
}

fn create() -> ScriptedReply {
    let call = |name: &str, arguments: Value| ScriptedCall { name: name.into(), arguments };
    let skill = json!({ "domain": "notes", "skill_name": "show", "description": "Showing things beside the text",
                        "situation": "Something is to be shown beside the text.",
                        "guidance": "Press Options and then its button." });
    ScriptedReply {
        calls: vec![
            call("fetch_similar_skills", json!({ "situation": "show" })),
            call("create_domain", json!({ "domain": "notes", "description": "An editor." })),
            call("create_skill", skill),
        ],
        ..ScriptedReply::default()
    }
}

/// The function, with the attempts' own values for its argument, as the goals name them.
fn function(request: &ChatRequest) -> Value {
    let Some(Message::User { content }) = request.messages.first() else { panic!("a question") };
    let text = content[0].as_text().expect("text");
    let block = &text[text.find('{').expect("a block")..=text.rfind('}').expect("an end")];
    let block: Value = serde_json::from_str(block).expect("JSON");
    let given = block["attempts"].as_array().expect("attempts").iter().map(|attempt| {
        let goal = attempt["goal"].as_str().expect("a goal");
        let what = NAMES.iter().find(|name| goal.contains(**name)).expect("a value");
        json!({ "attempt": attempt["attempt"], "values": { "what": what } })
    });
    let source = "/// Shows something beside the text.\n/// - what (text): what to show\n\
                  /// Example: show(\"columns\")\nfn show(desktop, what) {\n    \
                  desktop.get_by_role(\"button\", \"Options\").click();\n    \
                  desktop.get_by_role(\"button\", \"Show \" + what).click();\n}\n";
    json!({ "function": source, "arguments": given.collect::<Vec<_>>(), "decline": null })
}

impl ChatModel for Learner {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            {
                let mut left = self.left.lock().expect("unpoisoned");
                if *left == 0 {
                    return Err(ModelError::never(ModelErrorKind::Unavailable, "nobody answers"));
                }
                *left -= 1;
            }
            let model = Scripted::new([self.answer(request)]).expect("a script");
            model.in_order().reply(request).await
        })
    }
}

/// Presses the button that the instruction names, or another one.
struct Actor {
    right: bool,
}

impl ModelSource for Actor {
    fn model(&self, _trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let profile = Scripted::new([]).map_err(|error| error.to_string())?.profile().clone();
        Ok(Arc::new(Acting { profile, right: self.right }))
    }
}

struct Acting {
    profile: ModelProfile,
    right: bool,
}

impl ChatModel for Acting {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let text = serde_json::to_string(&request.messages).unwrap_or_default();
            let done = request
                .messages
                .iter()
                .filter(|message| {
                    matches!(message, Message::Assistant { calls, .. }
                if calls.iter().any(|call| matches!(call.body, CallBody::World { .. })))
                })
                .count();
            let has_read = |message: &Message| {
                matches!(message, Message::Assistant { calls, .. } if calls.iter().any(|call| matches!(&call.body,
                    CallBody::Tool { name, .. } if name == "skill_view")))
            };
            // Where a book is lent, it reads the note first.
            if request.tools.iter().any(|tool| tool.name == "skill_view")
                && !request.messages.iter().any(has_read)
            {
                let call =
                    ScriptedCall { name: "skill_view".into(), arguments: json!({ "id": "notes/show" }) };
                let reply = ScriptedReply { calls: vec![call], ..ScriptedReply::default() };
                return Scripted::new([reply]).expect("a script").in_order().reply(request).await;
            }
            let wanted = NAMES.iter().find(|name| text.contains(&format!("Let the page show {name}")));
            let other = NAMES.iter().find(|name| Some(*name) != wanted);
            let name = if self.right { wanted } else { other }.copied().unwrap_or_default();
            let click = |label: &str| {
                // The line of an element ends with its reference: `button "Show rulers" @320,80 #n4`.
                let quoted = format!(" \\\"{label}\\\"");
                let spot = text.rfind(&quoted).map(|at| &text[at..]).unwrap_or_default();
                let rest = spot.split('#').nth(1).unwrap_or_default();
                let id: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
                json!({ "actions": [{ "do": "click", "at": { "ref": id } }] })
            };
            let call = match done {
                0 => ScriptedCall { name: "computer".into(), arguments: click("Options") },
                1 => ScriptedCall { name: "computer".into(), arguments: click(&format!("Show {name}")) },
                _ => ScriptedCall { name: "finish".into(), arguments: json!({ "finish": "done" }) },
            };
            let reply = ScriptedReply { calls: vec![call], ..ScriptedReply::default() };
            Scripted::new([reply]).expect("a script").in_order().reply(request).await
        })
    }
}

/// A proposal.
fn task() -> Value {
    json!({
        "name": "show-one", "instruction": "Let the page show {{what}} beside the text.",
        "values": [{ "name": "what", "of": NAMES }],
        "check": { "kind": "view", "contains": "Showing {{what}}" },
        "uses": ["Options"], "new": "Where things are shown.", "near": null, "undo": "Go back.",
        "outside": false
    })
}

/// The same with a check that finds this text among the elements.
fn checked(contains: &str) -> Value {
    let mut task = task();
    task["check"]["contains"] = json!(contains);
    task
}

/// A place for explorations of one suite, with one book.
struct Place {
    folder: TempDir,
    actor: bool,
    /// Whether the learner reads what is written, too. What its reader has not read waits for a person.
    is_read: bool,
}

impl Place {
    fn new(actor: bool) -> Self {
        let folder = TempDir::new().expect("a folder");
        suite(folder.path());
        Self { folder, actor, is_read: false }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn plan(&self) -> ExplorePlan {
        ExplorePlan {
            schema: EXPLORE_SCHEMA.into(),
            started_at: Timestamp::UNIX_EPOCH,
            program: "0.0.0".into(),
            command: vec!["test".into()],
            model: "test/actor".into(),
            learner: "test/learner".into(),
            skillbook: self.path("book"),
            starts: vec![Start::Task { suite: self.path("suite"), task: TaskId::new("start") }],
            suite: None,
            split: None,
            limits: ExploreLimits { world_steps: Some(500), ..ExploreLimits::default() },
        }
    }

    /// Explores, or goes on, until it ends or the learner cannot be reached.
    async fn explore(&self, learner: &Arc<Learner>) -> Result<Vec<Episode>, ExploreError> {
        let out = self.path("out");
        let folder = match out.join("explore.json").exists() {
            true => ExploreFolder::open(&out),
            false => ExploreFolder::create(&out, self.plan()),
        };
        let options = GatewayOptions::at(Timestamp::UNIX_EPOCH);
        let (mut gateway, _) = Gateway::open(&self.path("book"), options).expect("opens");
        if self.is_read {
            gateway.set_readers(vec![learner.clone()]);
        }
        let held_out = LockedSuites::default();
        let mut explorer = Explorer {
            folder: folder?,
            gateway: &mut gateway,
            held_out: &held_out,
            deps: RunDeps {
                models: Arc::new(Actor { right: self.actor }),
                worlds: Arc::new(SceneSource::default()),
                clock: Arc::new(VirtualClock::default()),
                guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
                redactor: Arc::new(Redactor::new([]).expect("builds")),
                reading: apprentice_tasks::suite::SuiteOptions::default(),
                cpu: 2,
            },
            control: RunControl::new(mpsc::unbounded_channel().0, CancellationToken::new()),
            learner: learner.clone(),
            spent: &|| 0.25,
            finished: &|_| {},
        };
        Box::pin(explorer.explore()).await?;
        Ok(explorer.folder.episodes().to_vec())
    }
}

fn outcomes(episodes: &[Episode]) -> Vec<(&str, u32, Outcome)> {
    episodes.iter().map(|one| (one.name.as_str(), one.try_number, one.outcome)).collect()
}

#[tokio::test]
async fn what_passes_by_the_state_becomes_a_skill_and_a_verified_function() {
    let place = Place { is_read: true, ..Place::new(true) };
    let learner = Learner::new(&[task()], usize::MAX);
    let episodes = place.explore(&learner).await.expect("explores");
    assert_eq!(
        outcomes(&episodes),
        [("show-one", 1, Outcome::Passed), ("", 1, Outcome::Declined), ("", 1, Outcome::Declined)]
    );
    let first = &episodes[0];
    assert_eq!(first.learned.changed.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["notes/show"]);
    let function = first.function.as_ref().expect("tried");
    assert!(function.verified, "{function:?}");
    let asked = learner.asked.lock().expect("unpoisoned").clone();
    let readings = asked.iter().filter(|schema| *schema == "effects.reading.v1").count();
    assert_eq!(readings, 2, "the note and the function are read");
    assert_eq!((function.function.as_deref(), function.version), (Some("show"), Some(1)));
    assert_eq!((first.world_steps, first.attempts.len(), first.arm.as_str()), (4, 2, "none"));
    assert!(first.cost_usd > 0.0, "its share of the money stands in its line");
    // Later tasks are proposed against the book as it is then.
    let second = std::fs::read_to_string(place.path("out/tasks/show-one/material.json")).expect("material");
    assert!(!second.contains("notes/show"), "the first was proposed against an empty book");
}

#[tokio::test]
async fn what_fails_is_returned_to_and_makes_no_function() {
    let place = Place::new(false);
    let learner = Learner::new(&[task()], usize::MAX);
    let episodes = place.explore(&learner).await.expect("explores");
    let failed: Vec<_> = outcomes(&episodes).into_iter().filter(|one| !one.0.is_empty()).collect();
    assert_eq!(failed, [1, 2, 3].map(|number| ("show-one", number, Outcome::Failed)));
    assert!(episodes.iter().all(|one| one.function.is_none() && one.learned.changed.is_empty()));
    let asked = learner.asked.lock().expect("unpoisoned").clone();
    assert!(!asked.iter().any(|schema| schema == "function.answer.v1"), "{asked:?}");
    // What the check found, though the agent reported that it was done, stands in the record and in the next request.
    let first = &episodes[0];
    assert_eq!(first.check_showed.len(), 2, "{first:?}");
    for showed in &first.check_showed {
        assert!(NAMES.contains(&showed.values["what"].as_str()), "{showed:?}");
        assert!(showed.output.contains("Showing ") && !showed.output.contains("Options"), "{showed:?}");
    }
    let read = learner.read.lock().expect("unpoisoned").clone();
    assert!(!read[0].contains("check_showed") && read[1].contains("check_showed"), "{read:#?}");
    assert!(read[1].contains("Showing "), "{}", read[1]);
    let seeds = |number: u32| place.path(&format!("out/tasks/show-one/try-{number}"));
    assert!((1..=3).all(|number| seeds(number).is_dir()), "each try keeps its run");
}

#[tokio::test]
async fn cut_off_after_any_request_it_goes_on_to_the_same_end() {
    // The first check passes before anything is done, and is mended.
    let proposals = [checked("{{what}}"), task()];
    let whole = Place::new(true);
    let learner = Learner::new(&proposals, usize::MAX);
    let episodes = whole.explore(&learner).await.expect("explores");
    let requests = learner.asked.lock().expect("unpoisoned").len();
    assert!(requests >= 6, "{requests}");
    for cut in 0..requests {
        let place = Place::new(true);
        let ended = place.explore(&Learner::new(&proposals, cut)).await;
        assert!(ended.is_err(), "nobody answered the request {cut}");
        let left = &proposals[cut.min(proposals.len())..];
        let resumed = place.explore(&Learner::new(left, usize::MAX)).await.expect("goes on");
        assert_eq!(outcomes(&resumed), outcomes(&episodes), "cut off at {cut}");
        let parts = |all: &[Episode]| {
            let of = |one: &Episode| (one.learned.changed.clone(), one.function.clone(), one.world_steps);
            all.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(parts(&resumed), parts(&episodes), "cut off at {cut}");
    }
}

#[tokio::test]
async fn a_check_that_passes_before_anything_is_done_goes_back_with_what_it_found() {
    let place = Place::new(true);
    let learner = Learner::new(&[checked("{{what}}"), task()], usize::MAX);
    let episodes = place.explore(&learner).await.expect("explores");
    assert_eq!(outcomes(&episodes)[0], ("show-one", 1, Outcome::Passed));
    let read = learner.read.lock().expect("unpoisoned").clone();
    assert!(!read[0].contains("passes_untouched") && read[1].contains("passes_untouched"), "{read:#?}");
    assert!(!read[0].contains("output") && read[1].contains("output"), "it sees what was found: {}", read[1]);
    let folder = place.path("out/tasks/show-one");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let stored: Value = serde_json::from_str(&text("proposal.json")).expect("JSON");
    assert_eq!(stored["task"]["check"]["contains"], "Showing {{what}}");
    assert_eq!(stored["mended"][0]["check"]["contains"], "{{what}}");
    assert_eq!(stored["mended"].as_array().map(Vec::len), Some(1));
    assert!(
        text("suite/examples/notes/show-one.json").contains("Showing {{what}}"),
        "the suite has the new check"
    );
    assert!(folder.join("untouched-1-mended-1").is_dir(), "the new check was asked in untouched worlds");
}

#[tokio::test]
async fn a_check_is_mended_twice_at_most_and_nobody_practises_a_task_whose_check_proves_nothing() {
    // Each of them passes before anything is done.
    let wrong = [checked("{{what}}"), checked("{{what}},"), checked("{{what}}, ")];
    let place = Place::new(true);
    let learner = Learner::new(&wrong, usize::MAX);
    let episodes = place.explore(&learner).await.expect("explores");
    assert_eq!(outcomes(&episodes)[0], ("show-one", 1, Outcome::AlreadyTrue));
    let first = &episodes[0];
    assert!(first.attempts.is_empty() && first.check_showed[0].output.contains("About rulers"), "{first:?}");
    let read = learner.read.lock().expect("unpoisoned").clone();
    assert_eq!(read.iter().filter(|text| text.contains("passes_untouched")).count(), 2);
    assert!(read[3].contains("check_showed"), "the next proposal is told: {}", read[3]);
    // A proposer that sees no other check declines.
    let place = Place::new(true);
    let learner = Learner::new(&wrong[..1], usize::MAX);
    let episodes = place.explore(&learner).await.expect("explores");
    assert_eq!(outcomes(&episodes)[0], ("show-one", 1, Outcome::AlreadyTrue));
}

#[tokio::test]
async fn an_episode_keeps_what_it_was_lent_what_was_asked_for_and_where_all_of_it_stands() {
    let mut later = task();
    (later["name"], later["uses"]) = (json!("show-other"), json!(["About"]));
    later["instruction"] =
        json!("Prepare this small page for a long print run. Let the page show {{what}} to everybody.");
    let place = Place::new(true);
    let learner = Learner::new(&[task(), later], usize::MAX);
    let episodes = place.explore(&learner).await.expect("explores");
    let [first, second, ..] = &episodes[..] else { panic!("{episodes:?}") };
    assert_eq!((first.arm.as_str(), &first.skillbook_hash, first.skills_viewed.len()), ("none", &None, 0));
    let viewed: Vec<&str> = second.skills_viewed.iter().map(|id| id.as_str()).collect();
    assert_eq!(
        (second.outcome, second.arm.as_str(), viewed),
        (Outcome::Passed, "code+pull", vec!["notes/show"])
    );
    assert!(second.skillbook_hash.is_some(), "the book of its attempts: {second:?}");
    assert_eq!((second.world_steps, second.judged_by), (4, apprentice_protocol::JudgedBy::Checks));
    assert!(
        second.instruction.contains("{{what}}") && second.why.contains("2 attempts passed"),
        "{second:?}"
    );
    assert_eq!(second.start, "the start of start");
    for (episode, name) in [(first, "show-one"), (second, "show-other")] {
        let folder = place.path("out/tasks").join(name);
        for file in
            ["proposal.json", "material.json", "suite/suite.json", "suite/split.json", "try-1/learned.json"]
        {
            assert!(folder.join(file).is_file(), "{name}: {file}");
        }
        assert_eq!(episode.attempts.len(), 2);
        for attempt in &episode.attempts {
            let attempt = place.path("out").join(attempt);
            assert!(
                attempt.join("events.jsonl").is_file() && attempt.join("evidence/evidence.json").is_file()
            );
        }
    }
    let material = std::fs::read_to_string(place.path("out/tasks/show-other/material.json")).expect("a file");
    assert!(material.contains("notes/show") && material.contains("show-one"), "{material}");
}
