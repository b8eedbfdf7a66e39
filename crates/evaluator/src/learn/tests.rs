//! The learning cycle on a small in-memory app with the built-in models: a book grows from the teacher's trajectories,
//! and with it the student passes tasks that it fails alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use apprentice_harness::agent::{self, AttemptInput};
use apprentice_harness::env::scene::SceneSource;
use apprentice_learning::reflect::ReflectOptions;
use apprentice_learning::{LearnOptions, LearnerModels};
use apprentice_models::scripted::{Scripted, ScriptedReply};
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Content, EnvironmentSource as _, EventKind, EventSink as _,
    Header, ImageRule, Message, ModelError, ModelProfile, Purpose, RawContent, ReplyStop, RunId, TaskBrief,
    TaskId, Timing, Usage, Verdict,
};
use apprentice_screening::effect::EffectRule;
use apprentice_screening::leak::HeldOutIndex as _;
use apprentice_skillbook::review::{Fallback, ReflectMode};
use apprentice_skillbook::{At, Gateway, GatewayOptions, Snapshot};
use apprentice_trace::{Recorder, Redactor, Trace, blob_path};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::cycle::admit;
use super::{
    AttemptOutcome, AttemptRequest, AttemptSource, CycleContext, CycleError, CycleOptions, HeldOutTasks,
    LearningRecord, LearningRun, Phase, Roles, TraceFiles, TrainingTasks, cycle, last_attempts, learn_from,
    learning_plan, recorded_attempt, step_pictures, training_tasks, trajectory,
};
use crate::arms::guidance::ArmGuidance;
use crate::arms::{GuidanceProvider, Provenance};
use crate::run::{
    Contender, Conversations, ModelSource, PlanRequest, RunControl, RunDeps, RunFolder, RunPlan, TrialSpec,
    load_conversation, plan,
};
use crate::sample::row;
use crate::split::{LockedSuite, SplitLock};
use crate::task_apps::apps_of;
use crate::trial_identity::expected_trial_id;
use apprentice_results::arm::Arm;
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::vary;

/// An app whose commands are in submenus, under names that the task shares.
fn program(title: &str, menu: &str, submenu: &str, entries: &[&str]) -> Value {
    let entry =
        |name: &&str| json!({ "role": "menuitem", "name": name, "click": [{ "set": { "done": name } }] });
    json!({
        "start": "main",
        "state": { "done": null },
        "pages": { "main": { "title": title, "controls": [
            { "role": "menu", "name": "File", "items": [{ "role": "menuitem", "name": "Quit" }] },
            { "role": "menu", "name": menu, "items": [
                { "role": "menuitem", "name": submenu, "items": entries.iter().map(entry).collect::<Vec<_>>() } ] }
        ] } }
    })
}

