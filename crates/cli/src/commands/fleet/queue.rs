//! `apprentice queue`, `fetch`, `cancel` and `drain`: what a queue holds, its results, and orders to its workers.

use std::path::PathBuf;
use std::time::Duration;

use apprentice_fleet::{
    Cap, CapKind, Depth, Fetched, QueueStatus, RateLimit, RateUnit, RunStatus, fetch as fetched,
};
use apprentice_protocol::{RunId, counted};
use clap::Args;

use super::metrics;
use crate::failure::{Failure, Kind};
use crate::runs::queue_access::{QueueAddress, database_failure, fetch_failure};
use crate::settings::config::Config;
use crate::{terminal, wire};

/// The longest wait between two fetches of a run that is followed.
const FOLLOW: Duration = Duration::from_secs(3);

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
    /// Limit the tokens of all workers' calls to a provider, as PROVIDER=TOKENS per minute; may be repeated.
    #[arg(long, value_name = "PROVIDER=N", value_parser = token_rate)]
    rate_tokens: Vec<RateLimit>,
    /// Cap what the trials of all workers cost per UTC day: on everything (USD), on a model (MODEL=USD), or with a provider's key
    /// (PROVIDER=USD); `none` in place of USD lifts the cap. May be repeated.
    #[arg(long, value_name = "[NAME=]USD", value_parser = cap)]
    day_usd: Vec<Cap>,
    /// Serve the state as metrics in the text form of Prometheus at http://ADDR/metrics, until interrupted.
    #[arg(long, value_name = "ADDR", conflicts_with = "json")]
    metrics: Option<std::net::SocketAddr>,
    /// Print one JSON object (`apprentice.queue-status/1`).
    #[arg(long)]
    json: bool,
}

/// Brings the results of a run into its folder, as `apprentice run` writes it, or the folder of an experiment. Called again, it
/// adds what came since.
#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// The run or the experiment.
    run: String,
    #[command(flatten)]
    queue: QueueAddress,
    /// Parent folder of the run's own folder [default: the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Bring the results without traces and pictures, which is all that the numbers of `report` need. They can be fetched
    /// later.
    #[arg(long)]
    rows_only: bool,
    /// Go on fetching until nothing is open, so that `apprentice view` shows a run that is under way.
    #[arg(long)]
    follow: bool,
}

/// Cancels a run or an experiment: no trial of it begins any more, and those under way end as void.
///
/// A run of an experiment takes the experiment with it.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The run or the experiment.
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

fn token_rate(text: &str) -> Result<RateLimit, String> {
    rate(text).map(|limit| RateLimit { unit: RateUnit::Tokens, ..limit })
}

fn cap(text: &str) -> Result<Cap, String> {
    let (name, usd) = text.split_once('=').unwrap_or(("", text));
    let kind = match name {
        "" => CapKind::Day,
        name if name.contains('/') => CapKind::Model,
        _ => CapKind::Key,
    };
    let max_usd = match usd {
        "none" => None,
        usd => {
            let number = usd.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0);
            Some(number.ok_or_else(|| format!("{usd:?} is no amount of US dollars; `none` lifts a cap"))?)
        }
    };
    Ok(Cap { kind, name: name.to_owned(), max_usd })
}

fn rate(text: &str) -> Result<RateLimit, String> {
    let (key, number) = text.split_once('=').ok_or("expected PROVIDER=N, for example anthropic=600")?;
    let per_minute = number.parse().ok().filter(|number| *number > 0);
    let per_minute = per_minute.ok_or_else(|| format!("{number:?} is no number of calls per minute"))?;
    Ok(RateLimit { key: key.to_owned(), unit: RateUnit::Calls, per_minute })
}

/// Runs `queue`.
pub(super) fn run(arguments: &QueueCommand) -> Result<(), Failure> {
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(arguments.migrate).await?;
        for limit in arguments.rate.iter().chain(&arguments.rate_tokens) {
            limit.set(queue.database()).await.map_err(database_failure)?;
        }
        for cap in &arguments.day_usd {
            queue.set_cap(cap).await.map_err(database_failure)?;
        }
        if let Some(address) = arguments.metrics {
            return metrics::serve(queue, address).await;
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
    for one in &status.experiments {
        let leader = one.leader.as_ref().map_or_else(String::new, |leader| format!(", led by {leader}"));
        let spent = if one.learning_usd > 0.0 {
            format!(", learning cost ${:.2}", one.learning_usd)
        } else {
            String::new()
        };
        terminal::line(format_args!("experiment {}: {}{leader}{spent}", one.experiment, one.state));
        if let Some(cap) = &one.learning_waits_for {
            terminal::line(format_args!("  the cap of the {cap} leaves no money for learning today"));
        }
        if let Some(trouble) = one.trouble.as_ref().filter(|_| one.state != "done") {
            terminal::line(format_args!("  last trouble: {trouble}"));
        }
    }
    for cap in &status.caps {
        let what = if cap.name.is_empty() { "everything" } else { &cap.name };
        terminal::line(format_args!(
            "cap of {what}: ${:.2} a day, ${:.2} spent today, ${:.2} reserved",
            cap.max_usd, cap.spent_usd, cap.reserved_usd
        ));
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
    if status.runs.is_empty() && status.experiments.is_empty() {
        terminal::note(format_args!("the queue holds no run and no experiment"));
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
        let depth = if arguments.rows_only { Depth::Rows } else { Depth::Files };
        let (mut first, interrupted) = (true, wire::cancel_on_interrupt());
        loop {
            let found = fetched(&queue, &run, root, depth).await.map_err(fetch_failure)?;
            let here = found.folder.is_dir();
            if here && std::mem::take(&mut first) {
                terminal::line(format_args!("{}", found.folder.display()));
            }
            let last = found.open == 0 || !arguments.follow || interrupted.is_cancelled();
            if last && !here {
                return Err(Failure::say(
                    Kind::NothingMatched,
                    format!("no worker has left anything of the experiment {run} yet"),
                )
                .hint("fetch it later, or give --follow; `apprentice queue` shows who leads it"));
            }
            if found.added > 0 || last {
                terminal::note(format_args!("{}", brought(&found)));
            }
            if last {
                return Ok(());
            }
            queue.changed_or(FOLLOW, &interrupted).await;
        }
    })
}

/// What a fetch has brought, and what is open.
fn brought(found: &Fetched) -> String {
    if let Some(state) = &found.experiment {
        return format!("{} brought; the experiment is {state}", counted(found.added, "file"));
    }
    let open = match (found.open, found.missing) {
        (0, 0) => "nothing is open".to_owned(),
        (0, missing) => format!("nothing is open; {} will have no result", counted(missing, "trial")),
        (open, _) => format!("{} open", counted(open, "trial")),
    };
    format!("{} added; {open}", counted(found.added, "attempt"))
}

/// Runs `cancel`.
pub(super) fn cancel(arguments: &Cancel) -> Result<(), Failure> {
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(false).await?;
        let run = RunId::new(arguments.run.clone());
        match queue.cancel(&run).await.map_err(database_failure)? {
            true => {
                terminal::note(format_args!(
                    "{run} is cancelled; `apprentice fetch {run}` brings what was done"
                ));
                Ok(())
            }
            false => {
                Err(Failure::say(Kind::NothingMatched, format!("the queue has no run or experiment {run}"))
                    .hint("`apprentice queue` lists them"))
            }
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
