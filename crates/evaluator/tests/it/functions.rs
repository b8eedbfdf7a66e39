//! Functions through whole runs on `scene`: admitted by replays whose checks pass, called by a model, and counted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::arms::function_scope::FunctionScope;
use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::functions::admission::{Admission, AdmissionError, AdmissionReport};
use apprentice_evaluator::learn::{learn_from, recorded_attempt};
use apprentice_evaluator::run::{
    Contender, Conversations, ModelSource, PlanRequest, RunControl, RunDeps, RunSummary, TrialSpec, start,
};
use apprentice_evaluator::split::{LockedSuite, SplitLock};
use apprentice_harness::env::scene::SceneSource;
use apprentice_learning::{LearnOptions, LearnerModels};
use apprentice_models::scripted::{Scripted, ScriptedCall, ScriptedReply};
use apprentice_protocol::{
    BoxFuture, ChatModel, EnvironmentSource, EventKind, FunctionEnd, SkillId, TaskId, Verdict, VirtualClock,
    World, WorldError, WorldErrorKind, WorldSpec,
};
use apprentice_results::arm::Arm;
use apprentice_runs::row::{Role, Split};
use apprentice_skillbook::{
    Actor, Change, FunctionTrial, Gateway, GatewayOptions, NewDomain, Origin, SkillText, WriteRequest,
};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::drawn_values;
use apprentice_trace::{Redactor, Trace};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A task: tick one of four boxes that stand behind a button; the seed says which.
fn task() -> Task {
    let boxes = ["rulers", "margins", "guides", "grids"]
        .map(|name| json!({ "role": "checkbox", "name": format!("Show {name}"), "bind": name }));
    let main = json!({ "title": "Main", "controls": [
        { "role": "button", "name": "Options", "click": [{ "go": "options" }] } ] });
    serde_json::from_value(json!({
        "id": "boxes",
        "instruction": "Tick the box that shows {{what}}.",
        "config": [],
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "{{what}}"], "method": "eq", "ref": true }
            ] } }
        },
        "apprentice": {
            "environment": "scene",
            "template": "boxes",
            "screen": { "width": 640, "height": 400 },
            "scene": { "start": "main", "state": {}, "pages": {
                "main": main, "options": { "title": "Options", "controls": boxes } } },
            "vary": { "what": ["rulers", "margins", "guides", "grids"] },
            "solution": [{ "click": { "role": "button", "name": "Options" } },
                         { "click": { "role": "checkbox", "name": "Show {{what}}" } }],
            "near_miss": [{ "click": { "role": "button", "name": "Options" } }]
        }
    }))
    .expect("a task")
}

fn suite() -> Suite {
    Suite { name: "test".into(), root: PathBuf::from("/"), hash: "h1".into(), tasks: vec![task()] }
}

