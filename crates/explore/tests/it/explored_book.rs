//! A book that was explored alone, with no task of a person, helps the weak policy on pages that it never saw. The
//! rule-based policies act, review and decide; only the proposals come from a script.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::learn::LockedSuites;
use apprentice_evaluator::run::{
    Contender, Conversations, ModelSource, PlanRequest, RunControl, RunDeps, TrialSpec, start,
};
use apprentice_explore::{
    EXPLORE_SCHEMA, Episode, ExploreFolder, ExploreLimits, ExplorePlan, Explorer, Outcome, Start,
};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::{Scripted, ScriptedReply};
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile, TaskId, Verdict, VirtualClock,
};
use apprentice_runs::row::Role;
use apprentice_screening::effect::EffectRule;
use apprentice_skillbook::{Gateway, GatewayOptions, Snapshot};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_trace::Redactor;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A drawer of commands, behind a menu of its own: a verb for each of four things. The first three are practised; the held-out
/// task asks for the last one, which no proposal names.
struct Drawer {
    menu: &'static str,
    name: &'static str,
    verb: &'static str,
    things: [&'static str; 4],
}

impl Drawer {
    const fn new(
        menu: &'static str,
        name: &'static str,
        verb: &'static str,
        things: [&'static str; 4],
    ) -> Self {
        Self { menu, name, verb, things }
    }

    fn practised(&self) -> &[&'static str] {
        &self.things[..3]
    }

    fn held_out(&self) -> &'static str {
        self.things[3]
    }
}

const PROGRAMS: [(&str, [Drawer; 2]); 2] = [
    (
        "pottery",
        [
            Drawer::new("Wheel", "Shapes", "Throw", ["Bowl", "Plate", "Mug", "Jug"]),
            Drawer::new("Kiln", "Firing", "Glaze", ["Tile", "Vase", "Dish", "Urn"]),
        ],
    ),
    (
        "museum",
        [
            Drawer::new("Archive", "Loans", "Lend", ["Atlas", "Diary", "Novel", "Folio"]),
            Drawer::new("Studio", "Repairs", "Mend", ["Clock", "Chair", "Globe", "Frame"]),
        ],
    ),
];

/// A program whose entries stand two menus deep; each shows that it was chosen, and sets the state that checks read.
fn program(title: &str, drawers: &[Drawer; 2]) -> Value {
    let mut pages = json!({});
    let mut menus = Vec::new();
    for Drawer { menu, name: drawer, verb, things } in drawers {
        let mut entries = Vec::new();
        for thing in things {
            let (name, page) = (format!("{verb} {thing}"), format!("{verb}-{thing}"));
            let shown = json!({ "role": "button", "name": format!("Finished: {name}") });
            pages[&page] = json!({ "title": title, "controls": [shown] });
            entries.push(json!({ "role": "menuitem", "name": name,
                "click": [{ "set": { "done": name } }, { "go": page }] }));
        }
        menus.push(json!({ "role": "menu", "name": menu, "items": [
            { "role": "menuitem", "name": drawer, "items": entries } ] }));
    }
    pages["main"] = json!({ "title": title, "controls": menus });
    json!({ "start": "main", "state": { "done": null }, "pages": pages })
}

fn task(app: &str, id: &str, instruction: &str, wanted: &str) -> Value {
    let drawers = &PROGRAMS.iter().find(|one| one.0 == app).expect("a program").1;
    json!({
        "id": id, "instruction": instruction, "related_apps": [app],
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "done"], "method": "eq", "ref": wanted } ] } }
        },
        "apprentice": { "environment": "scene", "template": id, "scene": program(app, drawers) },
    })
}

/// A suite of one task for each program, of which the exploration uses the start alone.
fn starts(folder: &Path) -> Vec<Start> {
    let suite = folder.join("suite");
    let mut index = json!({});
    for (app, _) in PROGRAMS {
        let place = suite.join("examples").join(app);
        std::fs::create_dir_all(&place).expect("a folder");
        let task = task(app, app, "Read by nobody.", "nothing");
        std::fs::write(place.join(format!("{app}.json")), task.to_string()).expect("written");
        index[app] = json!([app]);
    }
    std::fs::write(suite.join("suite.json"), index.to_string()).expect("written");
    PROGRAMS.map(|(app, _)| Start::Task { suite: suite.clone(), task: TaskId::new(app) }).to_vec()
}

/// The tasks of a person, on which no exploration was made.
fn held_out() -> Suite {
    let of_drawer = |app: &'static str, drawer: &Drawer| {
        let (verb, thing) = (drawer.verb, drawer.held_out());
        let (id, instruction) = (verb.to_lowercase(), format!("{verb} the {}.", thing.to_lowercase()));
        let task = task(app, &id, &instruction, &format!("{verb} {thing}"));
        let mut task: Task = serde_json::from_value(task).expect("a task");
        app.clone_into(&mut task.app);
        task
    };
    let tasks = PROGRAMS.iter().flat_map(|(app, drawers)| drawers.iter().map(|one| of_drawer(app, one)));
    Suite { name: "held-out".into(), root: PathBuf::from("."), hash: "4e1d".into(), tasks: tasks.collect() }
}

