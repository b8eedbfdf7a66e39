//! The agent's process, with those that it starts.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// So much of what an agent says on its standard error is kept, from the end, in bytes.
const TAIL_BYTES: usize = 2 << 10;

/// A process group of its own, which is killed when this is dropped.
pub(super) struct AgentProcess {
    child: Child,
    group: Option<Pid>,
    tail: Arc<Mutex<Vec<u8>>>,
    /// Reads its standard error to the end.
    reading: JoinHandle<()>,
}

impl AgentProcess {
    /// Starts a command in a folder.
    pub(super) fn start(
        command: &str,
        folder: &std::path::Path,
    ) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let missing = || std::io::Error::other("a stream of the agent is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let mut errors = child.stderr.take().ok_or_else(missing)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let tail = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&tail);
        let reading = tokio::spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok(read @ 1..) = errors.read(&mut buffer).await {
                let mut tail = kept.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&buffer[..read]);
                let old = tail.len().saturating_sub(TAIL_BYTES);
                tail.drain(..old);
            }
        });
        Ok((Self { child, group, tail, reading }, input, output))
    }

    /// What it said last on its standard error.
    pub(super) fn last_words(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).trim().to_owned()
    }

    /// Waits for its end, and for that of its standard error.
    pub(super) async fn ended(&mut self, within: Duration) {
        let ended = async {
            let _ = self.child.wait().await;
            if !self.reading.is_finished() {
                let _ = (&mut self.reading).await;
            }
        };
        // What is left is killed.
        let _ = tokio::time::timeout(within, ended).await;
    }
}

impl Drop for AgentProcess {
    /// The group's number stays taken while one of it lives; an empty group is no error.
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
