//! Runs the user's own commands for resetting and releasing a machine, for example with Docker or a cloud's client.

use std::process::Stdio;
use std::time::Duration;

use apprentice_protocol::{WorldError, WorldErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::address::MachineAddress;

/// Most bytes kept of a command's output.
const OUTPUT_LIMIT: u64 = 64 << 10;
/// How long to wait for the remaining output of a command that has ended.
const OUTPUT_DRAIN: Duration = Duration::from_millis(500);

/// Values passed to a command as environment variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResetContext<'a> {
    /// Number of the machine, from 0: `APPRENTICE_VM_SLOT`.
    pub(super) slot: usize,
    /// Address of the machine, if known: `APPRENTICE_VM_URL`.
    pub(super) place: Option<&'a MachineAddress>,
}

/// Runs a shell command line. If the last line of its output is an address, that is the machine's address now.
pub(super) async fn run(
    line: &str,
    told: ResetContext<'_>,
    within: Duration,
) -> Result<Option<MachineAddress>, WorldError> {
    let failed = |story: String| {
        WorldError::new(WorldErrorKind::Start, format!("the machine was not reset: {line:?} {story}"))
    };
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("APPRENTICE_VM_SLOT", told.slot.to_string());
    if let Some(place) = told.place {
        command.env("APPRENTICE_VM_URL", place.to_string());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(format!("could not be started: {error}")))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let ended = {
        let said = async { tokio::join!(read(stdout, &mut out), read(stderr, &mut err)) };
        tokio::pin!(said);
        tokio::time::timeout(within, async {
            tokio::select! {
                ended = child.wait() => {
                    // Background processes may keep the output open; the output so far is enough.
                    let _ = tokio::time::timeout(OUTPUT_DRAIN, &mut said).await;
                    ended
                }
                _ = &mut said => child.wait().await,
            }
        })
        .await
    };
    let Ok(ended) = ended else {
        return Err(failed(format!("did not end within {} s", within.as_secs_f32())));
    };
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    let status = ended.map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        let tail: String = err.trim().chars().rev().take(400).collect();
        let tail: String = tail.chars().rev().collect();
        return Err(failed(format!("ended with {status}: {tail}")));
    }
    let last = out.lines().map(str::trim).rfind(|line| !line.is_empty());
    Ok(last.filter(|line| line.contains(':')).and_then(|line| line.parse().ok()))
}

/// Reads the output. A broken pipe only ends the reading.
async fn read(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut stream) = stream else { return };
    let _ = (&mut stream).take(OUTPUT_LIMIT).read_to_end(kept).await;
    // Drains further output, so that the command does not block.
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ResetContext, run};

    const SOON: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_command_may_say_where_the_machine_is() {
        let told = ResetContext { slot: 3, place: Some(&"h:5001".parse().expect("a place")) };
        let said =
            async |line: &str| run(line, told, SOON).await.map(|place| place.map(|place| place.to_string()));
        for (line, expected) in [
            ("echo started; echo http://h:$APPRENTICE_VM_SLOT/", "http://h:3/"),
            ("echo \"$APPRENTICE_VM_URL\"", "h:5001"),
        ] {
            assert_eq!(said(line).await.expect("runs").as_deref(), Some(expected), "{line}");
        }
        assert_eq!(said("echo done: all is well").await.expect("runs"), None);
        assert_eq!(said("echo done").await.expect("runs"), None);
        let error = said("echo no such image >&2; exit 3").await.expect_err("fails").to_string();
        assert!(error.contains("exit status: 3: no such image"), "{error}");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended() {
        let told = ResetContext { slot: 0, place: None };
        let error = run("exec tail -f /dev/null", told, Duration::from_millis(100)).await.expect_err("hangs");
        assert!(error.to_string().contains("did not end within"), "{error}");
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_does_not_hold_it_up() {
        let told = ResetContext { slot: 0, place: None };
        let line = "sleep 5 & echo h:5001";
        let place = run(line, told, SOON).await.expect("ends");
        assert_eq!(place.map(|place| place.to_string()).as_deref(), Some("h:5001"));
    }
}