fn task(app: &str, id: &str, instruction: &str, wanted: &str, knowledge: &str) -> Task {
    let scene = match app {
        "workshop" => program("Workshop", "Bench", "Finish", &["Sand Table", "Paint Chair", "Oil Hinges"]),
        _ => program("Garden", "Beds", "Care", &["Prune Roses", "Water Lilies", "Trim Hedges"]),
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

const TRAIN: [&str; 2] = ["table", "roses"];
const TEST: [&str; 2] = ["chair", "lilies"];

fn suite() -> Arc<Suite> {
    Arc::new(Suite {
        name: "small".into(),
        root: PathBuf::from("."),
        hash: "5uite".into(),
        tasks: vec![
            task("workshop", "table", "Sand the table.", "Sand Table", "finish"),
            task("garden", "roses", "Prune the roses.", "Prune Roses", "care"),
            task("workshop", "chair", "Paint the chair.", "Paint Chair", "finish"),
            task("garden", "lilies", "Water the lilies.", "Water Lilies", "care"),
        ],
    })
}

fn lock(suite: &Suite) -> SplitLock {
    let tasks: BTreeMap<TaskId, String> =
        suite.tasks.iter().map(|task| (task.id.clone(), task.id.to_string())).collect();
    let split = |id: &str| if TRAIN.contains(&id) { Split::Train } else { Split::Test };
    let templates = tasks.values().map(|template| (template.clone(), split(template))).collect();
    SplitLock::new(LockedSuite { name: "small", hash: "5uite", tasks: &tasks }, templates, "salt")
        .expect("a lock")
}

/// Runs attempts on in-memory scenes and stores them: the same request returns the stored result.
struct Studio {
    suite: Arc<Suite>,
    folder: TempDir,
    kept: Mutex<BTreeMap<String, AttemptOutcome>>,
}

impl Studio {
    fn new() -> Self {
        Self { suite: suite(), folder: TempDir::new().expect("a folder"), kept: Mutex::default() }
    }

    async fn run(
        &self,
        wanted: &AttemptRequest,
        book: &Snapshot,
        provenance: Option<Provenance>,
    ) -> AttemptOutcome {
        let name = format!("{:?}-{}-{}-{}", wanted.role, wanted.task, wanted.seed, wanted.arm).to_lowercase();
        let earlier = self.kept.lock().expect("unpoisoned").get(&name).cloned();
        if let Some(earlier) = earlier {
            return earlier;
        }
        let attempted = self.act(&name, wanted, book, provenance).await;
        self.kept.lock().expect("unpoisoned").insert(name, attempted.clone());
        attempted
    }

    async fn act(
        &self,
        name: &str,
        wanted: &AttemptRequest,
        book: &Snapshot,
        provenance: Option<Provenance>,
    ) -> AttemptOutcome {
        let task = self.suite.task(wanted.task.as_str()).expect("a task");
        let varied = vary(task, &self.suite.name, wanted.seed).expect("varies");
        let policy = if wanted.role == Role::Teacher { Policy::Explorer } else { Policy::Novice };
        let model = BuiltInModel::new(policy);
        let provider = GuidanceProvider::new(self.suite.clone(), book.clone(), provenance);
        let provided = provider.arm_guidance(wanted.arm, &wanted.task, wanted.seed).expect("guidance");
        let clock = Arc::new(VirtualClock::default());
        let folder = self.folder.path().join(name);
        let blobs = folder.join("blobs");
        let redactor = Arc::new(Redactor::new([]).expect("builds"));
        let mut recorder = Recorder::create(&folder, &blobs, clock.clone(), redactor).expect("records");
        let instruction = varied.task.instruction.clone();
        let brief = TaskBrief {
            id: task.id.clone(),
            instruction,
            limits: task.apprentice.clone().expect("ours").limits,
        };
        let header = Header {
            version: 1,
            program: "test".into(),
            brief: brief.clone(),
            world: varied.world.clone(),
            model: model.profile().clone(),
            seed: None,
            prompt_hash: agent::prompt_hash(),
        };
        recorder.emit(None, EventKind::Started(Box::new(header.clone()))).expect("records");
        let mut world = SceneSource::default().open(&varied.world).await.expect("opens");
        let attempt = AttemptInput {
            brief: &brief,
            model: &model,
            guidance: &provided.guidance,
            tools: &[],
            clock: clock.as_ref(),
            header,
            seed: None,
            cancel: CancellationToken::new(),
        };
        let ended = agent::run(attempt, world.environment.as_mut(), &mut recorder).await;
        recorder.sync().expect("syncs");
        let state: Value =
            serde_json::from_slice(&world.machine.read("/state.json").await.expect("reads")).expect("JSON");
        let check = task.evaluator.expected.as_ref().and_then(|rule| rule.iter().next()).expect("a rule");
        let passed = state["values"]["done"] == check["rules"]["expect"][0]["ref"];
        let verdict = if passed { Verdict::Pass } else { Verdict::Fail };
        let row = TrialRow {
            run: RunId::new("run"),
            role: wanted.role,
            skills_viewed: ended.skills_viewed,
            world_steps: ended.spent.world_steps,
            ..row(wanted.arm.as_str(), task.id.as_str(), task.id.as_str(), wanted.seed, verdict)
        };
        let suite = self.suite.name.clone();
        let row = TrialRow { trial: expected_trial_id(&row, &suite), suite, ..row };
        let trace = Trace::read(&folder.join("events.jsonl")).expect("reads");
        let text_of = |hash: &_| std::fs::read_to_string(blob_path(&blobs, hash, "txt")).ok();
        let seen = trajectory(&trace, &row, apps_of(task), &text_of).expect("a trajectory");
        AttemptOutcome { row, trajectory: Some(seen), conversation: None, files: None }
    }

    fn rows(&self) -> Vec<TrialRow> {
        self.kept.lock().expect("unpoisoned").values().map(|attempted| attempted.row.clone()).collect()
    }
}

impl AttemptSource for Studio {
    fn attempt<'a>(
        &'a self,
        wanted: &'a AttemptRequest,
        book: &'a Snapshot,
    ) -> BoxFuture<'a, Result<AttemptOutcome, String>> {
        Box::pin(async move { Ok(self.run(wanted, book, None).await) })
    }
}

