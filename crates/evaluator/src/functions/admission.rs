//! Admission of a function: replays with other arguments in fresh worlds, judged by the task's checks, and a near miss
//! with a wrong argument that the checks must fail. Only what the checks say counts, never that a call ran to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_guidance::{ArmPolicy, GuidanceError, SKILL_CALL, TaskView, build_guidance};
use apprentice_models::scripted::{Scripted, ScriptedCall, ScriptedReply};
use apprentice_protocol::{ChatModel, EventKind, FunctionEnd, SkillId, TaskId, Verdict};
use apprentice_results::arm::Arm;
use apprentice_runs::layout::EVENTS_FILE;
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_skillbook::{
    Actor, Change, FunctionEvidence, FunctionTrial, Gateway, Snapshot, WriteRefusal, WriteRequest,
};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::variation::{VariationError, drawn_values, filled};
use apprentice_trace::{Trace, TraceError};
use futures_util::future::try_join;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::arms::ArmError;
use crate::arms::guidance::ArmGuidance;
use crate::run::{
    ArmPlan, Contender, Conversations, ModelSource, PlanError, PlanRequest, PlannedRun, RunControl, RunDeps,
    RunError, TrialSpec, plan, start_plan,
};
use crate::split::SplitLock;
use crate::trial_identity::{hashed, trajectory_id};

/// The schema name of the report.
pub const ADMISSION_SCHEMA: &str = "apprentice.functions.admit/1";
/// The name of the model that calls the function and finishes.
const CALLER: &str = "function/caller";
/// Variations that are looked through for other arguments.
const VARIATIONS: u32 = 64;
/// Replays of one admission.
const REPLAYS: usize = apprentice_skillbook::REPLAYS_NEEDED;

/// A function to admit.
pub struct Admission<'a> {
    /// The suite of the task.
    pub suite: &'a Suite,
    /// The task whose checks judge the replays.
    pub task: TaskId,
    /// The split; a task outside its train part is refused.
    pub split: Option<&'a SplitLock>,
    /// The skill.
    pub skill: SkillId,
    /// The function.
    pub function: String,
    /// The arguments by name, with the task's placeholders: `{"name": "{{name}}"}`.
    pub arguments: Value,
    /// The variation that the function was learned on; it is not replayed.
    pub learned_on: Option<u32>,
    /// The command line, without secrets.
    pub command: Vec<String>,
}

/// What one replay showed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Replay {
    /// What was tried.
    pub trial: FunctionTrial,
    /// The task's variation.
    pub seed: u32,
    /// The arguments.
    pub arguments: Value,
    /// The verdict of the checks.
    pub verdict: Verdict,
    /// How the call ended; absent if it never began.
    pub end: Option<FunctionEnd>,
    /// World actions of the attempt.
    pub world_steps: u32,
    /// Duration of the attempt in seconds.
    pub wall_s: f64,
    /// Whether it showed what it should.
    pub held: bool,
    /// The attempt, `run/trial/attempt`.
    pub attempt: String,
}

/// The outcome of an admission.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AdmissionReport {
    /// [`ADMISSION_SCHEMA`].
    pub schema: &'static str,
    /// The skill.
    pub skill: SkillId,
    /// The function.
    pub function: String,
    /// Its version.
    pub version: u32,
    /// The replays and the near miss.
    pub replays: Vec<Replay>,
    /// Whether the version is verified now.
    pub verified: bool,
    /// What it lacks, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The folders of the runs.
    pub runs: Vec<PathBuf>,
}

