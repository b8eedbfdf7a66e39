//! Opens a run of a queue for commands that read runs: `queue:RUN`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_fleet::{Depth, FetchError, Fetched, OnDemand, fetch};
use apprentice_protocol::{RunId, counted};
use tempfile::TempDir;

use super::address::{QueueAddress, database_failure};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;
use crate::wire::{self, CommandRuntime};

/// A person waits: a store or a database that is away for longer is told.
const PATIENCE: Duration = Duration::from_secs(20);

/// What ends with the reading: the folder of what was brought, and what talks with database and store.
pub(crate) struct Scratch {
    _folder: TempDir,
    _runtime: CommandRuntime,
}

/// Opens a run or an experiment of the queue that the environment names.
pub(crate) fn opened(run: &str) -> Result<(Arc<OnDemand>, Scratch), Failure> {
    let (runtime, folder) = (wire::runtime()?, tempfile::tempdir().kind(Kind::Environment)?);
    let queue = runtime.block_on(QueueAddress::of_environment().open_within(PATIENCE))?;
    let run = RunId::new(run);
    let opened = OnDemand::open(queue, &run, folder.path(), runtime.handle()?);
    let opened = opened.map_err(|error| match error {
        FetchError::NoRun(_) => Failure::new(Kind::NothingMatched, error),
        other => fetch_failure(other),
    })?;
    let is_empty = opened.folder().read_dir().kind(Kind::Environment)?.next().is_none();
    if is_empty {
        return Err(nothing_left(&run));
    }
    Ok((Arc::new(opened), Scratch { _folder: folder, _runtime: runtime }))
}

fn nothing_left(run: &RunId) -> Failure {
    let message = format!("no worker has left anything of the experiment {run} yet");
    Failure::say(Kind::NothingMatched, message).hint("`apprentice queue` shows who leads it")
}

/// Brings all that the queue of the environment has of a run or an experiment. Its folder is in one below `near` that goes with
/// the value returned.
pub(crate) fn whole(run: &str, near: &Path) -> Result<(PathBuf, TempDir), Failure> {
    let scratch = tempfile::Builder::new().prefix(".apprentice-queue-").tempdir_in(near);
    let scratch =
        scratch.map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", near.display())))?;
    let run = RunId::new(run);
    let found = wire::runtime()?.block_on(async {
        let interrupted = wire::cancel_on_interrupt();
        let brought = async {
            let queue = QueueAddress::of_environment().open_within(PATIENCE).await?;
            fetch(&queue, &run, scratch.path(), Depth::Files).await.map_err(fetch_failure)
        };
        tokio::select! {
            found = brought => found,
            () = interrupted.cancelled() => Err(Failure::say(Kind::Interrupted, "interrupted; nothing was written")),
        }
    })?;
    if !found.folder.is_dir() {
        return Err(nothing_left(&run));
    }
    if let Some(open) = unfinished(&found) {
        terminal::note(format_args!("{open}"));
    }
    Ok((found.folder, scratch))
}

/// What a run or an experiment lacks that was brought before its end, or has ended without all results.
fn unfinished(found: &Fetched) -> Option<String> {
    match (found.experiment.as_deref(), found.open, found.missing) {
        (None, 0, 0) | (Some("done"), ..) => None,
        (Some(state), ..) => Some(format!("the experiment is {state}; this is its last copy")),
        (None, 0, missing) => Some(format!("{} will have no result", counted(missing, "trial"))),
        (None, open, _) => Some(format!("{} open; these are the results until now", counted(open, "trial"))),
    }
}

/// Returns the failure of a fetch.
pub(crate) fn fetch_failure(error: FetchError) -> Failure {
    match error {
        FetchError::NoRun(_) => Failure::new(Kind::NothingMatched, error),
        FetchError::Other(_)
        | FetchError::Continued(_)
        | FetchError::Changed(_)
        | FetchError::Stored { .. } => Failure::new(Kind::Config, error),
        FetchError::Database(error) => database_failure(error),
        other => Failure::new(Kind::Environment, other),
    }
}
