//! Whole runs on `scene`: their records, their retries, and recovery of a killed process without loss.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apprentice_evaluator::arms::ArmError;
use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::grading::grade::{GradeComparison, GradeReport, grade};
use apprentice_evaluator::run::{
    ArmPlan, Contender, Conversations, ModelSource, PlanRequest, Progress, ResumeInputs, RunControl, RunDeps,
    RunError, RunFolder, RunSummary, StoreError, TrialSpec, resume, start,
};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::Scripted;
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{
    ActReport, Action, BoxFuture, ChatModel, Environment, EnvironmentSource, EventKind, Finish, Isolation,
    ModelError, ModelErrorKind, Observation, ScreenPoint, StopReason, TaskId, Verdict, VoidCause, Want,
    World, WorldError, WorldSpec,
};
use apprentice_runs::row::{Role, TrialRow};
use apprentice_runs::rows;
use apprentice_tasks::check::{AttemptEnding, Evidence, judge};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_trace::{Redactor, Trace};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A task: tick a box that stands behind a button; the seed varies the name of the box.
fn task(id: &str, faults: &Value) -> Task {
    let scene = json!({
        "start": "main",
        "state": { "ticked": false },
        "pages": {
            "main": { "title": "Main", "controls": [
                { "role": "button", "name": "Options", "click": [{ "go": "options" }] } ] },
            "options": { "title": "Options", "controls": [
                { "role": "checkbox", "name": "Show {{what}}", "bind": "ticked" },
                { "role": "checkbox", "name": "Something else", "bind": "other" } ] }
        },
        "faults": faults
    });
    let open = json!({ "click": { "role": "button", "name": "Options" } });
    serde_json::from_value(json!({
        "id": id,
        "instruction": "Tick the box that shows {{what}}.",
        "config": [{ "type": "write_file", "parameters": { "path": "/home/user/hint.txt", "content": "{{what}}" } }],
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "ticked"], "method": "eq", "ref": true }
            ] } }
        },
        "apprentice": {
            "environment": "scene",
            "template": id,
            "screen": { "width": 640, "height": 400 },
            "scene": scene,
            "vary": { "what": ["rulers", "margins", "guides", "grids"] },
            "solution": [open, { "click": { "role": "checkbox", "name": "Show {{what}}" } }],
            "near_miss": [open, { "click": { "role": "checkbox", "name": "Something else" } }]
        }
    }))
    .expect("a task")
}

fn suite(tasks: Vec<Task>) -> Suite {
    Suite { name: "test".into(), root: PathBuf::from("/"), hash: "h1".into(), tasks }
}

struct NoModels;

impl ModelSource for NoModels {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        if trial.model == "scripted/nothing" {
            return Ok(Arc::new(Scripted::new([]).expect("a script")));
        }
        Err("no such model; baselines are baseline/solution and baseline/noop".into())
    }
}

fn deps() -> RunDeps {
    RunDeps {
        models: Arc::new(NoModels),
        worlds: Arc::new(SceneSource::default()),
        clock: Arc::new(VirtualClock::default()),
        guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
        redactor: Arc::new(Redactor::new([]).expect("builds")),
        reading: apprentice_tasks::suite::SuiteOptions::default(),
        cpu: 2,
    }
}

fn contender(model: &str) -> Contender {
    Contender { role: Role::Baseline, model: model.into(), arm: "none".into(), tasks: None, seeds: None }
}

fn request<'a>(suite: &'a Suite, models: &[&str], seeds: u32) -> PlanRequest<'a> {
    PlanRequest {
        suite,
        split: None,
        tasks: None,
        contenders: models.iter().map(|model| contender(model)).collect(),
        seeds,
        limits: None,
        attempts: 3,
        order_seed: 1,
        conversations: Conversations::Dropped,
        command: vec!["test".into()],
        program: "0.0.0".into(),
        books: Vec::new(),
    }
}

async fn run(root: &Path, request: &PlanRequest<'_>, deps: RunDeps) -> Result<RunSummary, RunError> {
    let (progress, _heard) = mpsc::unbounded_channel();
    start(request, root, 4, deps, RunControl::new(progress, CancellationToken::new())).await
}

