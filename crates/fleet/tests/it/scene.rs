//! A suite in memory, its plan, and what a worker needs to carry it out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::run::{
    Contender, Conversations, ModelSource, PlanRequest, RunDeps, RunPlan, TrialSpec, plan,
};
use apprentice_fleet::{Artifacts, ExperimentRecord, Queue, Submission, build, submit};
use apprentice_harness::env::scene::SceneSource;
use apprentice_protocol::{
    BoxFuture, ChatModel, Clock, EnvironmentSource, Why, World, WorldError, WorldSpec,
};
use apprentice_runs::row::Role;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::suite::Suite;
use apprentice_trace::Redactor;
use serde_json::json;

const TASK: &str = "tick";
/// The id of an experiment of these tests.
pub(crate) const EXPERIMENT: &str = "distill-1";

/// Writes a suite of one task with many variations: tick a box whose name varies.
pub(crate) fn write_suite(folder: &Path) {
    let task = json!({
        "id": TASK,
        "instruction": "Tick the box that shows {{what}}.",
        "evaluator": {
            "func": "check_json",
            "result": { "type": "vm_file", "path": "/state.json", "dest": "state.json" },
            "expected": { "type": "rule", "rules": { "expect": [
                { "key": ["values", "ticked"], "method": "eq", "ref": true } ] } }
        },
        "apprentice": {
            "environment": "scene",
            "template": "tick",
            "screen": { "width": 640, "height": 400 },
            "scene": {
                "start": "main",
                "state": { "ticked": false },
                "pages": { "main": { "title": "Main", "controls": [
                    { "role": "checkbox", "name": "Show {{what}}", "bind": "ticked" } ] } }
            },
            "vary": { "what": ["rulers", "margins", "guides", "grids"] },
            "solution": [{ "click": { "role": "checkbox", "name": "Show {{what}}" } }]
        }
    });
    std::fs::write(folder.join("tick.json"), task.to_string()).expect("writes");
}

/// Loads the suite of a folder.
pub(crate) fn suite(folder: &Path) -> Suite {
    apprentice_tasks::suite::load(&folder.join("tick.json")).expect("a suite")
}

/// Plans trials of the suite's one task: half by its solution, which passes, half by doing nothing, which fails.
pub(crate) fn planned(suite: &Suite, seeds: u32, command: &str) -> RunPlan {
    let contender = |model: &str| Contender {
        role: Role::Baseline,
        model: model.into(),
        arm: "none".into(),
        tasks: None,
        seeds: None,
    };
    let request = PlanRequest {
        suite,
        split: None,
        tasks: None,
        contenders: vec![contender("baseline/solution"), contender("baseline/noop")],
        seeds,
        limits: None,
        attempts: 3,
        order_seed: 1,
        conversations: Conversations::Dropped,
        command: vec![command.into()],
        program: "0.0.0".into(),
        books: Vec::new(),
    };
    plan(&request, SystemClock::default().now()).expect("a plan")
}

/// Submits a plan without needs, cap or priority.
pub(crate) async fn submitted(queue: &Queue, artifacts: &Artifacts, plan: &RunPlan, suite: &Path) -> bool {
    let submission = Submission {
        plan,
        suite,
        suite_path: "tick.json",
        book: None,
        priority: 0,
        max_usd: None,
        experiment: None,
        guidance: None,
        needs: &|_| vec!["world:scene".to_owned()],
    };
    submit(queue, artifacts, &submission, None).await.expect("submits")
}

/// An experiment that waits for a leader of the plan's build: without inputs, needs, cap or priority.
pub(crate) fn experiment(plan: &RunPlan, artifacts: impl Into<String>) -> ExperimentRecord {
    ExperimentRecord {
        experiment: EXPERIMENT.into(),
        command: "[]".into(),
        inputs: String::new(),
        build: build(plan),
        artifacts: artifacts.into(),
        priority: 0,
        needs: Vec::new(),
        max_usd: None,
        trial_usd: None,
        copy: None,
        state: "open".into(),
        trouble: None,
    }
}

struct NoModels;

impl ModelSource for NoModels {
    fn model(&self, _trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        Err("only baselines".into())
    }
}

/// Worlds that take this long to open.
struct SlowWorlds {
    inner: SceneSource,
    clock: Arc<dyn Clock>,
    delay: Duration,
}

impl EnvironmentSource for SlowWorlds {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(async move {
            self.clock.pause(self.delay, Why::TaskStep).await;
            self.inner.open(spec).await
        })
    }
}

/// What trials need, with worlds that take a while to open.
pub(crate) fn deps(delay: Duration) -> RunDeps {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    RunDeps {
        models: Arc::new(NoModels),
        worlds: Arc::new(SlowWorlds { inner: SceneSource::default(), clock: Arc::clone(&clock), delay }),
        clock,
        guidance: Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided())),
        redactor: Arc::new(Redactor::new([]).expect("builds")),
        reading: apprentice_tasks::suite::SuiteOptions::default(),
        cpu: 4,
    }
}
