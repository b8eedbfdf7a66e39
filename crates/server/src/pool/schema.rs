//! What `/schema` and `/metadata` tell: OpenEnv's clients and trainers read them.

use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use super::registry::Pool;
use super::step_body::SessionStep;
use crate::step::StepReply;

/// What a client sees: the reply of a step, with the instruction.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Seen {
    /// The task, in words.
    instruction: String,
    #[serde(flatten)]
    reply: StepReply,
}

/// How an episode stands.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct State {
    /// The episode's name; null before the first reset.
    episode_id: Option<String>,
    /// The steps so far.
    step_count: u32,
    /// The task's id.
    task: Option<String>,
    /// The variation.
    seed: Option<u32>,
}

/// The schemas of actions, observations and states.
pub(crate) fn schemas() -> Value {
    json!({
        "action": schema_for!(SessionStep),
        "observation": schema_for!(Seen),
        "state": schema_for!(State),
    })
}

/// What the server is.
pub(crate) fn metadata(pool: &Pool) -> Value {
    let suite = &pool.context.tasks.suite;
    json!({
        "name": "apprentice",
        "description": format!("Desktops and browsers with tasks of the suite {:?}, each in a cell of its own.", suite.name),
        "version": env!("CARGO_PKG_VERSION"),
        "suite": suite.name,
        "suite_hash": suite.hash,
        "tasks": suite.tasks.len(),
        "max_sessions": pool.settings.sessions,
    })
}