async fn go_on(folder: &Path, suite: &Suite, deps: RunDeps, accept: bool) -> Result<RunSummary, RunError> {
    let (progress, _heard) = mpsc::unbounded_channel();
    let current = ResumeInputs {
        suite: suite.clone(),
        split_hash: None,
        books: Vec::new(),
        program: "0.0.0".into(),
        accept_drift: accept,
    };
    resume(folder, current, 2, deps, RunControl::new(progress, CancellationToken::new())).await
}

fn rows_of(folder: &Path) -> Vec<TrialRow> {
    let read = rows::read(&folder.join("trials.jsonl")).expect("reads");
    assert_eq!(read.torn, None);
    read.rows
}

#[tokio::test]
async fn the_whole_loop_on_scene() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("one", &json!([])), task("two", &json!([]))]);
    let models = ["baseline/solution", "baseline/near-miss", "baseline/noop", "baseline/give-up"];
    let (progress, mut heard) = mpsc::unbounded_channel();
    let planned = request(&suite, &models, 3);
    let done = start(&planned, root.path(), 4, deps(), RunControl::new(progress, CancellationToken::new()));
    let summary = done.await.expect("runs");
    assert_eq!((summary.planned, summary.not_run, summary.interrupted), (24, 0, false));
    for row in &summary.results {
        let passes = row.model == "baseline/solution";
        assert_eq!(row.verdict == Verdict::Pass, passes, "{} {}", row.model, row.task);
        assert_eq!(row.world_steps, if passes || row.model == "baseline/near-miss" { 2 } else { 0 });
        let expected = if row.model == "baseline/give-up" { StopReason::GaveUp } else { StopReason::Done };
        assert_eq!((row.stop_reason, row.void_cause), (Some(expected), None));
        assert_eq!(row.isolation, Isolation::Memory);
        check_trace(&summary.folder, row, &suite);
    }
    let mut finished = 0;
    while let Ok(told) = heard.try_recv() {
        finished += usize::from(matches!(told, Progress::Finished { .. }));
    }
    assert_eq!(finished, 24);
    assert_eq!(rows_of(&summary.folder).len(), 24);
}

/// Checks that a trace begins and ends correctly, and that its grade can be repeated from its evidence alone.
fn check_trace(folder: &Path, row: &TrialRow, suite: &Suite) {
    let attempt = folder.join(&row.trace);
    let trace = Trace::read(&attempt.join("events.jsonl")).expect("reads");
    let kinds: Vec<&EventKind> = trace.events.iter().map(|event| &event.kind).collect();
    assert!(matches!(
        kinds[..3],
        [EventKind::Started(_), EventKind::WorldOpened { .. }, EventKind::SetupDone { .. }]
    ));
    let [.., EventKind::Stopped { .. }, EventKind::Judged(judged), EventKind::WorldClosed { .. }] = kinds[..]
    else {
        panic!("{kinds:?}")
    };
    let evidence = Evidence::load(&attempt.join("evidence")).expect("loads");
    let finish = match row.stop_reason {
        Some(StopReason::GaveUp) => Finish::GiveUp { reason: String::new() },
        _ => Finish::Done,
    };
    let ending = AttemptEnding::of(row.stop_reason.expect("a reason"), Some(&finish));
    let task = suite.task(row.task.as_str()).expect("the task");
    assert_eq!(&judge(&task.evaluator, &evidence, &ending), judged);
}

#[tokio::test]
async fn the_plan_is_shuffled_in_blocks_and_the_same_for_the_same_seed() {
    let suite = suite((0..6).map(|n| task(&format!("t{n}"), &json!([]))).collect());
    let plan = |order_seed| {
        let request = PlanRequest { order_seed, ..request(&suite, &["a/a", "b/b", "c/c"], 2) };
        let plan = apprentice_evaluator::run::plan(&request, jiff::Timestamp::UNIX_EPOCH);
        plan.expect("plans").trials
    };
    let trials = plan(7);
    assert_eq!(trials, plan(7));
    assert_ne!(trials, plan(8));
    let ids: BTreeSet<_> = trials.iter().map(|trial| trial.trial.clone()).collect();
    assert_eq!(ids.len(), 36);
    assert!(ids.iter().all(|id| id.as_str().len() == 12));
    for block in trials.chunks(3) {
        assert!(block.iter().all(|trial| (&trial.task, trial.seed) == (&block[0].task, block[0].seed)));
        let models: BTreeSet<_> = block.iter().map(|trial| trial.model.as_str()).collect();
        assert_eq!(models.len(), 3, "every contender meets every world");
    }
    let firsts: BTreeSet<_> = trials.chunks(3).map(|block| block[0].model.clone()).collect();
    assert!(firsts.len() > 1, "no contender always goes first");
}

