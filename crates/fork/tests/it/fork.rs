//! Forks on `scene`: a student that follows what it is told is forked at a step, with and without a skill.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::run::{
    ArmPlan, Contender, Conversations, ModelSource, PlanRequest, RunControl, RunDeps, TrialSpec, start,
};
use apprentice_fork::{
    Fork, ForkError, ForkOutcome, ForkReport, ForkSite, ForkVerdict, FoundTrial, History, Variant,
    find_trial, fork_text,
};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::Scripted;
use apprentice_protocol::{
    Action, BoxFuture, Button, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest, Content, Finish,
    ImagePoint, Message, ModelError, ModelProfile, Outline, OutlineNode, RawContent, ReplyStop, SkillId,
    State, StepId, Target, Timing, Usage, Verdict, VirtualClock, VoidCause,
};
use apprentice_runs::row::Role;
use apprentice_skillbook::{At, Snapshot};
use apprentice_tasks::suite::Suite;
use apprentice_trace::Redactor;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Two buttons lead to a page with two boxes; `right` is the name of the one to tick.
fn suite(advanced: &str, right: &str) -> Suite {
    let goes = |name: &str, page: &str| json!({ "role": "button", "name": name, "click": [{ "go": page }] });
    let task = json!({
        "id": "tick",
        "instruction": "Tick the right box.",
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "right"], "method": "eq", "ref": true } ] } }
        },
        "apprentice": {
            "environment": "scene", "template": "tick",
            "scene": {
                "start": "main", "state": { "right": false, "wrong": false },
                "pages": {
                    "main": { "title": "Main", "controls": [goes("Options", "options")] },
                    "options": { "title": "Options", "controls": [goes(advanced, "boxes")] },
                    "boxes": { "title": "Boxes", "controls": [
                        { "role": "checkbox", "name": "Beta", "bind": "wrong" },
                        { "role": "checkbox", "name": right, "bind": "right" } ] }
                }
            }
        }
    });
    let tasks = vec![serde_json::from_value(task).expect("a task")];
    Suite { name: "test".into(), root: PathBuf::from("/"), hash: "h1".into(), tasks }
}

fn usual() -> Suite {
    suite("Advanced", "Alpha")
}

/// Presses buttons until there are boxes; ticks Alpha if a skill told it to, else the first box; then it is done.
struct Follower {
    profile: ModelProfile,
    asked: Arc<AtomicUsize>,
}

fn texts(message: &Message) -> Vec<&str> {
    let contents: Vec<&Content> = match message {
        Message::User { content } => content.iter().collect(),
        Message::Assistant { .. } => Vec::new(),
        Message::Results { results, .. } => results.iter().flat_map(|result| &result.content).collect(),
    };
    contents.into_iter().filter_map(Content::as_text).collect()
}

impl Follower {
    fn decide(&self, request: &ChatRequest) -> ChatReply {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let texts: Vec<&str> = request.messages.iter().flat_map(texts).collect();
        let screen = texts.iter().rfind(|text| text.starts_with("Screen now.")).expect("a screen");
        let nodes = Outline::parse(screen).nodes;
        let of = |role: &str| nodes.iter().filter(|node| node.role == role).collect::<Vec<&OutlineNode>>();
        let told = texts.iter().any(|text| text.contains("the box is Alpha"));
        let boxes = of("checkbox");
        let chosen = boxes.iter().find(|node| told && node.name == "Alpha").or_else(|| boxes.first());
        let body = match (chosen, of("button").first()) {
            (Some(chosen), _) if chosen.states.contains(&State::Checked) => CallBody::Finish(Finish::Done),
            (Some(node), _) | (None, Some(node)) => CallBody::World { actions: vec![click(node)] },
            (None, None) => CallBody::Finish(Finish::GiveUp { reason: "lost".into() }),
        };
        let turn = request.messages.iter().filter(|one| matches!(one, Message::Assistant { .. })).count();
        ChatReply {
            raw: RawContent { blocks: vec!["{\"block\":1}".into()] },
            say: vec![format!("turn {turn}")],
            thoughts: Vec::new(),
            calls: vec![Call { id: CallId::new(format!("c{turn}")), body }],
            stop: ReplyStop::Calls,
            usage: Usage { input: 10, output: 1, cached: 0 },
            timing: Timing::default(),
            cost_usd: Some(0.01),
            estimated: false,
            adapted: Vec::new(),
            provider_model: None,
        }
    }
}

fn click(node: &OutlineNode) -> Action<ImagePoint> {
    Action::Click { at: Target::Ref(node.id.clone()), button: Button::Left, count: 1, hold: None }
}

impl ChatModel for Follower {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(std::future::ready(Ok(self.decide(request))))
    }
}

#[derive(Default)]
struct Followers(Arc<AtomicUsize>);

