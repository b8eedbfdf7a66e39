//! The plan of a run: the full ordered list of trials, fixed before the first one begins.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{CapOverrides, Limits, RunId, TaskId, TrialId};
use apprentice_skillbook::verification::AdmissionPolicy;
use jiff::Timestamp;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{retry_seed, scaled_limits};
use super::wording::{NoOtherWording, worded};
use crate::grading::answer_judge::judge_prompt_hash;
use crate::split::SplitLock;
use crate::task_apps::apps_of;
use crate::trial_identity::{Contender, hashed, trial_id};
use apprentice_results::arm::Arm;
use apprentice_results::compare::Selector;
use apprentice_runs::row::{Role, Split};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::requirements::needs_judge;
use apprentice_tasks::variation::{VariationError, vary};

pub use apprentice_runs::RUN_SCHEMA;

/// The inputs of a plan.
pub struct PlanRequest<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The split lock; `None` without one.
    pub split: Option<&'a SplitLock>,
    /// The tasks; all tasks of the suite when `None`.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// The models and arms to run.
    pub contenders: Vec<Contender>,
    /// The number of variations of each task.
    pub seeds: u32,
    /// Caps that replace the tasks' own.
    pub limits: Option<CapOverrides>,
    /// The maximum number of attempts per trial while its attempts are void.
    pub attempts: u32,
    /// The seed that shuffles the order of trials.
    pub order_seed: u64,
    /// Whether each attempt's conversation is saved.
    pub conversations: Conversations,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The version of the program.
    pub program: String,
    /// The frozen skillbook of each arm.
    pub books: Vec<ArmPlan>,
}

/// An arm and its skillbook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmPlan {
    /// The arm's name.
    pub arm: String,
    /// Content hash of the arm's frozen book; `None` without a book.
    pub skillbook_hash: Option<String>,
    /// The result of the admission policy; `None` when no policy was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionCounts>,
    /// Other inputs of the arm's guidance: the embedding model of skill search, a hash of the tool server list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aids: BTreeMap<String, String>,
    /// The factor by which the caps of this arm's trials are multiplied; `None` for the common caps.
    #[serde(default, rename = "budget", skip_serializing_if = "Option::is_none")]
    pub cap_factor: Option<u32>,
    /// The try at the same variation, from 2. A model that accepts a seed gets a different one for each try.
    #[serde(default, rename = "again", skip_serializing_if = "Option::is_none")]
    pub try_number: Option<u32>,
    /// Hash of the other wordings that this arm's trials get; `None` for the tasks' own instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wordings_hash: Option<String>,
}

/// The number of a book's skills that an arm may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdmissionCounts {
    /// The admission policy.
    pub policy: AdmissionPolicy,
    /// Skills that may be used.
    pub eligible: usize,
    /// Skills that are quarantined.
    pub quarantined: usize,
}

/// A model of the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ModelPlan {
    /// The model's role.
    pub role: Role,
    /// The model's name.
    pub model: String,
    /// The identity that the model's server reported when the run began; `None` for a model without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<ModelIdentity>,
    /// The profile by which the model is asked and its replies are read; `None` for a model without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ChosenProfile>,
}

/// The profile of a model, with the reason for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChosenProfile {
    /// The profile's name.
    pub name: String,
    /// Why it was chosen, in words.
    pub why: String,
}

/// The model that compares answers with references, in a run with tasks that need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgePlan {
    /// The model's name; `None` if the user named none, so that such checks are void.
    pub model: Option<String>,
    /// The identity that the model's server reported when the run began; `None` for a model without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<ModelIdentity>,
    /// Hash of the prompts by which it is asked.
    pub prompt_hash: String,
}

/// One planned trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSpec {
    /// The trial's id.
    pub trial: TrialId,
    /// The trial's position in the order.
    pub order: u32,
    /// The task's id.
    pub task: TaskId,
    /// The task's template.
    pub template: String,
    /// The template's split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// The model's role.
    pub role: Role,
    /// The model's name.
    pub model: String,
    /// The arm's name.
    pub arm: String,
    /// The index of the task's variation.
    pub seed: u32,
}

