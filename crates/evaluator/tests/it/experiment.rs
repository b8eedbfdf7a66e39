//! Whole experiments on small in-memory programs, with the built-in models. An experiment that is stopped at any
//! moment and resumed ends like an undisturbed one, and a report can always be regenerated from the stored data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::function_scope::FunctionScope;
use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::arms::hidden_skills::{HiddenSkill, HiddenSkills};
use apprentice_evaluator::arms::tool_servers::{ToolPolicy, ToolSettings};
use apprentice_evaluator::estimates::cost::Pricing;
use apprentice_evaluator::experiment::{
    BookSource, Experiment, ExperimentDeps, ExperimentError, ExperimentResult, LearningModels, LearningPlan,
    PrimaryComparison, experiment_config, finished_rows, forecast, plan_measurement, report, run_experiment,
    runs,
};
use apprentice_evaluator::learn::CycleOptions;
use apprentice_evaluator::run::{ArmPlan, ModelSource, Progress, RunControl, RunDeps, RunFolder, TrialSpec};
use apprentice_evaluator::split::{LockedSuite, SplitLock};
use apprentice_harness::env::scene::SceneSource;
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{ChatModel, EventKind, SkillEventKind, SkillId, TaskId, Verdict};
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::compare::{Finding, MixedVersions};
use apprentice_results::report::{Report, Stratum, TryChooser};
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_screening::effect::EffectRule;
use apprentice_skillbook::{At, Snapshot};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_trace::{Redactor, Trace};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::run::copy;

/// A program with two drawers of commands, each behind a menu of its own.
fn program(title: &str, drawers: [(&str, &str, [&str; 3]); 2]) -> Value {
    let entry =
        |name: &&str| json!({ "role": "menuitem", "name": name, "click": [{ "set": { "done": name } }] });
    let menu = |(menu, drawer, entries): &(&str, &str, [&str; 3])| {
        let entries: Vec<Value> = entries.iter().map(entry).collect();
        json!({ "role": "menu", "name": menu, "items": [
            { "role": "menuitem", "name": drawer, "items": entries } ] })
    };
    let menus: Vec<Value> = drawers.iter().map(menu).collect();
    json!({
        "start": "main", "state": { "done": null },
        "pages": { "main": { "title": title, "controls": menus } }
    })
}

fn task(app: &str, id: &str, instruction: &str, wanted: &str, knowledge: &str) -> Task {
    let scene = match app {
        "pottery" => program(
            "Pottery",
            [
                ("Wheel", "Shapes", ["Throw Bowl", "Throw Jug", "Throw Plate"]),
                ("Kiln", "Firing", ["Glaze Bowl", "Fire Jug", "Cool Plate"]),
            ],
        ),
        _ => program(
            "Library",
            [
                ("Desk", "Loans", ["Lend Atlas", "Renew Novel", "Return Diary"]),
                ("Stacks", "Repairs", ["Bind Atlas", "Mend Novel", "Press Diary"]),
            ],
        ),
    };
    let mut task: Task = serde_json::from_value(json!({
        "id": id, "instruction": instruction,
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "done"], "method": "eq", "ref": wanted } ] } }
        },
        "apprentice": { "environment": "scene", "template": id, "scene": scene, "knowledge": [knowledge] },
    }))
    .expect("a task");
    app.clone_into(&mut task.app);
    task
}

pub(crate) const TRAIN: [&str; 3] = ["bowl", "glaze", "lend"];

pub(crate) fn suite() -> Arc<Suite> {
    Arc::new(Suite {
        name: "crafts".into(),
        root: PathBuf::from("."),
        hash: "c4af7".into(),
        tasks: vec![
            task("pottery", "bowl", "Throw the bowl.", "Throw Bowl", "shapes"),
            task("pottery", "glaze", "Glaze the bowl.", "Glaze Bowl", "firing"),
            task("library", "lend", "Lend the atlas.", "Lend Atlas", "loans"),
            task("pottery", "jug", "Throw the jug.", "Throw Jug", "shapes"),
            task("pottery", "fire", "Fire the jug.", "Fire Jug", "firing"),
            task("library", "renew", "Renew the novel.", "Renew Novel", "loans"),
            task("library", "mend", "Mend the novel.", "Mend Novel", "repairs"),
        ],
    })
}