#[tokio::test]
async fn a_task_whose_world_ignores_the_seed_is_run_once_and_unknown_tasks_are_named() {
    let mut still = task("still", &json!([]));
    still.apprentice.as_mut().expect("ours").vary = BTreeMap::new();
    let text = serde_json::to_string(&still).expect("writes").replace("{{what}}", "rulers");
    let suite = suite(vec![serde_json::from_str(&text).expect("a task")]);
    let now = jiff::Timestamp::UNIX_EPOCH;
    let plan = apprentice_evaluator::run::plan(&request(&suite, &["a/a"], 5), now).expect("plans");
    assert_eq!(plan.trials.len(), 1);
    let wrong = PlanRequest { tasks: Some([TaskId::new("stil")].into()), ..request(&suite, &["a/a"], 1) };
    let error = apprentice_evaluator::run::plan(&wrong, now).expect_err("is unknown").to_string();
    assert_eq!(error, "suite \"test\" has no task \"stil\"; did you mean \"still\"?");
}

#[tokio::test]
async fn void_attempts_are_retried_and_kept_and_others_are_final() {
    let root = tempfile::tempdir().expect("a folder");
    let twice = json!([{ "at": "act", "after": 1, "fault": "lost", "first_worlds": 2 }]);
    let always = json!([{ "at": "open", "fault": "start" }]);
    let suite = suite(vec![task("twice", &twice), task("always", &always), task("fine", &json!([]))]);
    let summary = run(root.path(), &request(&suite, &["baseline/solution"], 1), deps()).await.expect("runs");
    let causes = |id: &str| {
        let rows = rows_of(&summary.folder);
        let of_task = rows.into_iter().filter(|row| row.task.as_str() == id);
        of_task.map(|row| (row.attempt, row.verdict, row.void_cause)).collect::<Vec<_>>()
    };
    let lost = Some(VoidCause::WorldLost);
    assert_eq!(
        causes("twice"),
        [(1, Verdict::Void, lost), (2, Verdict::Void, lost), (3, Verdict::Pass, None)]
    );
    assert_eq!(causes("always").len(), 3);
    assert_eq!(causes("fine"), [(1, Verdict::Pass, None)]);
    for row in rows_of(&summary.folder) {
        assert!(summary.folder.join(&row.trace).join("events.jsonl").is_file(), "attempts are never deleted");
    }
    assert_eq!((summary.count(Verdict::Pass), summary.count(Verdict::Void)), (2, 1));
    let again = go_on(&summary.folder, &suite, deps(), false).await.expect("resumes");
    let result = |rows: &[(&str, Verdict, u32)]| {
        rows.iter()
            .map(|(task, verdict, attempt)| (TaskId::new(*task), *verdict, *attempt))
            .collect::<Vec<_>>()
    };
    let last = |summary: &RunSummary| {
        summary.results.iter().map(|row| (row.task.clone(), row.verdict, row.attempt)).collect::<Vec<_>>()
    };
    assert_eq!(
        last(&summary),
        result(&[("twice", Verdict::Pass, 3), ("always", Verdict::Void, 3), ("fine", Verdict::Pass, 1)])
    );
    assert_eq!(
        last(&again),
        result(&[("twice", Verdict::Pass, 3), ("always", Verdict::Void, 6), ("fine", Verdict::Pass, 1)]),
        "what has no result is taken up again, and nothing else"
    );
}

