//! The plan of a run: the full ordered list of trials, fixed before the first one begins.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_harness::model::identity::ModelIdentity;
use apprentice_protocol::{Limits, RunId, TaskId, TrialId};
use apprentice_skills::prove::Admit;
use jiff::Timestamp;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::budget::{seed_of_try, widened};
use super::trial::RunDeps;
use crate::split::SplitLock;
use apprentice_results::arm::Arm;
use apprentice_results::compare::Selector;
use apprentice_results::row::{Role, Split};
use apprentice_tasks::seed::{VaryError, vary};
use apprentice_tasks::suite::Suite;

/// The name of the plan's format.
pub const RUN_SCHEMA: &str = "apprentice.run/1";

/// One model in one part under one arm: what runs side by side on the same tasks and seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Its part.
    pub role: Role,
    /// The model, as `provider/name`.
    pub model: String,
    /// What help it gets.
    pub arm: String,
    /// The tasks it runs on; all of the plan's, if absent.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// How many variations of each task it runs; the plan's number, if absent.
    pub seeds: Option<u32>,
}

/// What a plan is made from.
pub struct PlanRequest<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The split, when one is locked.
    pub split: Option<&'a SplitLock>,
    /// The tasks; all of the suite's, if absent.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// Who runs.
    pub contenders: Vec<Contender>,
    /// How many variations of each task.
    pub seeds: u32,
    /// Replaces the tasks' own caps.
    pub limits: Option<Limits>,
    /// How often a trial is tried while its attempts are void.
    pub attempts: u32,
    /// What the order is shuffled by.
    pub order_seed: u64,
    /// Whether each attempt's conversation is kept.
    pub conversations: Conversations,
    /// The command as it was given, without secrets.
    pub command: Vec<String>,
    /// Content hashes of frozen books by arm.
    pub books: Vec<ArmPlan>,
}

/// An arm and the book it lends from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmPlan {
    /// The arm.
    pub arm: String,
    /// Content hash of its frozen book, if it has one.
    pub skillbook_hash: Option<String>,
    /// What the policy of admission let through, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionCounts>,
    /// What else what it lends depends on: the model by which skills are searched, a hash of the list of tool servers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aids: BTreeMap<String, String>,
    /// How many times as wide its trials' caps are, if they are not as wide as all others'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Which try at the same variation its trials are, from 2: a model that takes a seed is sent another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<u32>,
}

/// How many skills of a book an arm may lend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdmissionCounts {
    /// The policy.
    pub policy: Admit,
    /// Skills that may be lent.
    pub eligible: usize,
    /// Skills that wait.
    pub quarantined: usize,
}

/// A model of the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ModelPlan {
    /// Its part.
    pub role: Role,
    /// Its name.
    pub model: String,
    /// What its server said that it serves, when the run began; none for a model without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<ModelIdentity>,
}

/// One trial of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSpec {
    /// Its id.
    pub trial: TrialId,
    /// Its place in the order.
    pub order: u32,
    /// The task.
    pub task: TaskId,
    /// The task's template.
    pub template: String,
    /// The template's part of the split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// The model's part.
    pub role: Role,
    /// The model.
    pub model: String,
    /// What help it gets.
    pub arm: String,
    /// The index of the world's variation.
    pub seed: u32,
}

impl RunPlan {
    /// How many trials of the plan a selector means.
    pub fn selected(&self, selector: &Selector) -> usize {
        let meant = |trial: &&TrialSpec| selector.means(&trial.arm, trial.role, &trial.model, trial.split);
        self.trials.iter().filter(meant).count()
    }
}

impl TrialSpec {
    /// The arm in which the same trial is run before this one, if it needs what came of that.
    pub(super) fn partner(&self) -> Option<&'static str> {
        (self.arm == Arm::Inline.as_str()).then_some(Arm::Pull.as_str())
    }
}