pub(crate) fn lock(suite: &Suite) -> SplitLock {
    let tasks: BTreeMap<TaskId, String> = suite.templates();
    let split = |id: &str| if TRAIN.contains(&id) { Split::Train } else { Split::Test };
    let templates = tasks.values().map(|template| (template.clone(), split(template))).collect();
    SplitLock::new(LockedSuite { name: &suite.name, hash: &suite.hash, tasks: &tasks }, templates, "salt")
        .expect("a lock")
}

struct Models;

impl ModelSource for Models {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let policy = Policy::named(&trial.model).ok_or("no such model")?;
        Ok(Arc::new(BuiltInModel::new(policy)))
    }
}

pub(crate) fn experiment(book: BookSource) -> Experiment {
    let suite = suite();
    Experiment {
        lock: Some(lock(&suite)),
        suite,
        tasks: None,
        book,
        teacher: Some("builtin/explorer".into()),
        judge: None,
        student: "builtin/novice".into(),
        others: Vec::new(),
        arms: vec![Arm::None, Arm::Pull, Arm::PlaceboInert],
        primary: PrimaryComparison::default(),
        seeds: 2,
        baselines: false,
        attempts: 2,
        order_seed: 1,
        limits: None,
        student_limits: None,
        ablations: Ablations::default(),
        suppress: HiddenSkills::default(),
        functions: FunctionScope::default(),
        demonstrations: Vec::new(),
        replicates: 1,
        tools: ToolSettings::default(),
        registered: None,
        command: vec!["apprentice".into(), "demo".into()],
        program: env!("CARGO_PKG_VERSION").into(),
    }
}

pub(crate) fn learned() -> BookSource {
    BookSource::Learned(LearningPlan {
        teacher: "builtin/explorer".into(),
        learner: Arc::new(BuiltInModel::new(Policy::Explorer)),
        cycle: CycleOptions { batch: 2, ..CycleOptions::default() },
    })
}

/// Runs an experiment, and stops it after `stop_after` finished attempts if that is given.
pub(crate) async fn work(
    experiment: &Experiment,
    folder: &Path,
    stop_after: Option<usize>,
) -> Result<ExperimentResult, ExperimentError> {
    work_with(experiment, folder, stop_after, Arc::new(Models)).await
}

/// Runs an experiment with other models.
pub(crate) async fn work_with(
    experiment: &Experiment,
    folder: &Path,
    stop_after: Option<usize>,
    models: Arc<dyn ModelSource>,
) -> Result<ExperimentResult, ExperimentError> {
    let (progress, mut heard) = unbounded_channel();
    let (records, _told) = unbounded_channel();
    let cancel = CancellationToken::new();
    let stopper = cancel.clone();
    let listener = tokio::spawn(async move {
        let mut finished = 0;
        while let Some(message) = heard.recv().await {
            finished += usize::from(matches!(message, Progress::Finished { .. }));
            if stop_after.is_some_and(|after| finished >= after) {
                stopper.cancel();
            }
        }
    });
    let deps = ExperimentDeps {
        elsewhere: None,
        embedding: None,
        readers: Vec::new(),
        effects: EffectRule::RuleBased,
        measures_empty_book: false,
        run: RunDeps {
            models,
            worlds: Arc::new(SceneSource::default()),
            clock: Arc::new(VirtualClock::default()),
            guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
            redactor: Arc::new(Redactor::new([]).expect("builds")),
            reading: apprentice_tasks::suite::SuiteOptions::default(),
            cpu: 2,
        },
        jobs: 2,
        control: RunControl::new(progress, cancel),
        records,
    };
    let outcome = run_experiment(experiment, &deps, folder).await;
    drop(deps);
    listener.await.expect("listened");
    outcome
}

/// A finished experiment shared by all tests. A test that modifies it works on a copy.
pub(crate) async fn finished() -> &'static (PathBuf, ExperimentResult) {
    static FINISHED: OnceCell<(PathBuf, ExperimentResult)> = OnceCell::const_new();
    let run = Box::pin(async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("finished-experiment");
        // Removes the leftovers of an earlier test run.
        let _ = fs::remove_dir_all(&folder);
        let outcome = work(&experiment(learned()), &folder, None).await.expect("works");
        (folder, outcome)
    });
    FINISHED.get_or_init(|| run).await
}

/// Copies the shared experiment, and returns the copy and the folder of its measured run.
pub(crate) async fn copied() -> (TempDir, PathBuf) {
    let (folder, outcome) = finished().await;
    let own = TempDir::new().expect("a folder");
    copy(folder, own.path());
    let run = outcome.measured.folder.strip_prefix(folder).expect("below it").to_owned();
    let run = own.path().join(run);
    (own, run)
}

