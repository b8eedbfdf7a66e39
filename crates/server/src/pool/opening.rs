//! What a client asks for when it opens a session, and what that means for the suite that is served.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{EnvironmentKind, Monitors, Size, TaskId, did_you_mean};
use apprentice_tasks::suite::{Suite, SuiteOptions};
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::vary;
use apprentice_trace::Redactor;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use super::refusal::{Refusal, object};
use crate::episode::TaskEpisode;

/// Longest name of an episode, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Keys of a model, which a client may look for here.
const OF_MODELS: [&str; 2] = ["base_url", "model"];
const NO_MODEL: &str = "a session has no model, its client acts; to have the program ask a model through a proxy, start \
                        `apprentice run SUITE --model compat/NAME --base-url http://PROXY/{run}/{trial}/{attempt}/v1`";

/// When a reward is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reward {
    /// The score, once, when the episode ends.
    #[default]
    End,
    /// After each step the change of the score, so that the sum is the score.
    Step,
}

/// The body of `POST /sessions` and of `POST /sessions/ID/reset`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Opening {
    pub(crate) task: Option<String>,
    pub(crate) seed: Option<Number>,
    pub(crate) max_steps: Option<u32>,
    pub(crate) max_seconds: Option<u64>,
    pub(crate) reward: Option<Reward>,
    pub(crate) screenshot: Option<bool>,
    pub(crate) outline: Option<bool>,
    /// How many worlds of the same task and seed.
    pub(crate) count: Option<u32>,
    /// The name of the episode.
    pub(crate) episode: Option<String>,
}

impl Opening {
    /// Reads the body of a request.
    pub(crate) fn read(given: &Value) -> Result<Self, Refusal> {
        if let Some(key) = OF_MODELS.iter().find(|key| given.get(key).is_some()) {
            return Err(Refusal::malformed(format!("{key}: {NO_MODEL}")));
        }
        object(given).map_err(|why| Refusal::malformed(format!("the request's JSON: {why}")))
    }

    /// What is given here, and for the rest what was asked for before. The name of an episode and the size of a group are not kept.
    pub(crate) fn over(self, before: &Self) -> Self {
        Self {
            task: self.task.or_else(|| before.task.clone()),
            seed: self.seed.or_else(|| before.seed.clone()),
            max_steps: self.max_steps.or(before.max_steps),
            max_seconds: self.max_seconds.or(before.max_seconds),
            reward: self.reward.or(before.reward),
            screenshot: self.screenshot.or(before.screenshot),
            outline: self.outline.or(before.outline),
            count: self.count,
            episode: self.episode,
        }
    }
}

/// What one episode is: a task with the values of a seed, its limits and what is told of it.
#[derive(Clone)]
pub(crate) struct EpisodePlan {
    pub(crate) task: Arc<TaskEpisode>,
    pub(crate) seed: u32,
    pub(crate) max_steps: u32,
    pub(crate) max_time: Option<Duration>,
    pub(crate) reward: Reward,
    pub(crate) screenshot: bool,
    pub(crate) outline: bool,
    /// The name that the client gave.
    pub(crate) name: Option<String>,
}

/// The suite that a pool serves, and how its tasks are read.
pub struct PoolTasks {
    /// The suite.
    pub suite: Suite,
    /// The task of openings that name none; it must be one of the suite's.
    pub default_task: Option<TaskId>,
    /// Options for reading external suites.
    pub options: SuiteOptions,
    /// Removes known secrets before evidence is judged.
    pub redactor: Arc<Redactor>,
}

impl PoolTasks {
    /// The tasks as `GET /tasks` tells them.
    pub(crate) fn list(&self) -> Value {
        let tasks = self.suite.tasks.iter().map(|task| {
            json!({
                "task": task.id,
                "instruction": task.instruction,
                // Where it varies, every seed is a variation of its own.
                "variations": if task.varies() { Value::Null } else { json!(1) },
                "environment": task.environment(),
                "screens": screens(task),
            })
        });
        json!({ "tasks": tasks.collect::<Vec<_>>() })
    }

