//! `apprentice queue`, `fetch`, `cancel` and `drain`: what a queue holds, its results, and orders to its workers.

use std::path::PathBuf;

use apprentice_fleet::{FetchError, QueueStatus, RateLimit, RunStatus, fetch as fetched};
use apprentice_protocol::{RunId, counted};
use clap::Args;

use super::address::{QueueAddress, database_failure};
use crate::config::Config;
use crate::failure::{Failure, Kind};
use crate::{terminal, wire};

/// Shows what a queue holds: runs, why their trials wait or died, and workers.
#[derive(Debug, Args)]
pub(crate) struct QueueCommand {
    #[command(flatten)]
    queue: QueueAddress,
    /// Make the queue's tables, or bring them to the version of this program.
    #[arg(long)]
    migrate: bool,
    /// Limit the calls of all workers to a provider, as PROVIDER=CALLS per minute; may be repeated.
    #[arg(long, value_name = "PROVIDER=N", value_parser = rate)]
    rate: Vec<RateLimit>,
    /// Print one JSON object (`apprentice.queue-status/1`).
    #[arg(long)]
    json: bool,
}

/// Brings the results of a run into its folder, as `apprentice run` writes it. Called again, it adds what came since.
#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// The run.
    run: String,
    #[command(flatten)]
    queue: QueueAddress,
    /// Parent folder of the run's own folder [default: the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Cancels a run: no trial of it begins any more, and those under way end as void.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The run.
    run: String,
    #[command(flatten)]
    queue: QueueAddress,
}

/// Has workers finish what they have begun, and then end.
#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// The worker [default: all that work now].
    worker: Option<String>,
    #[command(flatten)]
    queue: QueueAddress,
}

fn rate(text: &str) -> Result<RateLimit, String> {
    let (key, number) = text.split_once('=').ok_or("expected PROVIDER=N, for example anthropic=600")?;
    let per_minute = number.parse().ok().filter(|number| *number > 0);
    let per_minute = per_minute.ok_or_else(|| format!("{number:?} is no number of calls per minute"))?;
    Ok(RateLimit { key: key.to_owned(), per_minute })
}

/// Runs `queue`.
pub(super) fn run(arguments: &QueueCommand) -> Result<(), Failure> {
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(arguments.migrate).await?;
        for limit in &arguments.rate {
            limit.set(queue.database()).await.map_err(database_failure)?;
        }
        let status = queue.status().await.map_err(database_failure)?;
        match arguments.json {
            true => terminal::json(&status),
            false => {
                show(&status);
                Ok(())
            }
        }
    })
}

fn show(status: &QueueStatus) {
    for run in &status.runs {
        terminal::line(format_args!("{}", line(run)));
        for why in &run.waits_for {
            terminal::line(format_args!("  {why}"));
        }
    }
    for worker in &status.workers {
        terminal::line(format_args!(
            "worker {}: {}, {} running, last sign of life {:.0} s ago; offers {}",
            worker.worker,
            worker.state,
            worker.running,
            worker.silent_s,
            worker.offers.join(", ")
        ));
    }
    if status.runs.is_empty() {
        terminal::note(format_args!("the queue holds no run"));
    }
}

fn line(run: &RunStatus) -> String {
    let counts = format!(
        "run {}: {}, {} waiting, {} running, {} done",
        run.run, run.state, run.waiting, run.running, run.done
    );
    let void: Vec<String> = run.void.iter().map(|(cause, number)| format!("{cause} {number}")).collect();
    let more = [
        ("dead", (run.dead > 0).then(|| run.dead.to_string())),
        ("void attempts", (!void.is_empty()).then(|| void.join(", "))),
        ("late results refused", (run.refused > 0).then(|| run.refused.to_string())),
        ("spent", run.cost_usd.map(|usd| format!("${usd:.2}"))),
        ("cap", run.max_usd.map(|usd| format!("${usd:.2}"))),
    ];
    let more = more.into_iter().filter_map(|(label, shown)| Some(format!("{label}: {}", shown?)));
    std::iter::once(counts).chain(more).collect::<Vec<_>>().join(", ")
}

/// Runs `fetch`.
pub(super) fn fetch(arguments: &Fetch, config: &Config) -> Result<(), Failure> {
    let root = arguments.out.as_deref().unwrap_or(&config.runs);
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(false).await?;
        let run = RunId::new(arguments.run.clone());
        let found = fetched(&queue, &run, root).await.map_err(fetch_failure)?;
        terminal::line(format_args!("{}", found.folder.display()));
        let open = match found.open {
            0 => "every trial has its result".to_owned(),
            open => format!("{} without a result; fetch again later", counted(open, "trial")),
        };
        terminal::note(format_args!("{} added; {open}", counted(found.added, "attempt")));
        Ok(())
    })
}

fn fetch_failure(error: FetchError) -> Failure {
    match error {
        FetchError::NoRun(_) => Failure::new(Kind::NothingMatched, error),
        FetchError::Other(_) | FetchError::Continued(_) | FetchError::Stored { .. } => {
            Failure::new(Kind::Config, error)
        }
        FetchError::Database(error) => database_failure(error),
        other => Failure::new(Kind::Environment, other),
    }
}

/// Runs `cancel`.
pub(super) fn cancel(arguments: &Cancel) -> Result<(), Failure> {
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(false).await?;
        let run = RunId::new(arguments.run.clone());
        match queue.cancel(&run).await.map_err(database_failure)? {
            true => {
                terminal::note(format_args!(
                    "run {run} is cancelled; `apprentice fetch {run}` brings what was done"
                ));
                Ok(())
            }
            false => Err(Failure::say(Kind::NothingMatched, format!("the queue has no run {run}"))
                .hint("`apprentice queue` lists its runs")),
        }
    })
}

/// Runs `drain`.
pub(super) fn drain(arguments: &Drain) -> Result<(), Failure> {
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(false).await?;
        let drained = queue.drain(arguments.worker.as_deref()).await.map_err(database_failure)?;
        match drained.is_empty() {
            true => Err(Failure::say(Kind::NothingMatched, "no worker of this name works")
                .hint("`apprentice queue` lists the workers")),
            false => {
                terminal::note(format_args!(
                    "{} end after what they have begun: {}",
                    counted(drained.len(), "worker"),
                    drained.join(", ")
                ));
                Ok(())
            }
        }
    })
}