/// Removes from a report whatever differs between two equal runs: clocks, run names, lost attempts.
fn comparable(report: &Report) -> Value {
    let arms: Vec<Value> = report
        .arms
        .iter()
        .map(|arm| json!([arm.key.to_string(), arm.tally, arm.world_steps, arm.viewed_skills]))
        .collect();
    let differences: Vec<Value> =
        report.comparisons.iter().map(|one| json!([one.name, one.result.difference, one.claim])).collect();
    let learning = report.learning.as_ref().expect("learned");
    json!({
        "arms": arms, "differences": differences, "eligible": report.eligible,
        "skills": learning.skills, "operations": learning.operations, "reviews": learning.reviews,
        "trajectories": learning.trajectories, "curve": learning.curve, "headline": report.headline,
    })
}

fn page_and_numbers(folder: &Path) -> [String; 3] {
    ["report.json", "report.html", "report.md"]
        .map(|name| fs::read_to_string(folder.join(name)).expect("a report"))
}

#[tokio::test]
async fn a_report_is_made_again_byte_for_byte() {
    let (folder, run) = copied().await;
    let (_, outcome) = finished().await;
    let first = page_and_numbers(folder.path());
    let again = report(folder.path()).expect("a report");
    assert_eq!(again, outcome.report);
    apprentice_results::report::write_report(&again, folder.path()).expect("writes");
    assert_eq!(page_and_numbers(folder.path()), first);

    let passed = |arm: &str| {
        let found = again.arms.iter().find(|one| one.key.arm == arm && one.key.model == "builtin/novice");
        found.map(|one| (one.tally.passed, one.tally.trials))
    };
    // No world of this suite varies, so two seeds are one trial each; the library's book holds one skill.
    assert_eq!(passed("none"), Some((0, 4)), "{:#?}", again.arms);
    assert_eq!(passed("pull"), Some((3, 4)), "{:#?}", again.arms);
    let judge = again.learning.as_ref().expect("learned").reviewer;
    let held = judge.both_followed + judge.only_reviewer + judge.only_detector + judge.neither;
    assert!(
        judge.reviewed > 0 && held + judge.undecided == judge.reviewed,
        "every review is held: {judge:?}"
    );
    let strata: BTreeMap<&str, Option<Stratum>> =
        again.templates.iter().map(|line| (line.template.as_str(), line.stratum)).collect();
    assert_eq!(strata["mend"], Some(Stratum::Unseen));
    assert_eq!(strata["jug"], Some(Stratum::Seen));

    let of_run = runs(std::slice::from_ref(&run), &run, MixedVersions::Refuse).expect("the run's own report");
    assert_eq!(of_run.arms, again.arms);
    assert_eq!(of_run.comparisons[0].result.difference, again.comparisons[0].result.difference);
    let above =
        runs(std::slice::from_ref(&run), folder.path(), MixedVersions::Refuse).expect("a report from above");
    let way =
        |report: &Report| report.trials.iter().find(|line| line.measured).map(|line| line.trace.clone());
    assert_eq!(way(&above), way(&again));
}

#[tokio::test]
async fn an_experiment_that_was_stopped_goes_on_where_it_was() {
    let (_, outcome) = finished().await;
    let expected = comparable(&outcome.report);
    let attempts = outcome.report.totals.attempts as usize;
    let lessons = 3 * TRAIN.len();
    // Stops in the first lesson, in the middle of learning, and in the middle of measuring.
    for after in [1, lessons - 2, lessons + 6] {
        let folder = TempDir::new().expect("a folder");
        let stopped = work(&experiment(learned()), folder.path(), Some(after)).await;
        assert!(matches!(stopped, Err(ExperimentError::Stopped)), "stopped after {after} of {attempts}");
        assert!(report(folder.path()).is_ok(), "half an experiment has a report too");
        let outcome = work(&experiment(learned()), folder.path(), None).await.expect("goes on");
        assert_eq!(comparable(&outcome.report), expected, "stopped after {after}");
        for part in ["learning", "measure"] {
            let runs = fs::read_dir(folder.path().join(part)).expect("runs").count();
            assert_eq!(runs, 1, "{part}: the run that was begun is the one that is gone on with");
        }
        // Attempts finished before the stop did not run again.
        assert!(outcome.report.totals.trials as usize <= attempts, "{:?}", outcome.report.totals);
    }
}