    /// Finds what an opening asks for.
    pub(crate) fn plan(&self, opening: &Opening) -> Result<EpisodePlan, Refusal> {
        let task = self.find(opening.task.as_deref())?;
        let seed = seed_of(task, opening.seed.as_ref())?;
        check_name(opening.episode.as_deref())?;
        if opening.max_steps == Some(0) || opening.max_seconds == Some(0) {
            return Err(Refusal::malformed("max_steps and max_seconds are 1 or more"));
        }
        let reward = opening.reward.unwrap_or_default();
        if reward == Reward::Step && !task.evaluator.postconfig.is_empty() {
            let why = format!(
                "the check of {} begins with steps that change the world, so that it can judge once only: use \
                 \"reward\": \"end\"",
                task.id
            );
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "no_step_reward", why));
        }
        if matches!(task.environment(), EnvironmentKind::Host) {
            return Err(Refusal::malformed(format!("the world of {} is no cell and is not served", task.id)));
        }
        let varied = vary(task, &self.suite.name, seed)
            .map_err(|error| Refusal::void(format!("the task {} cannot be made: {error}", task.id)))?;
        Ok(EpisodePlan {
            task: Arc::new(TaskEpisode {
                varied,
                suite_root: self.suite.root.clone(),
                options: self.options.clone(),
                redactor: Arc::clone(&self.redactor),
            }),
            seed,
            max_steps: opening.max_steps.unwrap_or_else(|| task.limits().world_steps),
            max_time: opening.max_seconds.map(Duration::from_secs),
            reward,
            screenshot: opening.screenshot.unwrap_or(true),
            outline: opening.outline.unwrap_or(true),
            name: opening.episode.clone(),
        })
    }

    fn find(&self, name: Option<&str>) -> Result<&Task, Refusal> {
        let names = || self.suite.tasks.iter().map(|task| task.id.as_str());
        let name = name.or(self.default_task.as_ref().map(TaskId::as_str));
        match (name, self.suite.tasks.as_slice()) {
            (None, [only]) => Ok(only),
            (None, tasks) => {
                let more = if tasks.len() > 5 { ", …" } else { "" };
                let some = names().take(5).collect::<Vec<_>>().join(", ");
                let why =
                    format!("name a task: the suite {:?} has {some}{more}; see GET /tasks", self.suite.name);
                Err(Refusal::new(StatusCode::BAD_REQUEST, "no_task_named", why))
            }
            (Some(name), _) => self.suite.task(name).ok_or_else(|| {
                let near = did_you_mean(name, names());
                let why =
                    format!("the suite {:?} has no task {name:?}{near}; see GET /tasks", self.suite.name);
                Refusal::absent("unknown_task", why)
            }),
        }
    }
}

/// The sizes that the screen of a task may have, whatever the seed.
fn screens(task: &Task) -> Vec<Size> {
    let ours = task.apprentice.as_ref();
    let own = || vec![ours.and_then(|ours| ours.screen.clone()).unwrap_or_default().screen()];
    let drawn =
        ours.and_then(|ours| ours.vary.get("screen")).and_then(|source| serde_json::to_value(source).ok());
    let Some(Value::Array(drawn)) = drawn else { return own() };
    let mut sizes: Vec<Size> = Vec::new();
    for size in drawn.into_iter().filter_map(|size| serde_json::from_value::<Monitors>(size).ok()) {
        if !sizes.contains(&size.screen()) {
            sizes.push(size.screen());
        }
    }
    sizes
}

/// Seeds name variations. One that does not exist is refused: another world in its place would be counted as that one.
fn seed_of(task: &Task, given: Option<&Number>) -> Result<u32, Refusal> {
    let Some(given) = given else { return Ok(0) };
    let wrong = |why: String| Refusal::new(StatusCode::BAD_REQUEST, "seed_out_of_range", why);
    let seed = given.as_u64().and_then(|seed| u32::try_from(seed).ok());
    let seed =
        seed.ok_or_else(|| wrong(format!("seed {given}: seeds are whole numbers from 0 to {}", u32::MAX)))?;
    if seed > 0 && !task.varies() {
        return Err(wrong(format!("seed {seed}: the task {} has one variation only, seed 0", task.id)));
    }
    Ok(seed)
}

fn check_name(name: Option<&str>) -> Result<(), Refusal> {
    let fits =
        |name: &str| !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control);
    if name.is_none_or(fits) {
        return Ok(());
    }
    let why = format!("the name of an episode has 1 to {MAX_NAME_BYTES} bytes and no control characters");
    Err(Refusal::malformed(why))
}