impl ModelSource for Followers {
    fn model(&self, _: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let profile = Scripted::new([]).expect("a script").profile().clone();
        Ok(Arc::new(Follower { profile, asked: Arc::clone(&self.0) }))
    }
}

fn skill() -> SkillId {
    SkillId::parse("panel/boxes").expect("an id")
}

/// A run of the one task under the arm `all` or `none`, with a book of one skill.
struct Recorded {
    folder: TempDir,
    asked: Arc<AtomicUsize>,
}

impl Recorded {
    async fn new(arm: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let page = "## Situation\n\nBoxes in the panel.\n\n## Guidance\n\nFor ticking, the box is Alpha.\n\n## Annotations\n\nNone\n";
        fs::create_dir_all(folder.path().join("book/panel")).expect("makes");
        fs::write(folder.path().join("book/panel/boxes.md"), page).expect("writes");
        let made = Self { folder, asked: Arc::default() };
        let provider = made.provider(&usual());
        let deps = RunDeps {
            guidance: Arc::new(move |trial: &TrialSpec| {
                provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed)
            }),
            ..made.deps()
        };
        let suite = usual();
        let contender = Contender {
            role: Role::Student,
            model: "test/follower".into(),
            arm: arm.into(),
            tasks: None,
            seeds: None,
        };
        let request = PlanRequest {
            suite: &suite,
            split: None,
            tasks: None,
            contenders: vec![contender],
            seeds: 1,
            limits: None,
            attempts: 1,
            order_seed: 0,
            conversations: Conversations::Dropped,
            command: vec!["test".into()],
            program: "0".into(),
            books: vec![ArmPlan { arm: arm.into(), ..ArmPlan::default() }],
        };
        let (progress, _heard) = mpsc::unbounded_channel();
        let root = made.path("runs");
        start(&request, &root, 1, deps, RunControl::new(progress, CancellationToken::new()))
            .await
            .expect("runs");
        made.asked.store(0, Ordering::Relaxed);
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn book(&self) -> Snapshot {
        Snapshot::open(&self.path("book"), At::Now).expect("opens")
    }

    fn provider(&self, suite: &Suite) -> GuidanceProvider {
        GuidanceProvider::new(Arc::new(suite.clone()), self.book(), None)
    }

    fn deps(&self) -> RunDeps {
        RunDeps {
            models: Arc::new(Followers(Arc::clone(&self.asked))),
            worlds: Arc::new(SceneSource::default()),
            clock: Arc::new(VirtualClock::default()),
            guidance: Arc::new(|_: &TrialSpec| panic!("a fork provides guidance by itself")),
            redactor: Arc::new(Redactor::new([]).expect("builds")),
            reading: apprentice_tasks::suite::SuiteOptions::default(),
            cpu: 2,
        }
    }

    fn found(&self) -> FoundTrial {
        find_trial(&self.path("runs"), "").expect("one trial")
    }

    fn trace(&self) -> PathBuf {
        let found = self.found();
        let trials = fs::read_dir(found.run.join("trials")).expect("trials").flatten().next().expect("one");
        trials.path().join("attempt-01/events.jsonl")
    }

    fn site(&self, step: u32) -> Result<ForkSite, ForkError> {
        ForkSite::load(&self.found(), None, StepId(step))
    }

    fn fork(&self, step: u32, variant: Option<Variant>, suite: &Suite) -> Fork {
        Fork {
            site: self.site(step).expect("loads"),
            suite: suite.clone(),
            provider: self.provider(suite),
            variant,
            model: "test/follower".into(),
            times: 4,
            command: vec!["test".into()],
            program: "0".into(),
            notes: Vec::new(),
        }
    }

    async fn work(&self, fork: Fork, name: &str) -> Result<ForkOutcome, ForkError> {
        let (progress, _heard) = mpsc::unbounded_channel();
        fork.work(&self.path(name), 2, self.deps(), RunControl::new(progress, CancellationToken::new())).await
    }
}

fn stored(folder: &Path) -> ForkReport {
    let text = fs::read_to_string(folder.join("fork.json")).expect("a report");
    serde_json::from_str(&text).expect("reads")
}

fn counts(report: &ForkReport) -> Vec<(&str, u32, u32, u32)> {
    report.arms.iter().map(|arm| (arm.arm.as_str(), arm.passed, arm.judged, arm.parted)).collect()
}