#[tokio::test]
async fn a_folder_takes_one_experiment_and_nothing_else() {
    let (folder, _) = copied().await;
    let other = Experiment { seeds: 3, student: "builtin/explorer".into(), ..experiment(learned()) };
    let error = work(&other, folder.path(), None).await.err().expect("is refused").to_string();
    assert!(error.contains("contains another experiment: seeds, student differ"), "{error}");
    let rules = ToolPolicy { denied: ["delete".to_owned()].into(), ..ToolPolicy::default() };
    let tools = ToolSettings { list: Some("world: {}".into()), rules, ..ToolSettings::default() };
    let armed = Experiment { tools, ..experiment(learned()) };
    let error = work(&armed, folder.path(), None).await.err().expect("is refused").to_string();
    assert!(error.contains("contains another experiment: tools differ"), "{error}");

    let occupied = TempDir::new().expect("a folder");
    fs::write(occupied.path().join("letter.txt"), "mine").expect("writes");
    let error = work(&experiment(learned()), occupied.path(), None).await.err().expect("is refused");
    assert!(error.to_string().contains("contains other files"), "{error}");
    assert!(matches!(report(occupied.path()), Err(ExperimentError::Other(_))));
}

#[tokio::test]
async fn what_pull_looked_at_and_training_attempts_are_put_in_as_arms() {
    let folder = TempDir::new().expect("a folder");
    let arms = vec![Arm::None, Arm::Pull, Arm::Inline, Arm::RawTrace, Arm::Verified];
    let primary = PrimaryComparison { treatment: "pull".into(), control: "none".into() };
    let wanted = Experiment { arms, primary, ..experiment(learned()) };
    let outcome = work(&wanted, folder.path(), None).await.expect("works");
    let rows = &outcome.measured.results;
    let of = |arm: &str| -> BTreeMap<TaskId, TrialRow> {
        let own = rows.iter().filter(|row| row.role == Role::Student && row.arm == arm);
        own.map(|row| (row.task.clone(), row.clone())).collect()
    };
    let (pull, inline, trace) = (of("pull"), of("inline"), of("raw-trace"));
    assert_eq!(pull.keys().collect::<Vec<_>>(), inline.keys().collect::<Vec<_>>());
    for (task, row) in &inline {
        let looked = !pull[task].skills_viewed.is_empty();
        assert_eq!(row.delivered_tokens > 0, looked, "{task}: what pull looked at, and no more");
        assert!(row.skills_viewed.is_empty(), "{task}: there are no tools");
        assert!(!looked || row.delivered_tokens < pull[task].delivered_tokens, "{task}: no index, no tools");
    }
    assert!(inline.values().any(|row| row.delivered_tokens > 0));
    // Every program of this suite has training attempts, so each task has one near it.
    assert_eq!(trace.len(), 4);
    let longest = inline.values().map(|row| row.delivered_tokens).max().unwrap_or_default();
    for (task, row) in &trace {
        assert!(
            (1..=longest).contains(&row.delivered_tokens),
            "{task}: {} of {longest}",
            row.delivered_tokens
        );
    }
    // No skill was followed in two attempts at one other template, so the arm has no guidance and says so.
    let verified = outcome.report.eligible.iter().find(|one| one.arm == "verified").expect("is told");
    assert_eq!((verified.templates, of("verified").len()), (0, 0));

    let lone = Experiment { arms: vec![Arm::None, Arm::Inline], ..experiment(learned()) };
    let error = work(&lone, &folder.path().join("lone"), None).await.err().expect("is refused").to_string();
    assert_eq!(
        error,
        "the arm inline inserts the guidance that the arm pull retrieved: add pull to the arms"
    );
}