/// How commands open the book of a rule-based writer, whose sentences no model reads.
fn as_its_commands() -> GatewayOptions {
    GatewayOptions { effects: EffectRule::RuleBased, ..GatewayOptions::at(Timestamp::UNIX_EPOCH) }
}

async fn learn(studio: &Studio, book: &TempDir, batch: usize) -> Result<Vec<LearningRecord>, CycleError> {
    let teacher: Arc<dyn ChatModel> = Arc::new(BuiltInModel::new(Policy::Explorer));
    let learners = LearnerModels { reflector: teacher.clone(), manager: teacher };
    let lock = lock(&studio.suite);
    let options =
        GatewayOptions { leaks: Arc::new(HeldOutTasks::build(&lock, &studio.suite)), ..as_its_commands() };
    let (mut gateway, _) = Gateway::open(book.path(), options).expect("opens");
    let tasks = TRAIN.map(TaskId::new);
    let context = CycleContext { lock: &lock, tasks: &tasks, attempts: studio, learners: &learners };
    let options = CycleOptions { batch, learn: LearnOptions::default(), ..CycleOptions::default() };
    cycle(&mut gateway, &context, &options, &mut |_| {}).await
}

async fn student(studio: &Studio, arm: Arm, book: &Snapshot, provenance: Option<Provenance>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for task in TEST {
        let wanted = AttemptRequest { role: Role::Student, task: TaskId::new(task), seed: 0, arm };
        verdicts.push(studio.run(&wanted, book, provenance.clone()).await.row.verdict);
    }
    verdicts
}

#[tokio::test]
async fn a_book_grows_and_carries_over_to_tasks_it_never_saw() {
    let (studio, folder) = (Studio::new(), TempDir::new().expect("a folder"));
    let worked = learn(&studio, &folder, 1).await.expect("learns");
    let phases: Vec<(Phase, &str)> = worked.iter().map(|one| (one.phase, one.arm.as_str())).collect();
    assert_eq!(phases[0], (Phase::Teach { epoch: 0 }, "none"));
    assert_eq!(phases[1], (Phase::Teach { epoch: 0 }, "pull"));
    assert_eq!(phases[5], (Phase::Rehearse, "pull"));
    assert!(worked[..4].iter().all(|one| one.verdict == Some(Verdict::Pass)), "{worked:#?}");
    let book = Snapshot::open(folder.path(), At::Now).expect("opens").clean().expect("nothing pending");
    assert_eq!(book.domains(), ["garden", "workshop"], "{worked:#?}");
    let rehearsed = book.skills().any(|skill| skill.counts(Some("builtin/novice")).times_requested > 0);
    assert!(rehearsed, "the student's own counters fill: {:#?}", book.skills().collect::<Vec<_>>());

    let provenance = Provenance::trace(&book, &studio.rows(), &studio.suite).expect("every skill is traced");
    let alone = student(&studio, Arm::None, &book, None).await;
    assert_eq!(alone, [Verdict::Fail; 2], "alone the student does not find it");
    let with = student(&studio, Arm::Pull, &book, Some(provenance.clone())).await;
    assert_eq!(
        with,
        [Verdict::Pass; 2],
        "{:#?}",
        book.skills().map(apprentice_skillbook::Skill::view).collect::<Vec<_>>()
    );
    let wrong = student(&studio, Arm::PlaceboWrong, &book, Some(provenance.clone())).await;
    assert_eq!(wrong, [Verdict::Fail; 2], "relabelled bodies help nobody");
    let tools = student(&studio, Arm::ToolsOnly, &book, Some(provenance.clone())).await;
    assert_eq!(tools, [Verdict::Fail; 2], "tools alone help nobody");
    let provider = GuidanceProvider::new(studio.suite.clone(), book.clone(), Some(provenance));
    let inert = provider.arm_guidance(Arm::PlaceboInert, &TaskId::new("chair"), 0);
    assert!(inert.is_err(), "the only skill of the program bears on the task");
}