/// `run.json`: written once, before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The run.
    pub run: RunId,
    /// When it was planned.
    #[schemars(with = "String")]
    pub planned_at: Timestamp,
    /// The program's version.
    pub program: String,
    /// The command as it was given.
    pub command: Vec<String>,
    /// The suite's name.
    pub suite: String,
    /// Hash of the suite's files.
    pub suite_hash: String,
    /// Hash of the split, if one is locked.
    #[serde(default)]
    pub split_hash: Option<String>,
    /// Hash of the loop's prompts.
    pub prompt_hash: String,
    /// The models.
    pub models: Vec<ModelPlan>,
    /// The arms.
    pub arms: Vec<ArmPlan>,
    /// How many variations of each task whose world varies.
    pub seeds: u32,
    /// What the order was shuffled by.
    pub order_seed: u64,
    /// How often a trial is tried while its attempts are void.
    pub attempts: u32,
    /// Caps that replace the tasks' own.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// What of the worlds' separation was given up, by name; usually nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concessions: Vec<String>,
    /// Whether each attempt's conversation is kept whole, so that its model can be asked about it afterwards.
    #[serde(default, skip_serializing_if = "Conversations::are_dropped")]
    pub conversations: Conversations,
    /// The trials, in order.
    pub trials: Vec<TrialSpec>,
}

/// Whether the conversations of a run are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conversations {
    /// What the trace says is enough.
    #[default]
    Dropped,
    /// Each stands beside its trace.
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

    /// The caps of a trial; `own` are its task's.
    pub fn limits_of(&self, trial: &TrialSpec, own: Limits) -> Limits {
        let times = self.arm_of(trial).and_then(|arm| arm.budget);
        widened(self.limits.unwrap_or(own), times.unwrap_or(1))
    }

    /// What a model that takes a seed is sent in a trial; `own` is its variation's.
    pub fn seed_of(&self, trial: &TrialSpec, own: u64) -> u64 {
        seed_of_try(own, self.arm_of(trial).and_then(|arm| arm.again).unwrap_or(1))
    }

    /// The plan with what is known only where it is carried out: what of the worlds' separation is given up, and
    /// what the models' servers say that they serve.
    pub async fn settle(mut self, deps: &RunDeps) -> Self {
        self.concessions = deps.worlds.concessions();
        for one in &mut self.models {
            one.identity = deps.models.identity(&one.model).await;
        }
        self
    }

    /// What the models' servers say otherwise than when the run began, in words. They are asked in any case: what
    /// they say also tells how much they take.
    pub async fn changed_models(&self, deps: &RunDeps) -> Vec<String> {
        let mut changed = Vec::new();
        for one in &self.models {
            let now = deps.models.identity(&one.model).await;
            if let Some((before, now)) = one.identity.as_ref().zip(now) {
                changed
                    .extend(before.differences(&now).iter().map(|what| format!("{what} of {}", one.model)));
            }
        }
        changed
    }
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A task is named that the suite does not have.
    #[error("suite \"{suite}\" has no task \"{task}\"{hint}")]
    NoTask {
        /// The suite.
        suite: String,
        /// The task.
        task: TaskId,
        /// The nearest name, as the end of a sentence.
        hint: String,
    },
    /// Nothing is left to run.
    #[error("no trial is left to run in suite {0:?}: check the selection of tasks, models and arms")]
    Empty(String),
    /// A task's placeholders cannot be filled in.
    #[error("task {task}, variation {seed}")]
    Vary {
        /// The task.
        task: TaskId,
        /// The variation.
        seed: u32,
        /// Why.
        #[source]
        source: VaryError,
    },
}