/// Proposes a task for each drawer of the start that it is shown; everything else is decided by rules.
struct Proposer {
    rules: BuiltInModel,
    proposed: Mutex<Vec<&'static str>>,
}

impl Proposer {
    fn propose(&self, request: &ChatRequest) -> Value {
        let seen = serde_json::to_string(&request.messages).expect("JSON");
        let mut proposed = self.proposed.lock().expect("unpoisoned");
        let mut drawers = PROGRAMS.iter().flat_map(|one| &one.1);
        let next = drawers.find(|one| seen.contains(one.menu) && !proposed.contains(&one.verb));
        let Some(drawer) = next else {
            return json!({ "task": null, "decline": "All is known." });
        };
        let (menu, verb, things) = (drawer.menu, drawer.verb, drawer.practised());
        proposed.push(verb);
        json!({ "decline": null, "task": {
            "name": format!("{}-one", verb.to_lowercase()), "instruction": format!("{verb} the {{{{what}}}}."),
            "values": [{ "name": "what", "of": things }],
            "check": { "kind": "view", "contains": format!("Finished: {verb} {{{{what}}}}") },
            "uses": [menu], "new": "Where this is done.", "near": null, "undo": "Go back.", "outside": false } })
    }
}

impl ChatModel for Proposer {
    fn profile(&self) -> &ModelProfile {
        self.rules.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let said = match request.schema.as_ref().map(|schema| schema.name.as_str()) {
                Some("practice.task.v1") => self.propose(request),
                Some("function.answer.v1") => json!({ "function": null, "arguments": [], "decline": "No." }),
                _ => return self.rules.reply(request).await,
            };
            let reply = ScriptedReply { say: Some(said.to_string()), ..ScriptedReply::default() };
            Scripted::new([reply]).expect("a script").in_order().reply(request).await
        })
    }
}

struct Policies;

impl ModelSource for Policies {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let policy = Policy::named(&trial.model).ok_or("no such model")?;
        Ok(Arc::new(BuiltInModel::new(policy)))
    }
}

fn deps() -> RunDeps {
    RunDeps {
        models: Arc::new(Policies),
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

/// Explores both programs into a new book.
async fn explore(folder: &Path) -> (Vec<Episode>, Snapshot) {
    let book = folder.join("book");
    let plan = ExplorePlan {
        schema: EXPLORE_SCHEMA.into(),
        started_at: Timestamp::UNIX_EPOCH,
        program: "0.0.0".into(),
        command: vec!["test".into()],
        model: "builtin/explorer".into(),
        learner: "builtin/explorer".into(),
        skillbook: book.clone(),
        starts: starts(folder),
        suite: None,
        split: None,
        limits: ExploreLimits { world_steps: Some(2000), ..ExploreLimits::default() },
    };
    // As the program chooses for rule-based models: they read nothing, so rules of words decide.
    let options =
        GatewayOptions { effects: EffectRule::RuleBased, ..GatewayOptions::at(Timestamp::UNIX_EPOCH) };
    let (mut gateway, _) = Gateway::open(&book, options).expect("opens");
    let held_out = LockedSuites::default();
    let rules = BuiltInModel::new(Policy::Explorer);
    let mut explorer = Explorer {
        folder: ExploreFolder::create(&folder.join("out"), plan).expect("a folder"),
        gateway: &mut gateway,
        held_out: &held_out,
        deps: deps(),
        control: control(),
        learner: Arc::new(Proposer { rules, proposed: Mutex::default() }),
        spent: &|| 0.0,
        finished: &|_| {},
    };
    Box::pin(explorer.explore()).await.expect("explores");
    (explorer.folder.episodes().to_vec(), gateway.snapshot())
}

#[tokio::test]
async fn an_explored_book_lifts_the_weak_policy_on_pages_that_it_never_saw() {
    let folder = TempDir::new().expect("a folder");
    let (episodes, book) = explore(folder.path()).await;
    let passed = episodes.iter().filter(|one| one.outcome == Outcome::Passed).count();
    assert_eq!(passed, 4, "{episodes:#?}");

    let suite = Arc::new(held_out());
    let provider = GuidanceProvider::new(suite.clone(), book, None);
    let contender = |arm: &str| Contender {
        role: Role::Baseline,
        model: "builtin/novice".into(),
        arm: arm.into(),
        tasks: None,
        seeds: None,
    };
    let request = PlanRequest {
        suite: &suite,
        split: None,
        tasks: None,
        contenders: vec![contender("none"), contender("pull")],
        seeds: 1,
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
    let summary = start(&request, folder.path(), 2, deps, control()).await.expect("runs");
    let count = |arm: &str| {
        let rows = summary.results.iter().filter(|row| row.arm == arm);
        rows.filter(|row| row.verdict == Verdict::Pass).count()
    };
    assert_eq!((count("none"), count("pull")), (0, 4), "{:#?}", summary.results);
}
