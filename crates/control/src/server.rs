//! Answers at the control socket.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::live_runs::LiveRuns;
use crate::message::{Answer, Ask, Picture};
use crate::place::ControlPlace;

/// The longest question in bytes: an action with a long text.
const QUESTION: u64 = 256 << 10;
/// The most connections at a time.
const CONNECTIONS: usize = 64;

/// Answers for this process until it is cancelled, at a socket that this user alone can open.
///
/// # Errors
///
/// Fails if the socket cannot be opened. What goes wrong with one connection ends that connection alone.
pub async fn serve(
    place: Arc<ControlPlace>,
    runs: Arc<LiveRuns>,
    cancel: CancellationToken,
) -> io::Result<()> {
    let path = place.socket(std::process::id());
    match std::fs::remove_file(&path) {
        // A process of the same id has left it.
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(&path)?;
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = cancel.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, _) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a watcher could not be connected");
                continue;
            }
        };
        let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
        let (true, Ok(permit)) = (is_own, Arc::clone(&free).try_acquire_owned()) else { continue };
        let (runs, cancel) = (Arc::clone(&runs), cancel.clone());
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                ended = converse(stream, &runs) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a watcher's connection ended");
                    }
                }
            }
            drop(permit);
        });
    }
    drop(listener);
    place.leave();
    Ok(())
}

async fn converse(stream: UnixStream, runs: &Arc<LiveRuns>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut line = String::new();
    loop {
        line.clear();
        if (&mut read).take(QUESTION).read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_str(&line) {
            Ok(Ask::Watch) => return watch(read, write, runs).await,
            Ok(Ask::Status) => Answer::Status(Box::new(runs.status())),
            Ok(Ask::Picture { trial }) => picture(runs, &trial),
            Ok(Ask::Order(order)) => runs.order(&order).await,
            Err(error) => Answer::Refused { why: format!("not understood: {error}") },
        };
        say(&mut write, &answer).await?;
    }
}

fn picture(runs: &LiveRuns, trial: &str) -> Answer {
    match runs.picture(trial) {
        Some(shot) => Answer::Picture(Picture { media: shot.media, base64: STANDARD.encode(&*shot.bytes) }),
        None => Answer::Refused { why: format!("there is no picture of the trial {trial}") },
    }
}

/// Sends the state now and after each change. Changes that come faster than the watcher reads are sent as one.
async fn watch(
    mut read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
    runs: &Arc<LiveRuns>,
) -> io::Result<()> {
    let mut changes = runs.changes();
    loop {
        changes.mark_unchanged();
        say(&mut write, &Answer::Status(Box::new(runs.status()))).await?;
        let mut rest = [0; 1];
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return Ok(()) },
            // A watcher says nothing more, so this is the end of the connection.
            read = read.read(&mut rest) => return read.map(drop),
        }
    }
}

async fn say(write: &mut OwnedWriteHalf, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_string(answer).map_err(io::Error::other)?;
    line.push('\n');
    write.write_all(line.as_bytes()).await
}