/// Why an admission could not be decided. Nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The suite has no such task.
    #[error("suite {suite:?} has no task {task:?}{hint}")]
    NoTask {
        /// The suite.
        suite: String,
        /// The task.
        task: TaskId,
        /// A suggestion, or nothing.
        hint: String,
    },
    /// The task is not for training.
    #[error("task {task} is in the part {part} of the split; functions are admitted on training tasks alone")]
    HeldOut {
        /// The task.
        task: TaskId,
        /// Its part.
        part: String,
    },
    /// The book has no such function.
    #[error("{skill} has no function {function}; `apprentice functions list` shows those of the book")]
    NoFunction {
        /// The skill.
        skill: SkillId,
        /// The function.
        function: String,
    },
    /// The task's values cannot be drawn or filled in.
    #[error("the arguments cannot be filled in")]
    Values(#[from] VariationError),
    /// The variations of the task give too few different arguments.
    #[error(
        "the variations of task {task} give {found} different arguments; {REPLAYS} besides those that it was learned on \
         are needed: choose a task whose values are arguments of the function"
    )]
    TooFew {
        /// The task.
        task: TaskId,
        /// The number found.
        found: usize,
    },
    /// The runs could not be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The runs could not be worked.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A replay was void: the infrastructure failed.
    #[error("a replay in variation {seed} was void ({cause}); nothing was recorded: try again")]
    Void {
        /// The variation.
        seed: u32,
        /// The cause.
        cause: String,
    },
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The evidence could not be written.
    #[error(transparent)]
    Write(#[from] WriteRefusal),
}

/// The replays of a function, judged, before anything is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedFunction {
    /// The version that was replayed.
    pub version: u32,
    /// The replays and the near miss.
    pub replays: Vec<Replay>,
    /// The folders of the runs.
    pub runs: Vec<PathBuf>,
}

/// What every replay gets.
struct ReplayInputs<'a> {
    book: &'a Snapshot,
    deps: &'a RunDeps,
    control: RunControl,
}

/// A replay that is planned.
#[derive(Clone)]
struct Planned {
    trial: FunctionTrial,
    seed: u32,
    arguments: Value,
}

