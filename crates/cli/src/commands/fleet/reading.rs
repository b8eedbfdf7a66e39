//! Opens a run of a queue for commands that read runs: `queue:RUN`.

use std::sync::Arc;
use std::time::Duration;

use apprentice_fleet::{FetchError, OnDemand};
use apprentice_protocol::RunId;
use tempfile::TempDir;

use super::address::QueueAddress;
use super::queue::fetch_failure;
use crate::failure::{Failure, Kind, WithKind as _};
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
        let message = format!("no worker has left anything of the experiment {run} yet");
        return Err(Failure::say(Kind::NothingMatched, message).hint("`apprentice queue` shows who leads it"));
    }
    Ok((Arc::new(opened), Scratch { _folder: folder, _runtime: runtime }))
}