#[tokio::test]
async fn infrastructure_is_void_wherever_it_fails_and_never_a_failure() {
    let check = async |at: &str, after: u32, fault: &str, expected: VoidCause| {
        let root = tempfile::tempdir().expect("a folder");
        let suite = suite(vec![task("t", &json!([{ "at": at, "after": after, "fault": fault }]))]);
        let request = PlanRequest { attempts: 1, ..request(&suite, &["baseline/solution"], 1) };
        let summary = run(root.path(), &request, deps()).await.expect("runs");
        let row = &summary.results[0];
        assert_eq!((row.verdict, row.void_cause), (Verdict::Void, Some(expected)), "{at} after {after}");
        assert_eq!((row.stop_reason, row.score), (None, 0.0));
        let trace = Trace::read(&summary.folder.join(&row.trace).join("events.jsonl")).expect("reads");
        let stops = trace.events.iter().filter(|event| matches!(event.kind, EventKind::Stopped { .. }));
        assert_eq!(stops.count(), 1, "{at} after {after}");
        let closed = trace.events.iter().any(|event| matches!(event.kind, EventKind::WorldClosed { .. }));
        assert_eq!(closed, at != "open", "a world that was opened is closed");
    };
    check("open", 0, "start", VoidCause::WorldStart).await;
    check("open", 0, "missing_program", VoidCause::MissingProgram).await;
    check("open", 0, "network_not_allowed", VoidCause::NetworkNotAllowed).await;
    check("observe", 0, "lost", VoidCause::WorldLost).await;
    check("observe", 1, "lost", VoidCause::WorldLost).await;
    check("act", 0, "input", VoidCause::InputLost).await;
    check("act", 1, "disk_full", VoidCause::DiskFull).await;
    check("machine", 0, "lost", VoidCause::WorldLost).await;
    check("machine", 1, "lost", VoidCause::WorldLost).await;
    // A world that fails while closing has already delivered its evidence.
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("t", &json!([{ "at": "close", "fault": "lost" }]))]);
    let summary = run(root.path(), &request(&suite, &["baseline/solution"], 1), deps()).await.expect("runs");
    assert_eq!(summary.count(Verdict::Pass), 1);
}

#[tokio::test]
async fn a_broken_model_and_a_panic_are_our_bug_and_take_nobody_down() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("t", &json!([])), task("u", &json!([]))]);
    let models = ["scripted/nothing", "baseline/solution"];
    let mut with_bug = deps();
    with_bug.guidance = Arc::new(|trial: &TrialSpec| {
        assert!(trial.task.as_str() != "u" || trial.model != "baseline/solution", "a planted bug");
        Ok(ArmGuidance::unaided())
    });
    let summary = run(root.path(), &request(&suite, &models, 1), with_bug).await.expect("runs");
    assert!(summary.has_bug());
    let causes: Vec<_> = summary.results.iter().map(|row| row.void_cause).collect();
    assert_eq!(causes.iter().filter(|cause| **cause == Some(VoidCause::Internal)).count(), 3);
    assert_eq!(summary.count(Verdict::Pass), 1);
}

#[tokio::test]
async fn a_trial_whose_guidance_cannot_be_built_is_void_and_the_run_goes_on() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("t", &json!([])), task("u", &json!([]))]);
    let mut broken = deps();
    broken.guidance = Arc::new(|trial: &TrialSpec| match trial.task.as_str() {
        "t" => Err(ArmError::NoTask(trial.task.clone())),
        _ => Ok(ArmGuidance::unaided()),
    });
    let (progress, mut heard) = mpsc::unbounded_channel();
    let request = PlanRequest { attempts: 2, ..request(&suite, &["baseline/solution"], 1) };
    let summary =
        start(&request, root.path(), 1, broken, RunControl::new(progress, CancellationToken::new()))
            .await
            .expect("runs");
    let rows = rows_of(&summary.folder);
    let (void, judged): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.task.as_str() == "t");
    assert!(void.len() == 2 && void.iter().all(|row| row.verdict == Verdict::Void), "{void:?}");
    assert!(void.iter().all(|row| row.void_cause == Some(VoidCause::Setup) && row.turns == 0), "{void:?}");
    assert_eq!(judged.iter().map(|row| row.verdict).collect::<Vec<_>>(), [Verdict::Pass]);
    let told = "the guidance of the arm: the suite has no task TaskId(\"t\")";
    let trace = Trace::read(&summary.folder.join(&void[0].trace).join("events.jsonl")).expect("reads");
    let kinds: Vec<_> = trace.events.iter().map(|event| &event.kind).collect();
    let [EventKind::Started(_), EventKind::Stopped { void, detail, .. }] = kinds.as_slice() else {
        panic!("no world was opened: {kinds:?}")
    };
    assert_eq!((*void, detail.as_str()), (Some(VoidCause::Setup), told));
    let mut messages = Vec::new();
    while let Ok(message) = heard.try_recv() {
        if let Progress::Finished { message: Some(message), .. } = message {
            messages.push(message);
        }
    }
    assert_eq!(messages, [told, told]);
}

