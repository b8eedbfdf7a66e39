//! Checkpoints of a desktop's files: copies of the home folder outside of the cell, which fresh worlds begin with.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{ChildProcess, Command, Machine, MachineError};
use tempfile::{NamedTempFile, TempDir};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::problem::{Answer, Problem};

/// Most checkpoints that are kept at a time.
const KEPT: usize = 16;
/// How long one read or write of an archive may take.
const IDLE: Duration = Duration::from_secs(60);
/// Bytes of an archive that are written at a time.
const PIECE: usize = 1 << 16;

/// The files of a home folder as they were.
#[derive(Clone)]
pub(crate) struct Checkpoint {
    archive: Arc<NamedTempFile>,
    /// What the task's setup kept for its checks.
    pub(crate) cache: Arc<TempDir>,
}

/// A checkpoint that was taken just now.
pub(crate) struct TakenCheckpoint {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) bytes: u64,
}

/// Checkpoints by name.
#[derive(Default)]
pub(crate) struct Checkpoints(BTreeMap<String, Checkpoint>);

impl Checkpoints {
    /// Finds a checkpoint.
    pub(crate) fn find(&self, name: &str) -> Option<Checkpoint> {
        self.0.get(name).cloned()
    }

    /// Keeps a checkpoint, in the place of one of its name.
    pub(crate) fn keep(&mut self, name: String, checkpoint: Checkpoint) {
        self.0.insert(name, checkpoint);
    }

    /// Refuses one more name than are kept.
    pub(crate) fn check_room(&self, name: &str) -> Answer<()> {
        if self.0.len() < KEPT || self.0.contains_key(name) {
            return Ok(());
        }
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let names = names.join(", ");
        Err(Problem::request(format!(
            "{KEPT} checkpoints are kept already: take it under one of their names: {names}"
        )))
    }
}

impl Checkpoint {
    /// Copies the files of a world. Returns the bytes of the copy, too.
    pub(crate) async fn of(machine: &dyn Machine, cache: Arc<TempDir>) -> Answer<TakenCheckpoint> {
        let archive = NamedTempFile::new().map_err(|error| no_file(&error))?;
        let bytes = copy_out(machine, archive.path()).await?;
        Ok(TakenCheckpoint { checkpoint: Self { archive: Arc::new(archive), cache }, bytes })
    }

    /// Puts the files into a fresh world, in the place of those that its home has.
    pub(crate) async fn put_into(&self, machine: &dyn Machine) -> Result<(), String> {
        let home = machine.offers().home.clone();
        let emptied = Command::new(["find", &home, "-mindepth", "1", "-delete"]).apart();
        let output = machine.run(&emptied).await.map_err(|error| error.to_string())?;
        if output.code != 0 {
            return Err(format!(
                "the home folder cannot be emptied: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        copy_in(machine, self.archive.path()).await.map_err(|problem| problem.message().to_owned())
    }
}

fn no_file(error: &std::io::Error) -> Problem {
    Problem::world(format!("no file for the checkpoint: {error}"))
}

fn late() -> MachineError {
    MachineError::TimedOut("copying the home folder".into())
}

/// Starts `tar` in the home folder.
async fn tar(machine: &dyn Machine, options: &[&str]) -> Answer<Box<dyn ChildProcess>> {
    let home = machine.offers().home.clone();
    let argv = ["tar", "--file=-", "--directory", &home].into_iter().chain(options.iter().copied());
    Ok(machine.spawn(&Command::new(argv).apart()).await?)
}

/// Waits for the end of `tar`.
async fn ended(child: &mut dyn ChildProcess) -> Answer<()> {
    match tokio::time::timeout(IDLE, child.wait()).await.map_err(|_| late())?? {
        0 => Ok(()),
        // The code of an archive some of whose files were written meanwhile.
        1 => Err(Problem::world(
            "files of the home changed while they were copied: try again once programs rest",
        )),
        code => Err(Problem::world(format!("tar ended with code {code}"))),
    }
}

/// Copies the home folder into an archive, and returns its size.
async fn copy_out(machine: &dyn Machine, archive: &Path) -> Answer<u64> {
    let options = ["--create", "--format=posix", "--one-file-system", "."];
    let mut child = tar(machine, &options).await?;
    let mut file = tokio::fs::File::create(archive).await.map_err(|error| no_file(&error))?;
    let mut bytes = 0;
    loop {
        let piece = tokio::time::timeout(IDLE, child.read()).await.map_err(|_| late())??;
        if piece.is_empty() {
            break;
        }
        bytes += piece.len() as u64;
        file.write_all(&piece).await.map_err(|error| no_file(&error))?;
    }
    file.flush().await.map_err(|error| no_file(&error))?;
    ended(&mut *child).await?;
    Ok(bytes)
}

/// Copies an archive into the home folder.
async fn copy_in(machine: &dyn Machine, archive: &Path) -> Answer<()> {
    let mut child = tar(machine, &["--extract", "--preserve-permissions"]).await?;
    let mut file = tokio::fs::File::open(archive).await.map_err(|error| no_file(&error))?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece).await.map_err(|error| no_file(&error))?;
        if read == 0 {
            break;
        }
        let written = child.write(piece.get(..read).unwrap_or_default());
        tokio::time::timeout(IDLE, written).await.map_err(|_| late())??;
    }
    child.close_input().await?;
    ended(&mut *child).await
}
