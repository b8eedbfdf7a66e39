//! Where a server is, as both kinds of `apprentice serve` tell it, and what it serves.

use std::net::SocketAddr;

use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::failure::{Failure, Kind};
use crate::terminal;

/// What `--json` prints once the server answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct Served {
    schema: &'static str,
    pub(super) url: String,
    /// The task's instruction.
    instruction: Option<String>,
    forwards: Vec<ForwardedPort>,
    /// The most sessions at once; absent for the server of a single world.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<usize>,
    /// The number of tasks; absent for the server of a single world.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<usize>,
}

impl Served {
    /// A server of a single world.
    pub(super) fn world(url: String, instruction: Option<String>, forwards: Vec<ForwardedPort>) -> Self {
        Self { schema: "apprentice.serve/1", url, instruction, forwards, sessions: None, tasks: None }
    }

    /// A server of many sessions.
    pub(super) fn pool(url: String, sessions: usize, tasks: usize) -> Self {
        Self { sessions: Some(sessions), tasks: Some(tasks), ..Self::world(url, None, Vec::new()) }
    }
}

// A port inside the world, and the one here that leads to it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ForwardedPort {
    pub(super) inside: u16,
    pub(super) here: u16,
}

/// Listens on an address.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::say(Kind::Environment, format!("cannot listen on {address}: {error}"))
            .hint("name another port with --port, or 0 for a free one")
    })
}

/// Tells where the server is.
pub(super) fn tell(served: &Served, json: bool) -> Result<(), Failure> {
    if json {
        return terminal::json(served);
    }
    terminal::line(format_args!("serving a world at {}", served.url));
    for ForwardedPort { inside, here } in &served.forwards {
        terminal::line(format_args!("port {here} leads to port {inside} inside"));
    }
    Ok(())
}

/// Finds a task of a suite.
pub(super) fn find_task<'s>(suite: &'s Suite, id: &str) -> Result<&'s Task, Failure> {
    suite.task(id).ok_or_else(|| {
        let near = apprentice_protocol::did_you_mean(id, suite.tasks.iter().map(|task| task.id.as_str()));
        Failure::say(Kind::NothingMatched, format!("the suite {:?} has no task {id:?}{near}", suite.name))
    })
}