#[tokio::test]
async fn skills_are_left_out_and_the_money_is_spent_otherwise() {
    let (first, _) = copied().await;
    let book = Snapshot::open(&first.path().join("skillbook"), At::Now).expect("opens");
    let ablations =
        Ablations { more_steps: Some(3), best_of: Some(2), leave_one_out: Some(9), wordings: None };
    let wanted = Experiment { ablations, ..experiment(BookSource::Given(book.clone())) };
    let lone = Experiment { arms: vec![Arm::Pull, Arm::PlaceboInert], ..wanted.clone() };
    let folder = TempDir::new().expect("a folder");
    let refused = work(&lone, &folder.path().join("lone"), None).await.err().expect("is refused");
    assert!(matches!(refused, ExperimentError::BaselinesNeedNone), "{refused}");

    let outcome = work(&wanted, folder.path(), None).await.expect("works");
    let report = &outcome.report;
    // Each skill of the book is left out on the tasks of its program, and only there.
    for skill in book.skills() {
        let arm = format!("without:{}", skill.id);
        let rows: Vec<&TrialRow> = outcome.measured.results.iter().filter(|row| row.arm == arm).collect();
        assert!(!rows.is_empty(), "{arm}");
        for row in rows {
            assert!(!row.skills_viewed.contains(&skill.id), "{arm} was shown to {}", row.task);
            assert_ne!(row.skillbook_hash.as_deref(), Some(book.content_hash().as_str()), "{arm}");
        }
        let value = report.skill_values.iter().find(|one| one.skill == skill.id.as_str()).expect("a value");
        let left_out = value.left_out.as_ref().expect("was left out");
        assert_eq!(left_out.finding, Finding::TooFew, "four templates show nothing: {left_out:?}");
    }
    assert!(
        report
            .skill_values
            .iter()
            .any(|one| one.left_out.as_ref().and_then(|out| out.difference) > Some(0.0)),
        "somebody needed a skill: {:#?}",
        report.skill_values
    );
    // The arm with wider caps was told its caps, and nothing else of it differs.
    let limits = |arm: &str| {
        let row = outcome.measured.results.iter().find(|row| row.arm == arm).expect("a row");
        let trace = outcome.measured.folder.join(&row.trace).join("events.jsonl");
        let events = Trace::read(&trace).expect("a trace").events;
        let started = events.into_iter().find_map(|event| match event.kind {
            EventKind::Started(header) => Some((header.brief.limits, header.seed)),
            _ => None,
        });
        started.expect("a header")
    };
    let (plain, wide, again) = (limits("none"), limits("more-steps"), limits("try-2"));
    assert_eq!((wide.0.world_steps, wide.0.turns), (plain.0.world_steps * 3, plain.0.turns * 3));
    assert_eq!((again.0, again.1 == plain.1), (plain.0, false), "another seed, the same caps");
    let rivals: Vec<(&str, TryChooser)> =
        report.compute_matched.iter().map(|one| (one.name.as_str(), one.chooser)).collect();
    let expected = [
        ("more steps", TryChooser::OwnWord),
        ("best of 2", TryChooser::OwnWord),
        ("best of 2", TryChooser::Check),
        ("student, then teacher", TryChooser::OwnWord),
    ];
    assert_eq!(rivals, expected);
    assert!(
        report.compute_matched.iter().all(|one| one.book.as_ref().is_some_and(|book| book.templates == 4))
    );
    // An arm that only serves as an input of another is not compared on its own.
    assert!(
        report.comparisons.iter().all(|one| !one.name.contains("try-") && !one.name.contains("without:"))
    );
}

/// The experiment over a given book, with a suite whose tasks have two other wordings each.
async fn reworded() -> Experiment {
    let (first, _) = copied().await;
    let book = Snapshot::open(&first.path().join("skillbook"), At::Now).expect("opens");
    let plain = experiment(BookSource::Given(book));
    let mut suite = suite().as_ref().clone();
    for task in &mut suite.tasks {
        task.wordings =
            vec![format!("Would you kindly see to the matter of {}?", task.id), task.instruction.clone()];
    }
    Experiment { suite: Arc::new(suite), ..plain }
}