impl RunPlan {
    /// How many trials of the plan a selector means.
    pub fn selected(&self, selector: &Selector) -> usize {
        let meant =
            |trial: &&TrialSpec| selector.matches_fields(&trial.arm, trial.role, &trial.model, trial.split);
        self.trials.iter().filter(meant).count()
    }
}

impl RunPlan {
    /// Returns the planned trial that must run before this one because its result is needed; `None` for an independent
    /// trial.
    pub fn prerequisite(&self, trial: &TrialSpec) -> Option<&TrialSpec> {
        let arm = (trial.arm == Arm::Inline.as_str()).then_some(Arm::Pull.as_str())?;
        let same = (trial.role, &trial.model, &trial.task, trial.seed);
        self.trials.iter().find(|one| one.arm == arm && (one.role, &one.model, &one.task, one.seed) == same)
    }
}

/// `run.json`: written once, before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The run's id.
    pub run: RunId,
    /// When the run was planned.
    #[schemars(with = "String")]
    pub planned_at: Timestamp,
    /// The version of the program.
    pub program: String,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The suite's name.
    pub suite: String,
    /// Hash of the suite's files.
    pub suite_hash: String,
    /// Hash of the split lock; `None` without one.
    #[serde(default)]
    pub split_hash: Option<String>,
    /// Hash of the agent loop's prompts.
    pub prompt_hash: String,
    /// The models.
    pub models: Vec<ModelPlan>,
    /// The arms.
    pub arms: Vec<ArmPlan>,
    /// The number of variations of each task that varies.
    pub seeds: u32,
    /// The seed that shuffled the order of trials.
    pub order_seed: u64,
    /// The maximum number of attempts per trial while its attempts are void.
    pub attempts: u32,
    /// Caps that replace the tasks' own.
    #[serde(default)]
    pub limits: Option<CapOverrides>,
    /// Caps of the student's trials, in place of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub student_limits: Option<CapOverrides>,
    /// Isolation guarantees that the worlds do not give, by name; usually empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concessions: Vec<String>,
    /// Whether each attempt's conversation is saved, so that its model can be asked about it later.
    #[serde(default, skip_serializing_if = "Conversations::are_dropped")]
    pub conversations: Conversations,
    /// The model that compares answers with references; absent if no planned task needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgePlan>,
    /// The program of each task, as far as the suite says it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<TaskId, String>,
    /// The beginning of each task's instruction, so that a reader knows a task whose id is a number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instructions: BTreeMap<TaskId, String>,
    /// The name of the episode, where a client of `apprentice serve` acted in the one trial and no model of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
    /// The trials, in order.
    pub trials: Vec<TrialSpec>,
}

/// Whether a run saves its conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conversations {
    /// Only the trace is saved.
    #[default]
    Dropped,
    /// Each conversation is saved beside its trace.
    Kept,
}

impl Conversations {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    fn are_dropped(&self) -> bool {
        *self == Self::Dropped
    }
}

impl RunPlan {
    fn arm_of(&self, trial: &TrialSpec) -> Option<&ArmPlan> {
        self.arms.iter().find(|plan| plan.arm == trial.arm)
    }

    /// Returns the caps of a trial; `own` are its task's caps.
    pub fn limits_of(&self, trial: &TrialSpec, own: Limits) -> Limits {
        let times = self.arm_of(trial).and_then(|arm| arm.cap_factor);
        let students = self.student_limits.filter(|_| trial.role == Role::Student);
        let limits = self.limits.unwrap_or_default().over(own);
        scaled_limits(students.unwrap_or_default().over(limits), times.unwrap_or(1))
    }