#[tokio::test]
async fn a_model_that_cannot_be_had_stops_the_run_with_the_remedy() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("t", &json!([]))]);
    let error = run(root.path(), &request(&suite, &["no/such"], 1), deps()).await.expect_err("fails");
    assert!(error.to_string().starts_with("model \"no/such\": no such model"), "{error}");
}

/// Copies a folder recursively.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copies");
        }
    }
}

/// A finished run of three trials in its folder.
async fn finished_run(root: &Path, suite: &Suite) -> RunSummary {
    run(root, &request(suite, &["baseline/solution"], 1), deps()).await.expect("runs")
}

#[tokio::test]
async fn a_line_torn_at_any_byte_loses_no_finished_trial() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("a", &json!([])), task("b", &json!([])), task("c", &json!([]))]);
    let summary = finished_run(root.path(), &suite).await;
    let whole = fs::read(summary.folder.join("trials.jsonl")).expect("reads");
    let start_of_last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    let before = rows_of(&summary.folder);
    let cuts = (start_of_last..whole.len()).step_by(23).chain([whole.len() - 1]);
    for cut in cuts {
        let place = root.path().join(format!("cut-{cut}"));
        copy(&summary.folder, &place);
        fs::write(place.join("trials.jsonl"), &whole[..cut]).expect("writes");
        let again = go_on(&place, &suite, deps(), false).await.expect("resumes");
        assert_eq!(again.count(Verdict::Pass), 3);
        let after = rows_of(&place);
        assert_eq!(after[..2], before[..2], "finished lines stay as they are");
        assert_eq!(after[2].void_cause, Some(VoidCause::Interrupted));
        assert_eq!((after[2].attempt, after[2].world_steps, after[2].turns), (1, 2, 3));
        assert_eq!((after[3].attempt, after[3].verdict), (2, Verdict::Pass));
        assert_eq!(place.join("trials.torn").is_file(), cut > start_of_last, "what was torn is kept");
        fs::remove_dir_all(&place).expect("removes");
    }
}

#[tokio::test]
async fn an_attempt_killed_at_any_event_is_void_and_tried_again() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("a", &json!([]))]);
    let summary = finished_run(root.path(), &suite).await;
    let row = rows_of(&summary.folder).remove(0);
    let events = fs::read_to_string(summary.folder.join(&row.trace).join("events.jsonl")).expect("reads");
    let ends: Vec<usize> = events.match_indices('\n').map(|(at, _)| at).collect();
    for cut in ends.iter().flat_map(|end| [end - 3, end + 1]).chain([0]) {
        let place = root.path().join(format!("cut-{cut}"));
        copy(&summary.folder, &place);
        fs::write(place.join("trials.jsonl"), "").expect("writes");
        fs::write(place.join(&row.trace).join("events.jsonl"), &events[..cut]).expect("writes");
        let again = go_on(&place, &suite, deps(), false).await.expect("resumes");
        let attempts: Vec<_> =
            rows_of(&place).iter().map(|row| (row.attempt, row.verdict, row.void_cause)).collect();
        let interrupted = (1, Verdict::Void, Some(VoidCause::Interrupted));
        assert_eq!(attempts, [interrupted, (2, Verdict::Pass, None)]);
        assert_eq!(again.not_run, 0);
        let kept = fs::read_to_string(place.join(&row.trace).join("events.jsonl")).expect("reads");
        assert_eq!(kept, events[..cut], "the killed attempt's trace stays as it was");
    }
}

#[tokio::test]
async fn a_run_has_one_writer() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("a", &json!([]))]);
    let summary = finished_run(root.path(), &suite).await;
    let first = RunFolder::open(&summary.folder).expect("opens");
    assert!(matches!(RunFolder::open(&summary.folder), Err(StoreError::Locked(_))));
    drop(first);
    RunFolder::open(&summary.folder).expect("opens again");
}