fn source(body: &str) -> String {
    format!(
        "/// Shows something beside the text.\n/// - what (text): what to show\n/// Example: show(\"columns\")
fn show(desktop, what) {{\n    desktop.get_by_role(\"button\", \"Options\").click();\n{body}\n}}\n"
    )
}

const TICKS: &str = "    desktop.get_by_role(\"checkbox\", \"Show \" + what).check();";

fn skill() -> SkillId {
    SkillId::parse("notes/show").expect("an id")
}

/// A book whose one skill has this function.
fn book(body: &str) -> (TempDir, Gateway) {
    let folder = TempDir::new().expect("a folder");
    let (mut gateway, _) =
        Gateway::open(folder.path(), GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens");
    let text = |words: &str| words.to_owned();
    let created = Change::SkillCreated {
        skill: skill(),
        text: SkillText {
            description: text("Showing more beside the text"),
            situation: text("You want to show more."),
            guidance: text("1. Press Options."),
        },
        annotations: Vec::new(),
        origin: Origin::Learned,
        domain: Some(NewDomain { domain: text("notes"), description: text("An editor.") }),
    };
    let written = Change::FunctionWritten {
        skill: skill(),
        function: "show".into(),
        source: source(body),
        references: Vec::new(),
    };
    for change in [created, written] {
        gateway.apply(WriteRequest::of(Actor::Human, Timestamp::UNIX_EPOCH, change)).expect("written");
    }
    (folder, gateway)
}

/// Calls a function once in each trial, and finishes.
struct Caller;

impl ModelSource for Caller {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let values = drawn_values(&task(), "test", trial.seed).map_err(|error| error.to_string())?;
        let arguments = json!({ "what": values["what"] });
        let reply = |name: &str, arguments: Value| ScriptedReply {
            calls: vec![ScriptedCall { name: name.into(), arguments }],
            ..ScriptedReply::default()
        };
        let script = [reply("run_show", arguments), reply("finish", json!({ "finish": "done" }))];
        Scripted::new(script).map(|model| Arc::new(model) as _).map_err(|error| error.to_string())
    }
}

fn deps() -> RunDeps {
    RunDeps {
        models: Arc::new(Caller),
        worlds: Arc::new(SceneSource::default()),
        clock: Arc::new(VirtualClock::default()),
        guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
        redactor: Arc::new(Redactor::new([]).expect("builds")),
        reading: apprentice_tasks::suite::SuiteOptions::default(),
        cpu: 2,
    }
}

fn control() -> RunControl {
    RunControl::new(mpsc::unbounded_channel().0, CancellationToken::new())
}

fn admission(suite: &Suite) -> Admission<'_> {
    Admission {
        suite,
        task: TaskId::new("boxes"),
        split: None,
        skill: skill(),
        function: "show".into(),
        arguments: json!({ "what": "{{what}}" }),
        learned_on: Some(0),
        command: vec!["test".into()],
    }
}

async fn admitted(gateway: &mut Gateway) -> AdmissionReport {
    let (suite, folder) = (suite(), TempDir::new().expect("a folder"));
    let admission = admission(&suite);
    let replayed =
        admission.replay(&gateway.snapshot(), folder.path(), &deps(), control()).await.expect("replays");
    admission.record(gateway, replayed, Timestamp::UNIX_EPOCH).expect("recorded")
}

/// Checks that a trace shows one call of the function, with the line of each act.
fn check_called(events: &Path) {
    let trace = Trace::read(events).expect("reads");
    let lines: Vec<Option<u32>> = trace
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Action(record) => Some(record.line),
            _ => None,
        })
        .collect();
    assert_eq!(lines, [Some(5), Some(6)]);
    let called = trace.events.iter().find_map(|event| match &event.kind {
        EventKind::FunctionCalled { record, .. } => Some(record.clone()),
        _ => None,
    });
    let record = called.expect("called");
    assert_eq!((record.skill, record.version, record.acts), (skill(), 1, 2));
    assert!(matches!(record.end, FunctionEnd::Returned { .. }));
}

#[tokio::test]
async fn a_function_is_admitted_by_replays_and_called_in_a_run() {
    let (_folder, mut gateway) = book(TICKS);
    let report = admitted(&mut gateway).await;
    assert!(report.verified, "{report:?}");
    let shown: Vec<_> = report.replays.iter().map(|one| (one.trial, one.verdict, one.held)).collect();
    assert_eq!(
        shown,
        [
            (FunctionTrial::Replay, Verdict::Pass, true),
            (FunctionTrial::Replay, Verdict::Pass, true),
            (FunctionTrial::NearMiss, Verdict::Fail, true)
        ]
    );
    let learned = drawn_values(&task(), "test", 0).expect("values")["what"].clone();
    let [first, second, wrong] = &report.replays[..] else { panic!("{report:?}") };
    assert!(first.arguments["what"] != learned && second.arguments["what"] != learned);
    assert_eq!((wrong.seed, &wrong.arguments), (first.seed, &second.arguments));
    let stored = gateway.snapshot().skill(&skill()).expect("there").functions["show"].clone();
    assert!(stored.evidence.iter().all(|one| one.arguments.len() == 64), "a book holds no argument");

    let root = TempDir::new().expect("a folder");
    let summary = called(&gateway, &suite(), root.path(), &["code", "code+pull"]).await;
    assert_eq!(summary.count(Verdict::Pass), 4, "{:?}", summary.results);
    for row in &summary.results {
        assert_eq!((row.world_steps, row.turns), (2, 2));
        check_called(&summary.folder.join(&row.trace).join("events.jsonl"));
    }
}