#[tokio::test]
async fn tasks_are_asked_for_in_other_words_and_the_headline_says_what_came_of_it() {
    let ablations = Ablations { wordings: Some(3), ..Ablations::default() };
    let wanted = Experiment { ablations, ..reworded().await };
    let folder = TempDir::new().expect("a folder");
    let refused =
        work(&wanted, &folder.path().join("three"), None).await.err().expect("is refused").to_string();
    assert!(refused.starts_with("wordings = 3, but task jug has 2 other wordings"), "{refused}");

    let wanted = Experiment { ablations: Ablations { wordings: Some(1), ..ablations }, ..wanted };
    let outcome = work(&wanted, folder.path(), None).await.expect("works");
    let asked = |row: &TrialRow| {
        let events =
            Trace::read(&outcome.measured.folder.join(&row.trace).join("events.jsonl")).expect("a trace");
        let header = events.events.into_iter().find_map(|event| match event.kind {
            EventKind::Started(header) => Some(header.brief.instruction),
            _ => None,
        });
        header.expect("a header")
    };
    let mut arms = BTreeMap::new();
    for row in &outcome.measured.results {
        let reworded = row.arm.starts_with("reworded:");
        assert_eq!(asked(row).starts_with("Would you kindly"), reworded, "{} {}", row.arm, row.task);
        *arms.entry((row.role, row.arm.as_str())).or_insert(0) += u32::from(reworded);
        let aided = row.arm == "reworded:pull";
        assert_eq!(
            row.skillbook_hash.is_some(),
            aided || row.arm != "reworded:none" && row.arm != "none",
            "{}",
            row.arm
        );
    }
    for key in
        [(Role::Teacher, "reworded:none"), (Role::Student, "reworded:none"), (Role::Student, "reworded:pull")]
    {
        assert_eq!(arms.get(&key), Some(&4), "{key:?} of {arms:?}");
    }
    let sentence = outcome.report.headline.in_other_words.as_deref().expect("a sentence");
    let passed = |role, arm: &str| {
        let rows = outcome.measured.results.iter().filter(|row| (row.role, row.arm.as_str()) == (role, arm));
        rows.filter(|row| row.verdict == Verdict::Pass).count()
    };
    for (role, said, arm) in [
        (Role::Teacher, "builtin/explorer without help", "none"),
        (Role::Student, "builtin/novice without help", "none"),
        (Role::Student, "builtin/novice with this book", "pull"),
    ] {
        let (other, own) = (passed(role, &format!("reworded:{arm}")), passed(role, arm));
        let part = format!("{said} passed {other} of 4 ({own} in the suite’s words)");
        assert!(sentence.contains(&part), "{part:?} is not in {sentence:?}");
    }
    assert!(passed(Role::Teacher, "reworded:none") < passed(Role::Teacher, "none"), "{sentence}");
    assert!(
        outcome.report.comparisons.iter().all(|one| !one.name.contains("reworded")),
        "they prove nothing"
    );
    assert_eq!(outcome.report.gap_closed.len(), 1, "the gap is measured in the suite's words");
    let stored = RunFolder::open(&outcome.measured.folder).expect("opens");
    let hashed = |arm: &&ArmPlan| arm.wordings_hash.is_some();
    let arms: Vec<&str> = stored.plan().arms.iter().filter(hashed).map(|arm| arm.arm.as_str()).collect();
    assert_eq!(arms, ["reworded:none", "reworded:pull"]);
}

#[tokio::test]
async fn a_suppressed_skill_is_hidden_from_one_program_and_the_trace_says_so() {
    let (first, _) = copied().await;
    let book = Snapshot::open(&first.path().join("skillbook"), At::Now).expect("opens");
    let skill =
        book.skills().map(|skill| skill.id.clone()).find(|id| id.domain() == "library").expect("a skill");
    let suppress: HiddenSkills =
        [HiddenSkill { skill: skill.clone(), program: "library".into() }].into_iter().collect();
    let folder = TempDir::new().expect("a folder");
    let wanted = Experiment { suppress, ..experiment(BookSource::Given(book.clone())) };
    let outcome = work(&wanted, folder.path(), None).await.expect("works");
    let hidden = |row: &TrialRow| -> Vec<SkillId> {
        let trace = outcome.measured.folder.join(&row.trace).join("events.jsonl");
        let events = Trace::read(&trace).expect("a trace").events.into_iter();
        let skills = events.filter_map(|event| match event.kind {
            EventKind::Skill(skill) if skill.happening == SkillEventKind::Suppressed => skill.skill,
            _ => None,
        });
        skills.collect()
    };
    let pull = outcome.measured.results.iter().filter(|row| row.role == Role::Student && row.arm == "pull");
    let (mut there, mut elsewhere) = (0, 0);
    for row in pull {
        let of_library = row.task.as_str().starts_with("renew") || row.task.as_str().starts_with("mend");
        let expected = if of_library { vec![skill.clone()] } else { Vec::new() };
        assert_eq!(hidden(row), expected, "{}", row.task);
        assert!(!of_library || !row.skills_viewed.contains(&skill), "{} saw it", row.task);
        (there, elsewhere) = (there + usize::from(of_library), elsewhere + usize::from(!of_library));
    }
    assert!(there > 0 && elsewhere > 0, "{there} {elsewhere}");
    let none = outcome.measured.results.iter().find(|row| row.arm == "none").expect("a row");
    assert!(hidden(none).is_empty(), "an arm without a book hides nothing");
    let told = format!("hidden from the tasks of a program, as skill@program: {skill}@library");
    assert!(outcome.report.notes.contains(&told), "{:?}", outcome.report.notes);
    // Without that line the same folder holds another experiment.
    let open =
        work(&experiment(BookSource::Given(book)), folder.path(), None).await.err().expect("is refused");
    assert!(open.to_string().contains("suppress differ"), "{open}");
}