#[tokio::test]
async fn other_tool_servers_are_a_drift() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("a", &json!([]))]);
    let aids = BTreeMap::from([("mcp_servers".to_owned(), "h1".to_owned())]);
    let planned = ArmPlan { arm: "none".into(), aids, ..ArmPlan::default() };
    let request = PlanRequest { books: vec![planned], ..request(&suite, &["baseline/solution"], 1) };
    let summary = run(root.path(), &request, deps()).await.expect("runs");
    let refused = go_on(&summary.folder, &suite, deps(), false).await.expect_err("is refused");
    assert!(refused.to_string().contains("tool servers or embeddings changed"), "{refused}");
}

#[tokio::test]
async fn a_run_that_drifted_is_refused_unless_that_is_accepted_and_said() {
    let root = tempfile::tempdir().expect("a folder");
    let mut suite = suite(vec![task("a", &json!([])), task("b", &json!([]))]);
    let summary = finished_run(root.path(), &suite).await;
    let first = fs::read_to_string(summary.folder.join("trials.jsonl")).expect("reads");
    let first = first.split_inclusive('\n').next().expect("a line");
    fs::write(summary.folder.join("trials.jsonl"), first).expect("writes");
    suite.hash = "h2".into();
    let refused = go_on(&summary.folder, &suite, deps(), false).await.expect_err("is refused");
    assert!(refused.to_string().contains("suite changed"), "{refused}");
    let accepted = go_on(&summary.folder, &suite, deps(), true).await.expect("resumes");
    assert_eq!(accepted.count(Verdict::Pass), 2);
    let admitted: Vec<_> = rows_of(&summary.folder).into_iter().map(|row| row.admit).collect();
    assert_eq!(admitted, [None, None, Some("suite changed".into())]);
}

#[tokio::test]
async fn a_run_stopped_from_outside_goes_on_where_it_was() {
    let root = tempfile::tempdir().expect("a folder");
    let hang = json!([{ "at": "act", "after": 1, "first_worlds": 1 }]);
    let suite = suite(vec![task("hangs", &hang), task("waits", &json!([]))]);
    let (progress, mut heard) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let deps = deps();
    let planned = request(&suite, &["baseline/solution"], 1);
    let running = start(&planned, root.path(), 2, deps.clone(), RunControl::new(progress, cancel.clone()));
    let stopping = async {
        // The other trial finishes; then the one that hangs is stopped.
        while let Some(told) = heard.recv().await {
            if matches!(told, Progress::Finished { .. }) {
                cancel.cancel();
            }
        }
    };
    let (summary, ()) = tokio::join!(running, stopping);
    let summary = summary.expect("ends");
    assert!(summary.interrupted);
    assert_eq!((summary.count(Verdict::Pass), summary.count(Verdict::Void)), (1, 1));
    let again = go_on(&summary.folder, &suite, deps, false).await.expect("resumes");
    assert_eq!((again.count(Verdict::Pass), again.interrupted), (2, false));
}

/// Opens scenes and counts how many are open at a time.
struct Counting {
    inner: SceneSource,
    most: AtomicUsize,
    open: Arc<()>,
}

/// A world that is counted while it is open.
struct Counted {
    inner: Box<dyn Environment>,
    _open: Arc<()>,
}

impl EnvironmentSource for Counting {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(async move {
            let mut world = self.inner.open(spec).await?;
            let counted = Counted { inner: world.environment, _open: self.open.clone() };
            self.most.fetch_max(Arc::strong_count(&self.open) - 1, Ordering::Relaxed);
            world.environment = Box::new(counted);
            tokio::task::yield_now().await;
            Ok(world)
        })
    }
}

impl Environment for Counted {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        self.inner.observe(want)
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        self.inner.act(action)
    }

    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        self.inner.close(deadline)
    }
}

#[tokio::test]
async fn no_more_worlds_are_open_at_a_time_than_asked_for() {
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite((0..8).map(|n| task(&format!("t{n}"), &json!([]))).collect());
    let counting =
        Arc::new(Counting { inner: SceneSource::default(), most: AtomicUsize::new(0), open: Arc::new(()) });
    let deps = RunDeps { worlds: counting.clone(), cpu: 8, ..deps() };
    run(root.path(), &request(&suite, &["baseline/noop"], 1), deps).await.expect("runs");
    let most = counting.most.load(Ordering::Relaxed);
    assert!((2..=4).contains(&most), "{most} worlds at a time, asked for 4");
    assert_eq!(Arc::strong_count(&counting.open), 1, "every world was closed");
}