/// Runs two trials with the functions of a book in each arm.
async fn called(gateway: &Gateway, suite: &Suite, root: &Path, arms: &[&str]) -> RunSummary {
    let provider = GuidanceProvider::new(Arc::new(suite.clone()), gateway.snapshot(), None);
    let contender = |arm: &&str| Contender {
        role: Role::Baseline,
        model: "scripted/caller".into(),
        arm: (*arm).into(),
        tasks: None,
        seeds: None,
    };
    let request = PlanRequest {
        suite,
        split: None,
        tasks: None,
        contenders: arms.iter().map(contender).collect(),
        seeds: 2,
        limits: None,
        attempts: 1,
        order_seed: 1,
        conversations: Conversations::Dropped,
        command: vec!["test".into()],
        program: "0.0.0".into(),
        books: Vec::new(),
    };
    let guidance =
        move |trial: &TrialSpec| provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed);
    let deps = RunDeps { guidance: Arc::new(guidance), ..deps() };
    start(&request, root, 2, deps, control()).await.expect("runs")
}

#[tokio::test]
async fn a_page_that_changed_since_the_admission_stops_the_calls_and_takes_the_verification_away() {
    let (_folder, mut gateway) = book(TICKS);
    assert!(admitted(&mut gateway).await.verified);
    let page = serde_json::to_string(&task()).expect("json").replace("\"Show ", "\"Display ");
    let changed = Suite { tasks: vec![serde_json::from_str(&page).expect("a task")], ..suite() };
    let root = TempDir::new().expect("a folder");
    let summary = called(&gateway, &changed, root.path(), &["code"]).await;
    assert_eq!(summary.count(Verdict::Fail), 2, "{:?}", summary.results);

    let function = |gateway: &Gateway| gateway.state().skills[&skill()].functions["show"].clone();
    let tasks = changed.templates();
    let locked = LockedSuite { name: &changed.name, hash: &changed.hash, tasks: &tasks };
    let train = tasks.values().map(|template| (template.clone(), Split::Train)).collect();
    let lock = SplitLock::new(locked, train, "salt").expect("a lock");
    let nothing = r#"{"skill_reviews": [], "new_learnings": []}"#;
    for (row, stopped) in summary.results.into_iter().zip(1..) {
        let trace = Trace::read(&summary.folder.join(&row.trace).join("events.jsonl")).expect("reads");
        let end = trace.events.into_iter().find_map(|event| match event.kind {
            EventKind::FunctionCalled { record, .. } => Some(record.end),
            _ => None,
        });
        let Some(FunctionEnd::Stopped(failure)) = end else { panic!("{end:?}") };
        assert_eq!(failure.line, 6, "{failure:?}");
        let reply = ScriptedReply { say: Some(nothing.into()), ..ScriptedReply::default() };
        let model: Arc<dyn ChatModel> = Arc::new(Scripted::new([reply]).expect("a script"));
        let learners = LearnerModels { reflector: model.clone(), manager: model };
        let attempt = recorded_attempt(&summary.folder, row, &changed).expect("is read");
        assert!(function(&gateway).is_verified(), "one call alone may be chance");
        learn_from(&mut gateway, &lock, &learners, attempt, &LearnOptions::default()).await.expect("learns");
        assert_eq!(function(&gateway).stopped_calls(), stopped);
    }
    let missing = function(&gateway).missing();
    assert_eq!(missing.as_deref(), Some("2 calls stopped since it was admitted"));
    let provider = GuidanceProvider::new(Arc::new(changed), gateway.snapshot(), None);
    let lent = provider.guidance_for("scripted/caller", "code", &TaskId::new("boxes"), 0);
    assert!(lent.is_err(), "nothing verified is left to lend");
}

