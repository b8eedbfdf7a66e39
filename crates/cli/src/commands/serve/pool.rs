//! `apprentice serve --sessions N`: many worlds in one server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::Clock;
use apprentice_sandbox::SystemClock;
use apprentice_server::{Access, EpisodeStore, Pool, PoolPorts, PoolSettings, PoolTasks, serve_pool};
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::address::{Served, find_task, listen, tell};
use super::store::RunPerEpisode;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::options::count;
use crate::settings::config::Config;
use crate::{suite, terminal, wire};

/// Options of a server with many sessions.
#[derive(Debug, Args)]
pub(super) struct PoolArgs {
    /// Serve the tasks of the suite in at most so many sessions at once, each with a world of its own: see `docs/serve.md`.
    #[arg(long, value_name = "N", requires = "suite", conflicts_with_all = ["seed", "forward"],
          value_parser = count::at_least_one::<u16>)]
    pub(super) sessions: Option<u16>,
    /// Openings that wait while all sessions are open. One more is refused.
    #[arg(long, value_name = "N", default_value_t = 64, requires = "sessions", value_parser = count::at_least_none::<u16>)]
    queue: u16,
    /// Worlds that are started ahead of time, of the kinds opened last.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sessions", value_parser = count::at_least_none::<u16>)]
    warm: u16,
    /// End a session without a request for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, requires = "sessions", value_parser = count::at_least_one::<u32>)]
    idle_seconds: u32,
    /// Folder for the traces and rows: one run for each episode [default: none are kept].
    #[arg(long, value_name = "DIR", requires = "sessions")]
    out: Option<PathBuf>,
}

/// What is served.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The suite.
    pub(super) suite: &'a Path,
    /// The task of sessions that name none.
    pub(super) task: Option<&'a str>,
}

/// Where the server is, and who it answers.
pub(super) struct ServedAt {
    pub(super) address: SocketAddr,
    pub(super) access: Access,
    /// Whether the address is told as JSON.
    pub(super) json: bool,
}

/// Serves a suite until it is interrupted.
pub(super) fn run(
    arguments: &PoolArgs,
    wanted: Wanted<'_>,
    at: ServedAt,
    config: &Config,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let suite = suite::load(wanted.suite)?;
    let default_task = wanted.task.map(|id| find_task(&suite, id)).transpose()?;
    let default_task = default_task.map(|task| task.id.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let redactor = wire::models(config, Arc::clone(&clock))?.redactor()?;
    let source = wire::ready_worlds(config, Arc::clone(&clock), usize::from(arguments.warm))?;
    let store = match &arguments.out {
        Some(out) => {
            let store = RunPerEpisode::new(out, &suite, Arc::clone(&clock), source.concessions())?;
            Some(Arc::new(store) as Arc<dyn EpisodeStore>)
        }
        None => None,
    };
    let settings = PoolSettings {
        sessions: usize::from(arguments.sessions.unwrap_or(1)),
        queue: usize::from(arguments.queue),
        idle: Duration::from_secs(u64::from(arguments.idle_seconds)),
    };
    let tasks = PoolTasks { suite, default_task, options: config.reading(), redactor };
    let count = tasks.suite.tasks.len();
    let ports = PoolPorts { source, clock, store };
    wire::runtime()?.block_on(async {
        let listener = listen(at.address).await?;
        let bound = listener.local_addr().kind(Kind::Environment)?;
        let pool = Arc::new(Pool::new(tasks, settings, ports, cancel));
        let served = Served::pool(format!("http://{bound}"), settings.sessions, count);
        if at.json {
            tell(&served, true)?;
        } else {
            terminal::line(format_args!(
                "serving {count} tasks in at most {} sessions at {}",
                settings.sessions, served.url
            ));
        }
        serve_pool(listener, pool, at.access).await.kind(Kind::Environment)
    })
}