#[tokio::test]
async fn learning_again_or_going_on_after_a_break_gives_the_same_book() {
    let (studio, folder) = (Studio::new(), TempDir::new().expect("a folder"));
    learn(&studio, &folder, 2).await.expect("learns");
    let log = || std::fs::read(folder.path().join(".meta/ops.jsonl")).expect("a log");
    let whole = log();
    let again = learn(&studio, &folder, 2).await.expect("learns");
    assert!(again.iter().all(|one| one.known_before));
    assert_eq!(log(), whole);
    // The log may be cut off after any whole operation.
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for end in ends.iter().step_by(3) {
        let cut = TempDir::new().expect("a folder");
        std::fs::create_dir_all(cut.path().join(".meta")).expect("a folder");
        std::fs::write(cut.path().join(".meta/ops.jsonl"), &whole[..*end]).expect("writes");
        let before = Snapshot::open(cut.path(), At::Operation(apprentice_skillbook::OpId(u64::MAX)));
        apprentice_skillbook::freeze(&before.expect("opens"), cut.path()).expect("writes the pages");
        learn(&studio, &cut, 2).await.expect("goes on");
        let log = std::fs::read(cut.path().join(".meta/ops.jsonl")).expect("a log");
        assert_eq!(String::from_utf8_lossy(&log), String::from_utf8_lossy(&whole), "cut off at byte {end}");
    }
}

/// Answers every question with the same words, and keeps the requests.
struct Parrot {
    profile: ModelProfile,
    words: String,
    asked: Mutex<Vec<ChatRequest>>,
}

impl Parrot {
    fn new(words: &str, images: ImageRule) -> Self {
        let profile = ModelProfile { images, ..BuiltInModel::new(Policy::Explorer).profile().clone() };
        Self { profile, words: words.to_owned(), asked: Mutex::default() }
    }
}