    /// Returns the seed sent to a model in a trial; `own` is the seed of the task's variation.
    pub fn seed_of(&self, trial: &TrialSpec, own: u64) -> u64 {
        retry_seed(own, self.arm_of(trial).and_then(|arm| arm.try_number).unwrap_or(1))
    }
}

/// The reason there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The suite does not contain a named task.
    #[error("suite \"{suite}\" has no task \"{task}\"{hint}")]
    NoTask {
        /// The suite's name.
        suite: String,
        /// The task's id.
        task: TaskId,
        /// A suffix of the message that suggests the nearest id; empty when no id is near.
        hint: String,
    },
    /// No trial is left to run.
    #[error("no trial is left to run in suite {0:?}: check the selection of tasks, models and arms")]
    Empty(String),
    /// A trial wants another wording of a task that has none.
    #[error(transparent)]
    NoWording(#[from] NoOtherWording),
    /// A task's placeholders cannot be replaced.
    #[error("task {task}, variation {seed}")]
    Vary {
        /// The task's id.
        task: TaskId,
        /// The index of the variation.
        seed: u32,
        /// The cause.
        #[source]
        source: VariationError,
    },
}

/// Plans a run: tasks by seeds by contenders, shuffled in blocks of one task and seed, so that drift over time
/// affects all contenders alike.
pub fn plan(request: &PlanRequest<'_>, now: Timestamp) -> Result<RunPlan, PlanError> {
    let suite = request.suite;
    for task in request.tasks.iter().chain(request.contenders.iter().filter_map(|one| one.tasks.as_ref())) {
        task.iter().try_for_each(|id| known(suite, id))?;
    }
    let mut blocks = Vec::new();
    let chosen = |id: &TaskId| request.tasks.as_ref().is_none_or(|tasks| tasks.contains(id));
    for task in suite.tasks.iter().filter(|task| chosen(&task.id)) {
        // A task without variation has only one world; more seeds would repeat it.
        let seeds = if task.varies() { request.seeds.max(1) } else { 1 };
        for seed in 0..seeds {
            let runs = |one: &&Contender| {
                one.tasks.as_ref().is_none_or(|tasks| tasks.contains(&task.id))
                    && one.seeds.is_none_or(|seeds| seed < seeds.max(1))
            };
            for one in request.contenders.iter().filter(runs) {
                let wrong = |source| PlanError::Vary { task: task.id.clone(), seed, source };
                vary(worded(task, &one.arm, seed)?.as_ref(), &suite.name, seed).map_err(wrong)?;
            }
            let block = request.contenders.iter().filter(runs).map(|one| TrialSpec {
                trial: trial_id(&suite.name, &task.id, one, seed),
                order: 0,
                task: task.id.clone(),
                template: task.template().to_owned(),
                split: request.split.and_then(|split| split.split_of(task.template())),
                role: one.role,
                model: one.model.clone(),
                arm: one.arm.clone(),
                seed,
            });
            blocks.push(block.collect::<Vec<_>>());
        }
    }
    let trials = shuffled(blocks, request.order_seed);
    if trials.is_empty() {
        return Err(PlanError::Empty(suite.name.clone()));
    }
    Ok(RunPlan {
        schema: RUN_SCHEMA.to_owned(),
        run: run_id(now, &request.command, &trials),
        planned_at: now,
        program: request.program.clone(),
        command: request.command.clone(),
        suite: suite.name.clone(),
        suite_hash: suite.hash.clone(),
        split_hash: request.split.map(SplitLock::hash),
        prompt_hash: apprentice_harness::agent::prompt_hash(),
        models: models(&trials),
        arms: arms(&trials, &request.books),
        seeds: request.seeds.max(1),
        order_seed: request.order_seed,
        attempts: request.attempts.max(1),
        limits: request.limits,
        student_limits: None,
        concessions: Vec::new(),
        conversations: request.conversations,
        judge: judge(suite, &trials),
        programs: programs(suite, &trials),
        instructions: instructions(suite, &trials),
        served: None,
        trials,
    })
}