#[tokio::test]
async fn a_fork_goes_on_from_the_recorded_screen_and_finds_a_skill_that_matters() {
    let recorded = Recorded::new("all").await;
    let fork = recorded.fork(3, Some(Variant::Without(skill())), &usual());
    let done = recorded.work(fork, "fork").await.expect("works");
    let report = &done.report;
    assert_eq!(counts(report), [("all", 4, 4, 0), ("without:panel/boxes", 0, 4, 0)], "{report:#?}");
    let effect = report.effect.as_ref().expect("an effect");
    assert_eq!((effect.with.as_str(), effect.without.as_str()), ("all", "without:panel/boxes"));
    assert_eq!((effect.difference, effect.verdict), (1.0, ForkVerdict::Helps));
    assert!((0.0..0.5).contains(&effect.ci95.low), "{effect:?}");
    // Two turns are repeated, two are live: the box and the end. Only live turns are asked for and paid.
    assert_eq!((report.repeated_turns, report.repeated_actions), (2, 2));
    assert_eq!((report.arms[0].turns_after, report.arms[0].actions_after), (Some(2.0), Some(1.0)));
    assert_eq!(recorded.asked.load(Ordering::Relaxed), 2 * 8);
    assert!((report.arms[0].cost_usd.expect("a price") - 4.0 * 0.02).abs() < 1e-9);
    assert_eq!(report.history, History::OwnTurns);
    let stored = stored(&done.folder);
    assert_eq!((&stored.recorded, &stored.attempts), (&report.recorded, &report.attempts));
    assert_eq!(counts(&stored), counts(report));
    for attempt in &report.attempts {
        assert!(done.folder.join(&attempt.trace).join("events.jsonl").is_file(), "{}", attempt.trace);
    }
    let text = fork_text(report);
    assert!(
        text.contains("all - without:panel/boxes: +100.0 points") && text.contains("it helps here"),
        "{text}"
    );
    // The attempts of a fork are not taken for recorded trials.
    fs::rename(&done.folder, recorded.path("runs/fork")).expect("moves");
    assert_eq!(recorded.found().trial.arm, "all");
}

#[tokio::test]
async fn a_skill_that_is_put_in_helps_a_trial_that_had_none() {
    let recorded = Recorded::new("none").await;
    let fork = recorded.fork(3, Some(Variant::With(skill())), &usual());
    let report = recorded.work(fork, "fork").await.expect("works").report;
    assert_eq!(counts(&report), [("none", 0, 4, 0), ("with:panel/boxes", 4, 4, 0)]);
    let effect = report.effect.expect("an effect");
    assert_eq!((effect.with.as_str(), effect.verdict), ("with:panel/boxes", ForkVerdict::Helps));
    // One attempt of each passes and fails alike, and is too little to tell.
    let once = Fork { times: 1, ..recorded.fork(3, Some(Variant::With(skill())), &usual()) };
    let report = recorded.work(once, "once").await.expect("works").report;
    let effect = report.effect.as_ref().expect("an effect");
    assert_eq!((effect.difference, effect.verdict), (1.0, ForkVerdict::TooFewToTell));
    assert!(effect.ci95.low < 0.0, "{effect:?}");
    assert!(fork_text(&report).contains("too few to tell"));
}

#[tokio::test]
async fn one_arm_measures_no_effect_and_another_model_has_the_turns_told() {
    let recorded = Recorded::new("all").await;
    let fork = Fork { model: "test/other".into(), ..recorded.fork(3, None, &usual()) };
    let report = recorded.work(fork, "fork").await.expect("works").report;
    assert_eq!(counts(&report), [("all", 4, 4, 0)]);
    assert_eq!((report.effect.is_none(), report.history), (true, History::AsText));
}

#[tokio::test]
async fn a_world_that_differs_parts_at_its_step_and_is_no_failure() {
    let recorded = Recorded::new("all").await;
    for (world, step, difference) in [
        (suite("More", "Alpha"), 2, "of 2 elements: button \"Advanced\" missing, button \"More\" new"),
        (suite("Advanced", "Gamma"), 3, "of 3 elements: checkbox \"Alpha\" missing, checkbox \"Gamma\" new"),
    ] {
        let fork = recorded.fork(3, Some(Variant::Without(skill())), &world);
        let done = recorded.work(fork, &format!("fork-{step}")).await.expect("works");
        assert_eq!(counts(&done.report), [("all", 0, 0, 4), ("without:panel/boxes", 0, 0, 4)]);
        assert!(done.report.effect.is_none());
        assert_eq!(recorded.asked.load(Ordering::Relaxed), 0, "no live call is made");
        for attempt in &done.report.attempts {
            assert_eq!((attempt.verdict, attempt.void_cause), (Verdict::Void, Some(VoidCause::Setup)));
            let parted = attempt.parted.as_ref().expect("parted");
            assert_eq!((parted.step.0, parted.difference.as_str()), (step, difference));
        }
        let text = fork_text(&done.report);
        assert!(text.contains(&format!("parted at s{step}")) && text.contains("4 parted"), "{text}");
    }
}