#[tokio::test]
async fn learning_is_done_again_in_another_order() {
    let folder = TempDir::new().expect("a folder");
    let wanted = Experiment { replicates: 2, ..experiment(learned()) };
    let (_, alone) = finished().await;
    let first = alone.report.totals.attempts as usize;
    let stopped = work(&wanted, folder.path(), Some(first + 3 * TRAIN.len() + 1)).await;
    assert!(matches!(stopped, Err(ExperimentError::Stopped)), "stopped while the second book is measured");
    let half = report(folder.path()).expect("a report").replicates.expect("of both");
    assert_eq!(half.finding, Finding::NoVerdict, "{}", half.sentence);
    let rows = finished_rows(folder.path());
    let (all, left) = (forecast_of(&wanted, &[]), forecast_of(&wanted, &rows));
    assert_eq!(all - left, rows.len(), "what is finished is not counted again");
    assert!(
        all > forecast_of(&experiment(learned()), &[]) + 3 * TRAIN.len(),
        "the second book is counted: {all}"
    );

    let outcome = work(&wanted, folder.path(), None).await.expect("goes on");
    let several = outcome.report.replicates.as_ref().expect("both books");
    assert_eq!((several.books.len(), several.finding), (2, Finding::TooFew), "{several:#?}");
    let second = folder.path().join("replicate-2");
    let of_second = report(&second).expect("it is an experiment by itself");
    // Only the arms that use the new book are measured with it; the others are measured once.
    let arms: Vec<&str> = of_second.arms.iter().map(|arm| arm.key.arm.as_str()).collect();
    assert_eq!(arms, ["placebo-inert", "pull"]);
    let lessons = |report: &Report| -> Vec<(TaskId, u32)> {
        let train = report.trials.iter().filter(|line| !line.measured && line.key.role == Role::Teacher);
        train.map(|line| (line.task.clone(), line.seed)).collect()
    };
    let (one, other) = (lessons(&outcome.report), lessons(&of_second));
    assert!(one.len() == other.len() && other.iter().all(|(_, seed)| *seed >= 3), "{one:?} {other:?}");
    assert!(folder.path().join("replicate-2/report.html").is_file());
    // Another order gives another book. The comparison uses the templates on which both were measured.
    let shared = several.books.iter().filter_map(|book| book.difference).count();
    assert!(shared == 2 && several.templates > 0 && several.difference.is_some(), "{several:#?}");
    let before = page_and_numbers(folder.path());
    let again = work(&wanted, folder.path(), None).await.expect("it was finished");
    assert_eq!(page_and_numbers(folder.path()), before);
    assert_eq!(again.void(), 0);

    make_last_void(&second.join("measure"), wanted.attempts);
    let void = work(&wanted, folder.path(), None).await.expect("it was finished");
    assert_eq!(
        (void.measured.count(Verdict::Void), void.void()),
        (0, 0),
        "what the second book lacks is measured again"
    );
}

/// Replaces the last result of a run below a folder with the maximum number of void attempts.
fn make_last_void(runs: &Path, attempts: u32) {
    let mut runs = fs::read_dir(runs).expect("runs").flatten().map(|entry| entry.path().join("trials.jsonl"));
    let path = runs.find(|path| path.is_file()).expect("a run");
    let text = fs::read_to_string(&path).expect("rows");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut row: Value = serde_json::from_str(&lines.pop().expect("a row")).expect("JSON");
    (row["verdict"], row["void_cause"], row["stop_reason"]) =
        (json!("void"), json!("world_lost"), Value::Null);
    for attempt in 1..=attempts {
        row["attempt"] = json!(attempt);
        lines.push(row.to_string());
    }
    fs::write(&path, lines.join("\n") + "\n").expect("written");
}