/// The program of each planned task.
fn programs(suite: &Suite, trials: &[TrialSpec]) -> BTreeMap<TaskId, String> {
    let of = |trial: &TrialSpec| apps_of(suite.task(trial.task.as_str())?).into_iter().next();
    trials.iter().filter_map(|trial| Some((trial.task.clone(), of(trial)?))).collect()
}

/// Characters of an instruction that a plan keeps.
const MAX_INSTRUCTION: usize = 160;

fn instructions(suite: &Suite, trials: &[TrialSpec]) -> BTreeMap<TaskId, String> {
    let of = |trial: &TrialSpec| {
        let words =
            suite.task(trial.task.as_str())?.instruction.split_whitespace().collect::<Vec<_>>().join(" ");
        Some((trial.task.clone(), words.chars().take(MAX_INSTRUCTION).collect()))
    };
    trials.iter().filter_map(of).collect()
}

/// The judge of a plan, still without a name, if a planned task needs one.
fn judge(suite: &Suite, trials: &[TrialSpec]) -> Option<JudgePlan> {
    let needs = |trial: &TrialSpec| suite.task(trial.task.as_str()).is_some_and(needs_judge);
    let plan = JudgePlan { model: None, identity: None, prompt_hash: judge_prompt_hash() };
    trials.iter().any(needs).then_some(plan)
}

/// The models of trials, whose servers were not asked yet.
fn models(trials: &[TrialSpec]) -> Vec<ModelPlan> {
    let model = |one: &TrialSpec| ModelPlan {
        role: one.role,
        model: one.model.clone(),
        identity: None,
        profile: None,
    };
    trials.iter().map(model).collect::<BTreeSet<_>>().into_iter().collect()
}

fn known(suite: &Suite, id: &TaskId) -> Result<(), PlanError> {
    if suite.task(id.as_str()).is_some() {
        return Ok(());
    }
    let names = suite.tasks.iter().map(|task| task.id.as_str());
    let hint = apprentice_protocol::did_you_mean(id.as_str(), names);
    Err(PlanError::NoTask { suite: suite.name.clone(), task: id.clone(), hint })
}

fn shuffled(mut blocks: Vec<Vec<TrialSpec>>, seed: u64) -> Vec<TrialSpec> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    blocks.shuffle(&mut rng);
    let mut trials = Vec::new();
    for mut block in blocks {
        block.shuffle(&mut rng);
        trials.extend(block);
    }
    for (order, trial) in (0..).zip(&mut trials) {
        trial.order = order;
    }
    trials
}

fn arms(trials: &[TrialSpec], books: &[ArmPlan]) -> Vec<ArmPlan> {
    let names: BTreeSet<&str> = trials.iter().map(|trial| trial.arm.as_str()).collect();
    let plan = |arm: &str| {
        let known = books.iter().find(|book| book.arm == arm).cloned();
        known.unwrap_or_else(|| ArmPlan { arm: arm.to_owned(), ..ArmPlan::default() })
    };
    names.into_iter().map(plan).collect()
}

/// `20261120T101500Z-` plus four hexadecimal digits that distinguish runs of the same second.
fn run_id(now: Timestamp, command: &[String], trials: &[TrialSpec]) -> RunId {
    let digest = hashed(&[
        ("now", &now.as_nanosecond().to_string()),
        ("command", &command.join("\u{0}")),
        ("trials", &trials.len().to_string()),
    ]);
    RunId::new(format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), &digest[..4]))
}

/// Returns the folder of one attempt, relative to the run.
pub fn attempt_folder(trial: &TrialSpec, attempt: u32) -> String {
    format!("trials/{}-{}/attempt-{attempt:02}", slug(trial.task.as_str()), trial.trial)
}

/// Turns a task's id into part of a file name.
fn slug(id: &str) -> String {
    let plain = id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let text: String = plain.take(48).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "task".to_owned() } else { text.to_owned() }
}