/// Plans a run: tasks by seeds by contenders, shuffled in blocks of one task and seed, so that whatever
/// drifts with time meets all contenders alike.
pub fn plan(request: &PlanRequest<'_>, now: Timestamp, program: &str) -> Result<RunPlan, PlanError> {
    let suite = request.suite;
    for task in request.tasks.iter().chain(request.contenders.iter().filter_map(|one| one.tasks.as_ref())) {
        for id in task {
            known(suite, id)?;
        }
    }
    let mut blocks = Vec::new();
    let chosen = |id: &TaskId| request.tasks.as_ref().is_none_or(|tasks| tasks.contains(id));
    for task in suite.tasks.iter().filter(|task| chosen(&task.id)) {
        // A world that ignores its seed would only be measured again.
        let seeds = if task.varies() { request.seeds.max(1) } else { 1 };
        for seed in 0..seeds {
            let wrong = |source| PlanError::Vary { task: task.id.clone(), seed, source };
            vary(task, &suite.name, seed).map_err(wrong)?;
            let runs = |one: &&Contender| {
                one.tasks.as_ref().is_none_or(|tasks| tasks.contains(&task.id))
                    && one.seeds.is_none_or(|seeds| seed < seeds.max(1))
            };
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
    let models: BTreeSet<ModelPlan> = trials
        .iter()
        .map(|one| ModelPlan { role: one.role, model: one.model.clone(), identity: None })
        .collect();
    Ok(RunPlan {
        schema: RUN_SCHEMA.to_owned(),
        run: run_id(now, &request.command, &trials),
        planned_at: now,
        program: program.to_owned(),
        command: request.command.clone(),
        suite: suite.name.clone(),
        suite_hash: suite.hash.clone(),
        split_hash: request.split.map(SplitLock::hash),
        prompt_hash: apprentice_harness::agent::prompt_hash(),
        models: models.into_iter().collect(),
        arms: arms(&trials, &request.books),
        seeds: request.seeds.max(1),
        order_seed: request.order_seed,
        attempts: request.attempts.max(1),
        limits: request.limits,
        concessions: Vec::new(),
        conversations: request.conversations,
        trials,
    })
}

fn known(suite: &Suite, id: &TaskId) -> Result<(), PlanError> {
    if suite.task(id.as_str()).is_some() {
        return Ok(());
    }
    let names = suite.tasks.iter().map(|task| task.id.as_str());
    let nearest = apprentice_tasks::suite::nearest(id.as_str(), names);
    let hint = nearest.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
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

/// The identity of a trial: the same suite, task, part, model, arm and variation are the same trial.
pub fn trial_id(suite: &str, task: &TaskId, contender: &Contender, seed: u32) -> TrialId {
    let digest = hashed(&[
        ("suite", suite),
        ("task", task.as_str()),
        ("role", contender.role.as_str()),
        ("model", &contender.model),
        ("arm", &contender.arm),
        ("seed", &seed.to_string()),
    ]);
    TrialId::new(&digest[..12])
}

/// `20261120T101500Z-` and four digits that tell runs of the same second apart.
fn run_id(now: Timestamp, command: &[String], trials: &[TrialSpec]) -> RunId {
    let digest = hashed(&[
        ("now", &now.as_nanosecond().to_string()),
        ("command", &command.join("\u{0}")),
        ("trials", &trials.len().to_string()),
    ]);
    RunId::new(format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), &digest[..4]))
}

/// Labelled parts, each with its length, so that no two lists of parts meet in one hash.
fn hashed(parts: &[(&str, &str)]) -> String {
    let mut hash = Sha256::new();
    for text in parts.iter().flat_map(|(label, text)| [label, text]) {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    apprentice_trace::hex(&hash.finalize())
}

/// The folder of one attempt, relative to the run.
pub fn attempt_folder(trial: &TrialSpec, attempt: u32) -> String {
    format!("trials/{}-{}/attempt-{attempt:02}", slug(trial.task.as_str()), trial.trial)
}

/// A task's id as part of a file name.
fn slug(id: &str) -> String {
    let plain = id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let text: String = plain.take(48).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "task".to_owned() } else { text.to_owned() }
}