/// Returns the number of remaining trials of an experiment.
pub(crate) fn forecast_of(experiment: &Experiment, done: &[TrialRow]) -> usize {
    let asked = experiment_config::PowerQuestion { effect: None, base: 0.4 };
    forecast(experiment, asked, &LearningModels::default(), &|_| Pricing::free(), done)
        .expect("a forecast")
        .trials
}

#[tokio::test]
async fn rows_by_themselves_have_a_report() {
    let (_, outcome) = finished().await;
    let folder = TempDir::new().expect("a folder");
    let lines: Vec<String> =
        outcome.measured.results.iter().map(|row| serde_json::to_string(row).expect("a line")).collect();
    let file = folder.path().join("theirs.jsonl");
    fs::write(&file, lines.join("\n") + "\n").expect("writes");
    let of_file = runs(std::slice::from_ref(&file), folder.path(), MixedVersions::Refuse).expect("a report");
    let difference = |report: &Report| report.comparisons.first().and_then(|one| one.result.difference);
    assert!(difference(&of_file).is_some());
    assert_eq!(difference(&of_file), difference(&outcome.report));
    fs::rename(&file, folder.path().join("trials.jsonl")).expect("moves");
    let of_folder =
        runs(&[folder.path().to_owned()], folder.path(), MixedVersions::Refuse).expect("a report");
    assert_eq!(of_folder, of_file);
    fs::write(folder.path().join("trials.jsonl"), "\n").expect("writes");
    let empty = runs(&[folder.path().to_owned()], folder.path(), MixedVersions::Refuse)
        .expect_err("nothing to report");
    assert!(matches!(empty, ExperimentError::NoRows(_)), "{empty}");
}

#[tokio::test]
async fn a_given_book_is_measured_without_learning() {
    let (first, _) = copied().await;
    let book = || {
        let book = Snapshot::open(&first.path().join("skillbook"), At::Now).expect("opens");
        BookSource::Given(book)
    };
    let folder = TempDir::new().expect("a folder");
    let given = experiment(book());
    let plan = plan_measurement(&given, Timestamp::UNIX_EPOCH)
        .expect("an outline")
        .expect("a given book has a plan");
    let outcome = work(&given, folder.path(), None).await.expect("works");
    assert_eq!(outcome.measured.planned, plan.trials.len());
    assert!(outcome.report.learning.is_none() && !folder.path().join("learning").exists());
    let pull = outcome.report.arms.iter().find(|arm| arm.key.arm == "pull").expect("the arm");
    assert_eq!((pull.tally.passed, pull.tally.trials), (3, 4));
    // The frozen book is stored beside the run and equals the given one.
    let kept = Snapshot::open(&outcome.measured.folder.join("book"), At::Now).expect("opens");
    let BookSource::Given(book) = book() else { panic!("given") };
    assert_eq!(kept.content_hash(), book.content_hash());

    let unsplit = Experiment { lock: None, ..experiment(BookSource::Given(book)) };
    let folder = TempDir::new().expect("a folder");
    let outcome = work(&unsplit, folder.path(), None).await.expect("works");
    let none = outcome.report.arms.iter().find(|arm| arm.key.arm == "none").expect("the arm");
    assert_eq!((outcome.report.measured_split, none.tally.trials), (None, 7));
    let unlearned = Experiment { lock: None, ..experiment(learned()) };
    let folder = TempDir::new().expect("a folder");
    assert!(matches!(work(&unlearned, folder.path(), None).await, Err(ExperimentError::NoSplit)));
}

#[tokio::test]
async fn an_empty_book_is_not_measured_unasked_and_is_the_first_note() {
    let folder = TempDir::new().expect("a folder");
    let silent = BookSource::Learned(LearningPlan {
        teacher: "builtin/explorer".into(),
        learner: Arc::new(apprentice_tasks::solution::FixedModel::noop()),
        cycle: CycleOptions { batch: 2, ..CycleOptions::default() },
    });
    let stopped = work(&experiment(silent), folder.path(), None).await.map(drop);
    let Err(ExperimentError::EmptyBook { why, .. }) = &stopped else { panic!("{stopped:?}") };
    assert!(
        why.starts_with("the book is empty: learning from ") && why.contains("gave no usable review"),
        "{why}"
    );
    assert!(!folder.path().join("measure").exists(), "nothing is paid for");
    assert!(folder.path().join("report.html").is_file(), "what learning left is reported");
    let told = report(folder.path()).expect("reads");
    assert_eq!(told.notes.first(), Some(why));
}