impl ChatModel for Parrot {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.asked.lock().expect("unpoisoned").push(request.clone());
        let reply = ChatReply {
            raw: RawContent::default(),
            say: vec![self.words.clone()],
            thoughts: Vec::new(),
            calls: Vec::new(),
            stop: ReplyStop::EndTurn,
            usage: Usage::default(),
            timing: Timing::default(),
            cost_usd: None,
            estimated: false,
            adapted: Vec::new(),
            provider_model: None,
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

#[tokio::test]
async fn an_attempt_in_which_a_person_acted_is_not_learned_from() {
    let studio = Studio::new();
    let lock = lock(&studio.suite);
    let wanted = AttemptRequest { role: Role::Teacher, task: TaskId::new("table"), seed: 0, arm: Arm::None };
    let attempted = studio.run(&wanted, &Snapshot::empty(), None).await;
    assert!(admit(&lock, attempted.clone()).expect("in train").is_some());
    let row = TrialRow { person_acts: 1, ..attempted.row.clone() };
    assert!(admit(&lock, AttemptOutcome { row, ..attempted }).expect("in train").is_none());
}

#[tokio::test]
async fn an_unread_attempt_is_told_kept_and_taken_up_again_with_its_pictures() {
    let (studio, folder) = (Studio::new(), TempDir::new().expect("a folder"));
    let lock = lock(&studio.suite);
    let (mut gateway, _) = Gateway::open(folder.path(), as_its_commands()).expect("opens");
    let wanted = AttemptRequest { role: Role::Teacher, task: TaskId::new("table"), seed: 0, arm: Arm::Pull };
    let attempted = studio.run(&wanted, &gateway.snapshot(), None).await;
    let name = "teacher-table-0-pull";
    let run = studio.folder.path().join(name);
    let files = TraceFiles { run: run.clone(), attempt: PathBuf::new() };
    let attempted = AttemptOutcome { files: Some(files), ..attempted };
    let learners = |model: &Arc<Parrot>| LearnerModels { reflector: model.clone(), manager: model.clone() };
    let options = LearnOptions::default();

    let silly = Arc::new(Parrot::new("I would rather not.", ImageRule::None));
    let log = || std::fs::read(folder.path().join(".meta/ops.jsonl")).unwrap_or_default();
    let worked = learn_from(&mut gateway, &lock, &learners(&silly), attempted.clone(), &options).await;
    let worked = worked.expect("goes on");
    let unread = worked.unread.expect("it was not read");
    assert!(unread.why.contains("no usable answer in 3 tries"), "{}", unread.why);
    assert!(!worked.known_before && worked.reviewed.is_none());
    let kept = std::fs::read_to_string(unread.answers.expect("a file")).expect("reads");
    assert_eq!(kept.matches("I would rather not.").count(), 3, "{kept}");
    assert!(run.join("learning").is_dir());
    let text = String::from_utf8(log()).expect("text");
    assert!(!text.contains("trajectory_learned"), "{text}");
    let asked = silly.asked.lock().expect("unpoisoned").clone();
    assert!(
        !format!("{:?}", asked[0].messages[0]).contains("Image"),
        "a text-only reviewer gets the outline"
    );

    let seeing = Arc::new(Parrot::new("{}", ImageRule::AsIs));
    let worked = learn_from(&mut gateway, &lock, &learners(&seeing), attempted.clone(), &options).await;
    let worked = worked.expect("learns");
    assert!(worked.unread.is_none() && worked.reviewed == Some(ReflectMode::Fresh), "{worked:?}");
    let asked = seeing.asked.lock().expect("unpoisoned").clone();
    let Message::User { content } = &asked[0].messages[0] else { panic!("{asked:?}") };
    let images: Vec<_> = content
        .iter()
        .filter_map(|part| match part {
            Content::Image { image } => Some(image),
            Content::Text { .. } => None,
        })
        .collect();
    assert!(images.len() > 2 && images.len() <= 24, "{}", images.len());
    assert!(images.iter().all(|image| image.size.width <= 1024 && !image.bytes.0.is_empty()));
    assert!(format!("{:?}", content[1]).contains("Picture before s1: the whole screen"), "{:?}", content[1]);
    let known = learn_from(&mut gateway, &lock, &learners(&silly), attempted, &options).await;
    assert!(known.expect("knows").known_before);
    let two = step_pictures(&TraceFiles { run, attempt: PathBuf::new() }, 2).expect("pictures");
    assert_eq!(two.len(), 2);
}

#[tokio::test]
async fn a_trajectory_tells_answers_of_tools_the_end_and_places() {
    let (studio, folder) = (Studio::new(), TempDir::new().expect("a folder"));
    learn(&studio, &folder, 1).await.expect("learns");
    let book = Snapshot::open(folder.path(), At::Now).expect("opens").clean().expect("nothing pending");
    let provenance = Provenance::trace(&book, &studio.rows(), &studio.suite);
    let wanted = AttemptRequest { role: Role::Student, task: TaskId::new("chair"), seed: 0, arm: Arm::Pull };
    let attempted = studio.run(&wanted, &book, provenance).await;
    let (seen, _) = attempted.trajectory.expect("a trajectory");
    assert!(seen.steps.iter().any(|step| step.finish.as_deref() == Some("done")), "{:#?}", seen.steps);
    let answers: Vec<_> = seen.steps.iter().flat_map(|step| &step.tools).collect();
    assert!(!answers.is_empty() && answers.iter().all(|one| !one.tool.is_empty()), "{answers:?}");
    let skill = seen.skills.first().expect("a skill was read");
    let mark = format!("[text of {}]", skill.id);
    assert!(answers.iter().any(|one| one.answer.contains(&mark)), "{answers:#?}");
    assert!(!answers.iter().any(|one| one.answer.contains(&skill.text)), "{answers:#?}");
}

/// The built-in models by name, or none at all.
struct Models(bool);

impl ModelSource for Models {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        match trial.model.as_str() {
            "builtin/explorer" if self.0 => Ok(Arc::new(BuiltInModel::new(Policy::Explorer))),
            "builtin/novice" if self.0 => Ok(Arc::new(BuiltInModel::new(Policy::Novice))),
            name => Err(format!("{name} is not to be asked")),
        }
    }
}

fn deps(models: Models) -> RunDeps {
    RunDeps {
        models: Arc::new(models),
        worlds: Arc::new(SceneSource::default()),
        clock: Arc::new(VirtualClock::default()),
        guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
        redactor: Arc::new(Redactor::new([]).expect("builds")),
        reading: apprentice_tasks::suite::SuiteOptions::default(),
        cpu: 2,
    }
}

async fn learn_in(
    folder: RunFolder,
    suite: &Arc<Suite>,
    models: Models,
    book: &TempDir,
) -> Vec<LearningRecord> {
    let teacher: Arc<dyn ChatModel> = Arc::new(BuiltInModel::new(Policy::Explorer));
    learn_as((folder, suite, models), teacher, &CycleOptions::default(), book).await
}

async fn learn_as(
    (folder, suite, models): (RunFolder, &Arc<Suite>, Models),
    teacher: Arc<dyn ChatModel>,
    cycling: &CycleOptions,
    book: &TempDir,
) -> Vec<LearningRecord> {
    let lock = lock(suite);
    let (progress, _heard) = tokio::sync::mpsc::unbounded_channel();
    let run =
        LearningRun::new(folder, suite, deps(models), RunControl::new(progress, CancellationToken::new()));
    let learners = LearnerModels { reflector: teacher.clone(), manager: teacher };
    let options = as_its_commands();
    let (mut gateway, _) = Gateway::open(book.path(), options).expect("opens");
    let tasks = training_tasks(suite, &lock);
    let context = CycleContext { lock: &lock, tasks: &tasks, attempts: &run, learners: &learners };
    cycle(&mut gateway, &context, cycling, &mut |_| {}).await.expect("learns")
}

fn planned(suite: &Suite, lock: &SplitLock, cycling: &CycleOptions) -> RunPlan {
    let contender = Contender {
        role: Role::Teacher,
        model: "builtin/explorer".into(),
        arm: "pull".into(),
        tasks: None,
        seeds: None,
    };
    let request = PlanRequest {
        suite,
        split: Some(lock),
        tasks: None,
        contenders: vec![contender],
        seeds: 1,
        limits: None,
        attempts: 3,
        order_seed: 1,
        conversations: Conversations::Dropped,
        command: vec!["learn".into()],
        program: "0.0.0".into(),
        books: Vec::new(),
    };
    let planned = plan(&request, Timestamp::UNIX_EPOCH).expect("a plan");
    let roles = Roles { teacher: "builtin/explorer".into(), student: "builtin/novice".into() };
    let tasks = training_tasks(suite, lock);
    learning_plan(planned, TrainingTasks { suite, lock, tasks: &tasks }, &roles, cycling)
}

#[tokio::test]
async fn the_cycle_runs_through_a_run_folder_and_finds_its_attempts_again() {
    let (root, book) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let suite = suite();
    let lock = lock(&suite);
    let planned = planned(&suite, &lock, &CycleOptions::default());
    assert_eq!(planned.trials.len(), 6);
    let folder = RunFolder::create(root.path(), planned).expect("a run");
    let path = folder.path().to_owned();
    let worked = learn_in(folder, &suite, Models(true), &book).await;
    assert!(worked.iter().all(|one| one.verdict == Some(Verdict::Pass)), "{worked:#?}");
    let log = std::fs::read(book.path().join(".meta/ops.jsonl")).expect("a log");
    let again = learn_in(RunFolder::open(&path).expect("opens"), &suite, Models(false), &book).await;
    assert!(again.iter().all(|one| one.known_before), "{again:#?}");
    assert_eq!(std::fs::read(book.path().join(".meta/ops.jsonl")).expect("a log"), log);

    // The same run, learned from later and on its own, gives a book with the same knowledge.
    let (folder, late) = (RunFolder::open(&path).expect("opens"), TempDir::new().expect("a folder"));
    let (mut gateway, _) = Gateway::open(late.path(), as_its_commands()).expect("opens");
    let teacher: Arc<dyn ChatModel> = Arc::new(BuiltInModel::new(Policy::Explorer));
    let learners = LearnerModels { reflector: teacher.clone(), manager: teacher };
    for row in last_attempts(&folder) {
        let attempted = recorded_attempt(&path, row, &suite).expect("reads");
        learn_from(&mut gateway, &lock, &learners, attempted, &LearnOptions::default())
            .await
            .expect("learns");
    }
    let online = Snapshot::open(book.path(), At::Now).expect("opens");
    assert_eq!(gateway.snapshot().content_hash(), online.content_hash());
}

/// The explorer, recording the requests made in the conversations of its own attempts, which a script answers.
struct Remembering(BuiltInModel, Mutex<Vec<ChatRequest>>);

impl ChatModel for Remembering {
    fn profile(&self) -> &ModelProfile {
        self.0.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        if request.purpose == Purpose::Reflect && request.world.is_some() {
            self.1.lock().expect("unpoisoned").push(request.clone());
            // The rules read an attempt from its record alone; in a conversation a script says that it taught nothing.
            let nothing = json!({ "skill_reviews": [], "new_learnings": [] }).to_string();
            let reply = ScriptedReply { say: Some(nothing), ..ScriptedReply::default() };
            let script = Scripted::new([reply]).expect("a script").in_order();
            return Box::pin(async move { script.reply(request).await });
        }
        self.0.reply(request)
    }
}

#[tokio::test]
async fn whoever_acted_is_asked_in_the_conversation_that_was_kept_and_nobody_else() {
    let (root, book) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let suite = suite();
    let lock = lock(&suite);
    let reflect = ReflectOptions { mode: ReflectMode::InContext, ..ReflectOptions::default() };
    let learn = LearnOptions { reflect, ..LearnOptions::default() };
    let cycling = CycleOptions { learn, ..CycleOptions::default() };
    let folder = RunFolder::create(root.path(), planned(&suite, &lock, &cycling)).expect("a run");
    let path = folder.path().to_owned();
    let teacher = Arc::new(Remembering(BuiltInModel::new(Policy::Explorer), Mutex::default()));
    let worked = learn_as((folder, &suite, Models(true)), teacher.clone(), &cycling, &book).await;
    for one in &worked {
        let expected = match one.phase {
            Phase::Teach { .. } => (Some(ReflectMode::InContext), None),
            Phase::Rehearse | Phase::Recorded | Phase::Own | Phase::Foreign => {
                let acted = "builtin/novice".to_owned();
                (Some(ReflectMode::Fresh), Some(Fallback::AnotherModel { acted }))
            }
        };
        assert_eq!((one.reviewed, one.fallback.clone()), expected, "{one:#?}");
    }
    let asked = std::mem::take(&mut *teacher.1.lock().expect("unpoisoned"));
    assert_eq!(asked.len(), 4, "two epochs over two tasks");
    let folder = RunFolder::open(&path).expect("opens");
    for (request, row) in asked.iter().zip(last_attempts(&folder)) {
        let own = load_conversation(&path.join(&row.trace), &path.join("blobs")).expect("was kept").request;
        assert_eq!((&request.system, &request.tools, request.world), (&own.system, &own.tools, own.world));
        // The conversation is unchanged; the question follows the last reply.
        let last = own.messages.len() - 1;
        assert_eq!(request.messages[..last], own.messages[..last]);
        let replies = own.messages.iter().filter(|one| matches!(one, Message::Assistant { .. })).count();
        assert_eq!(u32::try_from(replies).expect("few"), row.turns, "every turn of the attempt");
        let said = format!("{:?}", request.messages);
        assert!(said.contains("reflect.outcome.v1") && !said.contains("check_json"));
    }
}

#[tokio::test]
async fn a_test_task_is_never_learned_from() {
    let (studio, folder) = (Studio::new(), TempDir::new().expect("a folder"));
    let lock = lock(&studio.suite);
    let learner: Arc<dyn ChatModel> = Arc::new(BuiltInModel::new(Policy::Explorer));
    let learners = LearnerModels { reflector: learner.clone(), manager: learner };
    let (mut gateway, _) = Gateway::open(folder.path(), as_its_commands()).expect("opens");
    let tasks = [TaskId::new("chair")];
    let context = CycleContext { lock: &lock, tasks: &tasks, attempts: &studio, learners: &learners };
    let refused = cycle(&mut gateway, &context, &CycleOptions::default(), &mut |_| {}).await;
    assert!(matches!(refused, Err(CycleError::Split(_))), "{refused:?}");
    assert_eq!(gateway.state().last.0, 0);
}

#[tokio::test]
async fn a_trace_becomes_words() {
    let studio = Studio::new();
    let wanted = AttemptRequest { role: Role::Teacher, task: TaskId::new("table"), seed: 0, arm: Arm::None };
    let attempted = studio.run(&wanted, &Snapshot::empty(), None).await;
    let (trajectory, _) = attempted.trajectory.expect("a trajectory");
    assert_eq!(
        (trajectory.apps.as_slice(), trajectory.goal.as_str()),
        (&["workshop".to_owned()][..], "Sand the table.")
    );
    let done: Vec<(&str, Option<&str>)> = trajectory
        .steps
        .iter()
        .flat_map(|step| &step.actions)
        .map(|action| (action.action.as_str(), action.name.as_deref()))
        .collect();
    assert!(done.contains(&("click", Some("Sand Table"))), "{done:?}");
    let text = serde_json::to_string(&trajectory).expect("writes");
    assert!(text.contains(r#"+ menuitem \"Finish\""#), "what opened is seen: {text}");
    assert!(!text.contains("check_json") && !text.contains("#n"), "no check and no reference: {text}");
}

#[test]
fn only_what_sealed_tasks_alone_say_is_a_leak() {
    let long = "Rename the quarterly budget sheet so that everybody in accounting finds it at once";
    let mut suite = Suite::clone(&suite());
    suite.tasks.push(task("workshop", "secret", &format!("{long}; it is kept as ledger-2031.ods"), "x", "k"));
    let mut tasks: BTreeMap<TaskId, String> = BTreeMap::new();
    for task in &suite.tasks {
        tasks.insert(task.id.clone(), task.id.to_string());
    }
    let split = |id: &str| if TRAIN.contains(&id) { Split::Train } else { Split::Test };
    let templates = tasks.values().map(|template| (template.clone(), split(template))).collect();
    let lock = SplitLock::new(LockedSuite { name: "small", hash: "5uite", tasks: &tasks }, templates, "salt");
    let index = HeldOutTasks::build(&lock.expect("a lock"), &suite);
    assert!(index.find("To rename the quarterly BUDGET sheet, so that everybody in accounting").is_some());
    assert!(index.find("Open Ledger-2031.ods first.").is_some());
    assert_eq!(index.find("1. Choose Bench > Finish.\n2. Pick what the task asks for."), None);
    assert_eq!(index.find("Sand the table."), None, "a training task says it too");
}