/// What is not verified by its replays, and why.
#[tokio::test]
async fn a_call_that_ends_well_proves_nothing() {
    for (body, expected) in [
        // It runs to its end, and the checks fail.
        ("    expect(desktop.get_by_role(\"checkbox\", \"Show \" + what)).to_be_visible();", "a replay failed: the checks gave fail"),
        // It does the same whatever its argument, so a wrong one passes.
        (
            "    for one in [\"rulers\", \"margins\", \"guides\", \"grids\"] {
        desktop.get_by_role(\"checkbox\", `Show ${one}`).check();\n    }\n    expect(desktop.get_by_role(\"checkbox\", \"Show \" + what)).to_be_checked();",
            "a wrong argument passed the checks",
        ),
        // It does not find what it names.
        ("    desktop.get_by_role(\"checkbox\", \"Hide \" + what).check();", "a replay failed: it stopped at line 6"),
    ] {
        let (_folder, mut gateway) = book(body);
        let report = admitted(&mut gateway).await;
        assert!(!report.verified, "{report:?}");
        let missing = report.missing.unwrap_or_default();
        assert!(missing.contains(expected), "{missing}, expected {expected}");
    }
}

#[test]
fn what_nothing_verified_is_lent_only_where_the_run_says_so() {
    let (_folder, gateway) = book(TICKS);
    let provider = || GuidanceProvider::new(Arc::new(suite()), gateway.snapshot(), None);
    let lent = |provider: &GuidanceProvider, arm: &str| {
        let guidance = provider.guidance_for("scripted/caller", arm, &TaskId::new("boxes"), 0);
        guidance.map(|lent| lent.guidance.tools.iter().any(|tool| tool.spec().name == "run_show"))
    };
    let (verified, all) = (provider(), provider().with_functions(FunctionScope::All));
    for arm in [Arm::Code, Arm::CodePull] {
        assert!(lent(&verified, arm.as_str()).is_err(), "{arm:?} has no function to lend");
        assert!(verified.inputs(arm).is_empty());
        assert!(matches!(lent(&all, arm.as_str()), Ok(true)), "{arm:?}");
        assert_eq!(all.inputs(arm)["functions"], "unverified too");
    }
    // No other arm lends functions at all.
    for arm in [Arm::Pull, Arm::All, Arm::Push] {
        assert!(!matches!(lent(&all, arm.as_str()), Ok(true)), "{arm:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_decided_records_nothing() {
    let (_folder, gateway) = book(TICKS);
    let (suite, folder) = (suite(), TempDir::new().expect("a folder"));
    let before = gateway.snapshot().log_hash();
    let fails = async |admission: Admission<'_>| {
        let ended = admission.replay(&gateway.snapshot(), folder.path(), &deps(), control()).await;
        ended.expect_err("it cannot be decided").to_string()
    };
    let no_task = fails(Admission { task: TaskId::new("boxen"), ..admission(&suite) }).await;
    assert!(no_task.contains("did you mean \"boxes\""), "{no_task}");
    let no_function = fails(Admission { function: "hide".into(), ..admission(&suite) }).await;
    assert!(no_function.contains("has no function hide"), "{no_function}");
    let same = fails(Admission { arguments: json!({ "what": "grids" }), ..admission(&suite) }).await;
    assert!(same.contains("0 different arguments"), "{same}");
    let unknown = fails(Admission { arguments: json!({ "what": "{{that}}" }), ..admission(&suite) }).await;
    assert!(unknown.contains("arguments"), "{unknown}");
    assert_eq!(gateway.snapshot().log_hash(), before);
    assert!(matches!(
        admission(&suite).replay(&gateway.snapshot(), folder.path(), &broken(), control()).await,
        Err(AdmissionError::Void { .. })
    ));
}

/// A source whose worlds do not open.
struct Broken;

impl EnvironmentSource for Broken {
    fn open<'a>(&'a self, _spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(std::future::ready(Err(WorldError::new(WorldErrorKind::Start, "no display"))))
    }
}

fn broken() -> RunDeps {
    RunDeps { worlds: Arc::new(Broken), ..deps() }
}
