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

/// The paths, for programs that look which there are: OpenEnv's validator does. `/ws` is a socket, which the format does not have.
pub(crate) fn openapi() -> Value {
    let answer = |status: &str, summary: &str| json!({ "summary": summary, "responses": { status: { "description": "done" } } });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "apprentice serve", "version": env!("CARGO_PKG_VERSION") },
        "paths": {
            "/tasks": { "get": answer("200", "The tasks") },
            "/sessions": {
                "get": answer("200", "The open sessions"),
                "post": answer("201", "Opens a session, or a group of them"),
            },
            "/sessions/{id}": {
                "get": answer("200", "How a session stands"),
                "delete": answer("204", "Closes a session"),
            },
            "/sessions/{id}/reset": { "post": answer("200", "Opens a fresh world in the session") },
            "/sessions/{id}/step": { "post": answer("200", "Acts, and ends the episode") },
            "/sessions/{id}/judge": { "post": answer("200", "What the task's checks say now") },
            "/sessions/{id}/fork": { "post": answer("201", "Repeats the first steps in a fresh world") },
            "/health": { "get": answer("200", "Whether the server is there") },
            "/schema": { "get": answer("200", "The schemas of actions, observations and states") },
            "/metadata": { "get": answer("200", "What the server is") },
        },
    })
}