#[tokio::test]
async fn what_cannot_be_forked_is_refused_before_anything_is_written() {
    let recorded = Recorded::new("all").await;
    let refused = |fork: Fork| fork.check().expect_err("is refused").to_string();
    let without = |id: &str| Some(Variant::Without(SkillId::parse(id).expect("an id")));
    let usual_fork = |variant| recorded.fork(3, variant, &usual());
    assert_eq!(
        refused(usual_fork(without("panel/boxs"))),
        "the skillbook has no skill panel/boxs; did you mean \"panel/boxes\"?"
    );
    assert_eq!(
        refused(Fork { times: 0, ..usual_fork(None) }),
        "a fork needs at least one attempt of each arm"
    );
    let changed = Suite { hash: "h2".into(), ..usual() };
    assert!(refused(recorded.fork(3, None, &changed)).starts_with("the suite \"test\" has changed"));
    assert!(
        refused(Fork { model: "baseline/noop".into(), ..usual_fork(None) })
            .starts_with("baseline/noop is no")
    );
    assert_eq!(refused(usual_fork(Some(Variant::Placebo))), "the help of the arm placebo-inert");
    for fork in [Fork { times: 0, ..usual_fork(None) }, recorded.fork(3, None, &changed)] {
        recorded.work(fork, "fork").await.expect_err("is refused");
        assert!(!recorded.path("fork").exists());
    }

    let unaided = Recorded::new("none").await;
    let nothing = unaided.fork(3, Some(Variant::Without(skill())), &usual());
    assert!(refused(nothing).starts_with("the recorded trial had no skills"));
}

#[tokio::test]
async fn what_is_not_recorded_is_refused() {
    let recorded = Recorded::new("all").await;
    let told = |found: Result<ForkSite, ForkError>| found.expect_err("is refused").to_string();
    assert!(recorded.site(4).is_ok());
    assert_eq!(told(recorded.site(5)), "the attempt has the steps s1 to s4; there is no step s5 to fork at");
    assert!(
        told(ForkSite::load(&recorded.found(), Some(2), StepId(1))).ends_with("has no finished attempt 2")
    );
    let runs = recorded.path("runs");
    let missing = find_trial(&runs, "zz").expect_err("is refused").to_string();
    assert!(missing.ends_with("begins with \"zz\""), "{missing}");

    // A trace that says what it should not, or too little.
    let trace = recorded.trace();
    let whole = fs::read_to_string(&trace).expect("reads");
    fs::write(&trace, whole.replacen("\"turn 1\"", "\"[redacted]\"", 1)).expect("writes");
    assert!(recorded.site(3).is_ok(), "only what is done again must be whole");
    let secret = r#"{"do":"type","text":"[redacted]"}],"was":["#;
    fs::write(&trace, whole.replacen(r#""actions":["#, &format!(r#""actions":[{secret}"#), 1))
        .expect("writes");
    assert!(told(recorded.site(3)).starts_with("step s1 typed a secret"), "{}", told(recorded.site(3)));
    assert!(recorded.site(1).is_ok(), "nothing secret is repeated before s1");
    fs::write(&trace, "not an event\n").expect("writes");
    assert!(told(recorded.site(3)).ends_with("events.jsonl:1: not an event"));
    let cut: String = whole.lines().take(4).map(|line| format!("{line}\n")).collect();
    fs::write(&trace, cut).expect("writes");
    assert!(told(recorded.site(3)).ends_with("the trace is incomplete"));
    fs::write(&trace, &whole).expect("writes");
    fs::remove_dir_all(recorded.found().run.join("blobs")).expect("removes");
    assert!(told(recorded.site(3)).starts_with("cannot read the recorded outline"));

    // A void attempt, named or alone, and a trial that two runs hold.
    let rows = recorded.found().run.join("trials.jsonl");
    let mut row: Value = serde_json::from_str(&fs::read_to_string(&rows).expect("reads")).expect("a row");
    (row["verdict"], row["void_cause"], row["stop_reason"]) =
        (json!("void"), json!("world_lost"), Value::Null);
    row["score"] = json!(0.0);
    fs::write(&rows, format!("{row}\n")).expect("writes");
    assert!(told(recorded.site(3)).ends_with("has void attempts only"));
    let void = told(ForkSite::load(&recorded.found(), Some(1), StepId(3)));
    assert!(void.contains("is void: it was not judged"), "{void}");
    let run = recorded.found().run;
    fs::create_dir_all(runs.join("again")).expect("makes");
    fs::copy(run.join("run.json"), runs.join("again/run.json")).expect("copies");
    let twice = find_trial(&runs, "").expect_err("is refused").to_string();
    assert!(twice.starts_with("2 trials begin with"), "{twice}");
    assert!(find_trial(&run, "").is_ok(), "the run can be named");
}