impl Admission<'_> {
    /// Replays the function in fresh worlds below `folder`. Records nothing. The control is dropped with the last replay, so that
    /// whoever awaits the end of its messages does not wait for more.
    pub async fn replay(
        &self,
        book: &Snapshot,
        folder: &Path,
        deps: &RunDeps,
        control: RunControl,
    ) -> Result<ReplayedFunction, AdmissionError> {
        self.check_split()?;
        let known = book.skill(&self.skill).and_then(|skill| skill.functions.get(&self.function));
        let version = known.ok_or_else(|| self.no_function())?.version;
        let planned = self.planned()?;
        let (near_miss, others): (Vec<Planned>, Vec<Planned>) =
            planned.into_iter().partition(|one| one.trial == FunctionTrial::NearMiss);
        let inputs = ReplayInputs { book, deps, control };
        let (good, wrong) = (folder.join("replays"), folder.join("near-miss"));
        // One after the other would wait for the near miss, which often ends by waiting for an element that never comes.
        let (good, wrong) =
            try_join(self.run(&others, &good, &inputs), self.run(&near_miss, &wrong, &inputs)).await?;
        let replays = good.0.into_iter().chain(wrong.0).collect();
        Ok(ReplayedFunction { version, replays, runs: vec![good.1, wrong.1] })
    }

    /// Records what the replays showed.
    pub fn record(
        &self,
        gateway: &mut Gateway,
        replayed: ReplayedFunction,
        now: Timestamp,
    ) -> Result<AdmissionReport, AdmissionError> {
        let ReplayedFunction { version, replays, runs } = replayed;
        for replay in &replays {
            let change = Change::FunctionTested {
                skill: self.skill.clone(),
                function: self.function.clone(),
                version,
                evidence: evidence(replay),
            };
            gateway.apply(WriteRequest::of(Actor::Handler, now, change))?;
        }
        let book = gateway.snapshot();
        let known = book.skill(&self.skill).and_then(|skill| skill.functions.get(&self.function));
        let missing = known.ok_or_else(|| self.no_function())?.missing();
        let (skill, function) = (self.skill.clone(), self.function.clone());
        let verified = missing.is_none();
        Ok(AdmissionReport {
            schema: ADMISSION_SCHEMA,
            skill,
            function,
            version,
            replays,
            verified,
            missing,
            runs,
        })
    }

    fn no_function(&self) -> AdmissionError {
        AdmissionError::NoFunction { skill: self.skill.clone(), function: self.function.clone() }
    }

    fn check_split(&self) -> Result<(), AdmissionError> {
        let Some(task) = self.suite.task(self.task.as_str()) else {
            let names = self.suite.tasks.iter().map(|task| task.id.as_str());
            let hint = apprentice_protocol::did_you_mean(self.task.as_str(), names);
            return Err(AdmissionError::NoTask {
                suite: self.suite.name.clone(),
                task: self.task.clone(),
                hint,
            });
        };
        let part = self.split.map(|split| split.split_of(task.template()));
        match part {
            None | Some(Some(Split::Train)) => Ok(()),
            Some(other) => {
                let part = other.map_or_else(|| "no".to_owned(), |split| format!("{split:?}").to_lowercase());
                Err(AdmissionError::HeldOut { task: self.task.clone(), part })
            }
        }
    }

    /// Plans the replays: the first variations with other arguments than the one it was learned on, and the world of the
    /// first with an argument of the second.
    fn planned(&self) -> Result<Vec<Planned>, AdmissionError> {
        let Some(task) = self.suite.task(self.task.as_str()) else { return Ok(Vec::new()) };
        let of = |seed: u32| {
            let values = drawn_values(task, &self.suite.name, seed)?;
            filled(&self.arguments, &values)
        };
        let learned_on = self.learned_on.map(of).transpose()?;
        let mut found: Vec<Planned> = Vec::new();
        for seed in (0..VARIATIONS).filter(|seed| Some(*seed) != self.learned_on) {
            let arguments = of(seed)?;
            let is_known = found.iter().any(|one| differing(&one.arguments, &arguments).is_none())
                || learned_on.as_ref().is_some_and(|known| differing(known, &arguments).is_none());
            if !is_known {
                found.push(Planned { trial: FunctionTrial::Replay, seed, arguments });
            }
            if found.len() == REPLAYS {
                break;
            }
        }
        let [first, second, ..] = found.as_slice() else {
            return Err(AdmissionError::TooFew { task: self.task.clone(), found: found.len() });
        };
        let wrong = differing(&first.arguments, &second.arguments).and_then(|name| {
            let mut wrong: Map<String, Value> = first.arguments.as_object()?.clone();
            wrong.insert(name.clone(), second.arguments.get(&name)?.clone());
            Some(Value::Object(wrong))
        });
        let seed = first.seed;
        found.extend(wrong.map(|arguments| Planned { trial: FunctionTrial::NearMiss, seed, arguments }));
        Ok(found)
    }

    async fn run(
        &self,
        planned: &[Planned],
        folder: &Path,
        inputs: &ReplayInputs<'_>,
    ) -> Result<(Vec<Replay>, PathBuf), AdmissionError> {
        let (book, deps, control) = (inputs.book, inputs.deps, &inputs.control);
        let seeds: BTreeMap<u32, &Planned> = planned.iter().map(|one| (one.seed, one)).collect();
        let request = PlanRequest {
            suite: self.suite,
            split: self.split,
            tasks: Some(BTreeSet::from([self.task.clone()])),
            contenders: vec![Contender {
                role: Role::Baseline,
                model: CALLER.to_owned(),
                arm: Arm::Code.as_str().to_owned(),
                tasks: None,
                seeds: None,
            }],
            seeds: seeds.keys().max().map_or(1, |seed| seed + 1),
            limits: None,
            attempts: 2,
            order_seed: 0,
            conversations: Conversations::Dropped,
            command: self.command.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            books: vec![ArmPlan {
                arm: Arm::Code.as_str().to_owned(),
                skillbook_hash: Some(book.content_hash()),
                ..ArmPlan::default()
            }],
        };
        let mut plan = plan(&request, deps.clock.now())?;
        plan.trials.retain(|trial| seeds.contains_key(&trial.seed));
        let own = RunDeps { models: self.caller(planned), guidance: self.guidance(book), ..deps.clone() };
        let planned_run = PlannedRun { plan, suite: self.suite, book: None };
        let summary = start_plan(planned_run, folder, planned.len(), own, control.clone()).await?;
        let replays = summary
            .results
            .iter()
            .filter_map(|row| seeds.get(&row.seed).map(|planned| replayed(row, planned, &summary.folder)));
        let mut replays = replays.collect::<Result<Vec<_>, _>>()?;
        // A run is shuffled; the report is not.
        replays.sort_by_key(|one| one.seed);
        Ok((replays, summary.folder))
    }

    /// The model of each replay: one call of the function, then the end.
    fn caller(&self, planned: &[Planned]) -> Arc<dyn ModelSource> {
        let call = |one: &Planned| {
            let (skill, function) = (&self.skill, &self.function);
            (one.seed, json!({ "skill": skill, "function": function, "arguments": one.arguments }))
        };
        Arc::new(Callers(planned.iter().map(call).collect()))
    }

    fn guidance(&self, book: &Snapshot) -> crate::run::GuidanceFactory {
        let (book, task) = (book.clone(), self.task.clone());
        Arc::new(move |_: &TrialSpec| {
            let policy = ArmPolicy::Code { pull: false, unverified: true, own_tools: false };
            let guidance = build_guidance(&book, &policy, &TaskView::default());
            let none =
                |source: GuidanceError| ArmError::NoGuidance { arm: Arm::Code, task: task.clone(), source };
            let skillbook_hash = Some(book.content_hash());
            Ok(ArmGuidance { guidance: guidance.map_err(none)?, skillbook_hash, ..ArmGuidance::unaided() })
        })
    }
}