#[tokio::test]
async fn a_full_disk_is_a_clear_stop_and_the_run_goes_on_afterwards() {
    let root = tempfile::tempdir().expect("a folder");
    let place = root.path().join("small");
    fs::create_dir(&place).expect("a folder");
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new("mount").args(arguments).arg(&place).output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=300k", "tmpfs"]) {
        println!("skipped: mounting a small tmpfs needs root");
        return;
    }
    let suite = suite((0..12).map(|n| task(&format!("t{n}"), &json!([]))).collect());
    let full = run(&place, &request(&suite, &["baseline/solution"], 2), deps()).await;
    let grown = mount(&["-o", "remount,size=16m"]);
    let error = full.expect_err("the disk is full");
    let folder = fs::read_dir(&place).expect("a folder").next().expect("a run").expect("an entry").path();
    let before = rows_of(&folder).iter().filter(|row| row.verdict == Verdict::Pass).count();
    let resumed = go_on(&folder, &suite, deps(), false).await;
    let unmounted = std::process::Command::new("umount").arg("-l").arg(&place).status();
    assert!(unmounted.is_ok_and(|status| status.success()) && grown);
    assert!(matches!(error, RunError::Store(StoreError::DiskFull(_))), "{error}");
    assert!((1..24).contains(&before), "{before} trials were finished before the disk was full");
    assert_eq!(resumed.expect("resumes").count(Verdict::Pass), 24);
}

fn counts(report: &GradeReport) -> [u64; 4] {
    [report.same, report.differs, report.missing, report.unjudged]
}

#[tokio::test]
async fn a_run_is_graded_again_from_its_evidence_and_nothing_else() {
    let root = tempfile::tempdir().expect("a folder");
    let lost = json!([{ "at": "act", "after": 1, "fault": "lost", "first_worlds": 1 }]);
    let mut suite = suite(vec![task("a", &lost), task("b", &json!([]))]);
    let models = ["baseline/solution", "baseline/near-miss", "baseline/give-up"];
    let folder = run(root.path(), &request(&suite, &models, 1), deps()).await.expect("runs").folder;
    let report = grade(&folder, None).expect("grades");
    assert_eq!(counts(&report), [6, 0, 0, 1], "{report:?}");

    // The suite's check has changed since the run: it now wants the other box ticked, so the grades are inverted.
    let rules = json!({ "type": "rule", "rules": { "expect": [
        { "key": ["values", "other"], "method": "eq", "ref": true } ] } });
    for task in &mut suite.tasks {
        task.evaluator.expected = Some(serde_json::from_value(rules.clone()).expect("reads"));
    }
    let turned = grade(&folder, Some(&suite)).expect("grades");
    assert_eq!(counts(&turned), [2, 4, 0, 1], "giving up stays wrong: {turned:?}");
    suite.tasks.clear();
    let error = grade(&folder, Some(&suite)).expect_err("no such task").to_string();
    assert!(error.contains("has no task"), "{error}");

    // A row that was tampered with, evidence that was changed, and evidence that is missing.
    let path = folder.join("trials.jsonl");
    let text = fs::read_to_string(&path).expect("reads");
    fs::write(&path, text.replacen("\"verdict\":\"fail\"", "\"verdict\":\"pass\"", 1)).expect("writes");
    let judged: Vec<TrialRow> =
        rows_of(&folder).into_iter().filter(|row| row.verdict != Verdict::Void).collect();
    let evidence = |at: usize| folder.join(&judged[at].trace).join("evidence");
    fs::remove_dir_all(evidence(0)).expect("removes");
    let changed = fs::read_dir(evidence(1)).expect("a folder").filter_map(Result::ok);
    let kept = changed.map(|entry| entry.path()).find(|path| path.extension().is_none());
    fs::write(kept.expect("a kept file"), "something else").expect("writes");
    let report = grade(&folder, None).expect("grades");
    assert_eq!((report.missing, report.unjudged), (2, 1), "{report:?}");
    assert_eq!(report.same + report.differs, 4);
    let why: Vec<&str> = report
        .attempts
        .iter()
        .filter(|one| one.outcome == GradeComparison::Missing)
        .map(|one| one.explanation.as_str())
        .collect();
    assert!(why[0].contains("asked.json") && why[1].contains("was changed since it was saved"), "{why:?}");
}

/// A model whose server answers so, once a number of calls has passed; until then it gives up at once.
struct FailingServer {
    error: ModelError,
    passes: Arc<AtomicUsize>,
    gone: bool,
}