/// Returns the name of the first argument in which two calls differ.
fn differing(one: &Value, other: &Value) -> Option<String> {
    let (one, other) = (one.as_object()?, other.as_object()?);
    one.iter().find(|(name, value)| other.get(*name) != Some(value)).map(|(name, _)| name.clone())
}

/// Models by variation, each with one call.
struct Callers(BTreeMap<u32, Value>);

impl ModelSource for Callers {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let arguments = self.0.get(&trial.seed).ok_or("no replay is planned for this variation")?;
        let call = |name: &str, arguments: Value| ScriptedCall { name: name.to_owned(), arguments };
        let reply = |call: ScriptedCall| ScriptedReply { calls: vec![call], ..ScriptedReply::default() };
        let replies =
            [reply(call(SKILL_CALL, arguments.clone())), reply(call("finish", json!({ "finish": "done" })))];
        Scripted::new(replies).map(|model| Arc::new(model) as _).map_err(|error| error.to_string())
    }
}

/// Reads what a replay showed from its row and its trace.
fn replayed(row: &TrialRow, planned: &Planned, run: &Path) -> Result<Replay, AdmissionError> {
    if row.verdict == Verdict::Void {
        let cause = row.void_cause.map_or_else(|| "unknown".to_owned(), |cause| format!("{cause:?}"));
        return Err(AdmissionError::Void { seed: row.seed, cause });
    }
    let trace = Trace::read(&run.join(&row.trace).join(EVENTS_FILE))?;
    let end = trace.events.iter().find_map(|event| match &event.kind {
        EventKind::FunctionCalled { record, .. } => Some(record.end.clone()),
        _ => None,
    });
    let ran = matches!(end, Some(FunctionEnd::Returned { .. }));
    let passed = row.verdict == Verdict::Pass;
    let held = match planned.trial {
        FunctionTrial::NearMiss => !passed,
        FunctionTrial::Replay | FunctionTrial::Call => passed && ran,
    };
    Ok(Replay {
        trial: planned.trial,
        seed: row.seed,
        arguments: planned.arguments.clone(),
        verdict: row.verdict,
        end,
        world_steps: row.world_steps,
        wall_s: row.wall_s,
        held,
        attempt: trajectory_id(row),
    })
}

/// Returns the evidence that a replay gives. It holds no argument, only a hash: a book holds no text of a task.
fn evidence(replay: &Replay) -> FunctionEvidence {
    let why = match (&replay.end, replay.held) {
        (_, true) => String::new(),
        (Some(FunctionEnd::Stopped(failure)), _) => format!("it stopped at line {}", failure.line),
        (None, _) => "it was not called".to_owned(),
        _ => format!("the checks gave {:?}", replay.verdict).to_lowercase(),
    };
    FunctionEvidence {
        trial: replay.trial,
        held: replay.held,
        attempt: replay.attempt.clone(),
        arguments: hashed(&[("arguments", &replay.arguments.to_string())]),
        why,
    }
}