struct FailingModel {
    error: ModelError,
    passes: Arc<AtomicUsize>,
    inner: Scripted,
}

impl ChatModel for FailingModel {
    fn profile(&self) -> &apprentice_protocol::ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(
        &'a self,
        request: &'a apprentice_protocol::ChatRequest,
    ) -> BoxFuture<'a, Result<apprentice_protocol::ChatReply, ModelError>> {
        let left = self.passes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(_) => self.inner.reply(request),
            Err(_) => Box::pin(std::future::ready(Err(self.error.clone()))),
        }
    }
}

impl ModelSource for FailingServer {
    fn model(&self, _trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let done = apprentice_models::scripted::ScriptedReply {
            say: Some("I cannot".into()),
            ..apprentice_models::scripted::ScriptedReply::default()
        };
        let inner = Scripted::new([done]).expect("a script");
        Ok(Arc::new(FailingModel { error: self.error.clone(), passes: Arc::clone(&self.passes), inner }))
    }

    fn gone<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Option<String>> {
        let gone = self.gone.then(|| "nobody listens there".to_owned());
        Box::pin(std::future::ready(gone))
    }
}

fn with_server(error: ModelError, passes: usize, gone: bool) -> RunDeps {
    let passes = Arc::new(AtomicUsize::new(passes));
    RunDeps { models: Arc::new(FailingServer { error, passes, gone }), ..deps() }
}

fn many_tasks() -> Suite {
    suite((0..20).map(|number| task(&format!("t{number}"), &json!([]))).collect())
}

fn only_run(root: &Path) -> PathBuf {
    std::fs::read_dir(root).expect("a folder").next().expect("a run").expect("reads").path()
}

#[tokio::test]
async fn a_fault_that_no_attempt_can_change_stops_the_run_and_resume_takes_up_the_rest() {
    let passing = |kind| ModelError::never(kind, "the server is out of order");
    for (what, error, gone, most) in [
        ("a key", ModelError::lasting(ModelErrorKind::Unavailable, "401; check the key"), false, 1),
        ("a dead server", passing(ModelErrorKind::Unavailable), true, 1),
        ("one that answers nothing", passing(ModelErrorKind::Unavailable), false, 3),
        ("one that breaks its form", passing(ModelErrorKind::Protocol), false, 3),
        ("a refused form", passing(ModelErrorKind::Refused), false, 3),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let suite = many_tasks();
        let (progress, _heard) = mpsc::unbounded_channel();
        let control = RunControl::new(progress, CancellationToken::new());
        let asked = request(&suite, &["compat/m"], 1);
        let ended = start(&asked, root.path(), 1, with_server(error.clone(), 5, gone), control).await;
        let told = ended.expect_err("stops").to_string();
        assert!(told.contains("compat/m cannot be used"), "{what}: {told}");
        let rows = rows_of(&only_run(root.path()));
        let void = rows.iter().filter(|row| row.verdict == Verdict::Void).count();
        assert_eq!((rows.len() - void, void), (5, most), "{what}");
        assert!(!rows.iter().any(|row| row.void_cause == Some(VoidCause::Internal)), "{what}");

        let deps = with_server(error, usize::MAX, false);
        let summary = go_on(&only_run(root.path()), &suite, deps, true).await.expect("runs");
        assert_eq!(
            (summary.results.len(), summary.not_run, summary.count(Verdict::Void)),
            (20, 0, 0),
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_few_attempts_without_a_reply_stop_no_run() {
    // After a reply, two attempts in a row get none: too few to say that none would.
    let root = tempfile::tempdir().expect("a folder");
    let suite = suite(vec![task("a", &json!([])), task("b", &json!([])), task("c", &json!([]))]);
    let error = ModelError::never(ModelErrorKind::Unavailable, "500");
    let (progress, _heard) = mpsc::unbounded_channel();
    let control = RunControl::new(progress, CancellationToken::new());
    let asked = PlanRequest { attempts: 1, ..request(&suite, &["compat/m"], 1) };
    let ended = start(&asked, root.path(), 1, with_server(error, 1, false), control).await;
    let summary = ended.expect("two in a row are not enough");
    assert_eq!((summary.count(Verdict::Void), summary.not_run), (2, 0));
}
