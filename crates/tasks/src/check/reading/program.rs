//! Runs a program of this machine on one file: in namespaces of its own, without network, home folder or environment,
//! within bounds of time, memory and output.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// The time after which a program is stopped.
const DEADLINE: Duration = Duration::from_secs(120);
/// Processor seconds and bytes of memory that a program may take.
const PROCESSOR_SECONDS: &str = "--cpu=110";
const MEMORY: &str = "--as=2147483648";
/// Bytes kept of a program's messages.
const MESSAGES: u64 = 2_000;
/// The place of the file inside.
pub(super) const INPUT: &str = "/input";
/// Folders of the system that the program sees, and cannot change.
const SEEN: &[&str] =
    &["/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts"];

/// A reading that has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program is not installed on this machine.
    #[error("the program {0:?} is not installed on this machine: see `apprentice doctor`")]
    Missing(String),
    /// The program cannot be run in namespaces of its own.
    #[error("no program could be started to read a file: {0}")]
    Start(String),
    /// A bound was reached.
    #[error("a reading reached a bound: {0}")]
    Bound(String),
    /// The program says that the file is not one that it reads.
    #[error("the file cannot be read: {0}")]
    Refused(String),
    /// Tests run in the attempt's world alone.
    #[error("the tests of a task run in a world, and there is none")]
    NoWorld,
}

/// One run of a program.
pub(super) struct ProgramRun<'a> {
    /// The program's name, looked up in the system's folders.
    pub(super) program: &'a str,
    /// Its arguments; [`INPUT`] names the file.
    pub(super) arguments: &'a [&'a str],
    /// The file that it reads.
    pub(super) input: &'a [u8],
    /// The most that it may print.
    pub(super) output_limit: u64,
}

/// Receives what a program prints, piece by piece.
pub(super) trait Sink: Send {
    /// Takes the next bytes. Returns whether more are wanted.
    fn take(&mut self, bytes: &[u8]) -> Result<bool, ProgramError>;
}

impl Sink for Vec<u8> {
    fn take(&mut self, bytes: &[u8]) -> Result<bool, ProgramError> {
        self.extend_from_slice(bytes);
        Ok(true)
    }
}

/// Runs the program and returns what it prints.
pub(super) async fn output(run: &ProgramRun<'_>) -> Result<Vec<u8>, ProgramError> {
    let mut printed = Vec::new();
    stream(run, &mut printed).await?;
    Ok(printed)
}

/// Returns the command that runs the program alone with its input: no network, no home, no environment, bounded in time and memory.
fn contained(run: &ProgramRun<'_>, input: &Path) -> Command {
    let mut command = Command::new("prlimit");
    command.args([
        PROCESSOR_SECONDS,
        MEMORY,
        "--core=0",
        "--",
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
    ]);
    command.args([
        "--new-session",
        "--cap-drop",
        "ALL",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
    ]);
    for seen in SEEN {
        command.args(["--ro-bind-try", seen, seen]);
    }
    command.arg("--ro-bind").arg(input).arg(INPUT).args(["--chdir", "/tmp", "--clearenv"]);
    command.args(["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp"]);
    command.args(["--setenv", "LC_ALL", "C.UTF-8", "--setenv", "OMP_THREAD_LIMIT", "1", "--", run.program]);
    command.args(run.arguments).kill_on_drop(true);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program and hands on what it prints. A program whose output is not wanted any more is stopped.
pub(super) async fn stream(run: &ProgramRun<'_>, sink: &mut dyn Sink) -> Result<(), ProgramError> {
    if !is_installed(run.program) {
        return Err(ProgramError::Missing(run.program.to_owned()));
    }
    let start = |error: std::io::Error| ProgramError::Start(error.to_string());
    let folder = tempfile::tempdir().map_err(start)?;
    let input = folder.path().join("input");
    std::fs::write(&input, run.input).map_err(start)?;
    let mut command = contained(run, &input);
    let mut child = command.spawn().map_err(start)?;
    let (Some(printed), Some(told)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(ProgramError::Start("it has no output".into()));
    };
    let work = async {
        let mut messages = Vec::new();
        let (passed, kept) = tokio::join!(pass(printed, run, sink), keep(told, &mut messages));
        kept.map_err(start)?;
        if !passed? {
            return Ok(());
        }
        let status = child.wait().await.map_err(start)?;
        if status.success() {
            return Ok(());
        }
        let output_text = String::from_utf8_lossy(&messages).trim().to_owned();
        if output_text.starts_with("bwrap:") || output_text.starts_with("prlimit:") {
            return Err(ProgramError::Start(output_text));
        }
        let why = format!("{}: {status}: {output_text}", run.program);
        Err(if reached_bound(status, &output_text) {
            ProgramError::Bound(why)
        } else {
            ProgramError::Refused(why)
        })
    };
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(done) => done,
        Err(_) => {
            Err(ProgramError::Bound(format!("{} ran longer than {} s", run.program, DEADLINE.as_secs())))
        }
    }
}

/// Returns whether a program ended because of a bound of time or memory, or of the size of a picture. `bwrap` ends with 128 more than the
/// number of the signal that ended the program.
fn reached_bound(status: ExitStatus, said: &str) -> bool {
    const KILLED: i32 = 128 + 9;
    const PROCESSOR_TIME: i32 = 128 + 24;
    let told = ["Cannot allocate memory", "max pixel count"];
    matches!(status.code(), None | Some(KILLED | PROCESSOR_TIME))
        || told.iter().any(|told| said.contains(told))
}

/// Hands on what is printed, up to the limit. Returns whether all of it was wanted.
async fn pass(
    mut printed: impl AsyncRead + Unpin,
    run: &ProgramRun<'_>,
    sink: &mut dyn Sink,
) -> Result<bool, ProgramError> {
    let (mut piece, mut seen) = (vec![0; 64 << 10], 0);
    loop {
        let count = printed.read(&mut piece).await.map_err(|error| ProgramError::Start(error.to_string()))?;
        if count == 0 {
            return Ok(true);
        }
        seen += count as u64;
        if seen > run.output_limit {
            let why = format!("{} printed more than {} bytes", run.program, run.output_limit);
            return Err(ProgramError::Bound(why));
        }
        if !sink.take(&piece[..count])? {
            return Ok(false);
        }
    }
}

/// Keeps the beginning of the messages and reads all of them, so that the program never waits for a reader.
async fn keep(mut told: impl AsyncRead + Unpin, messages: &mut Vec<u8>) -> std::io::Result<()> {
    let mut piece = vec![0; 4 << 10];
    loop {
        let count = told.read(&mut piece).await?;
        if count == 0 {
            return Ok(());
        }
        let room = usize::try_from(MESSAGES).unwrap_or_default().saturating_sub(messages.len());
        messages.extend_from_slice(&piece[..count.min(room)]);
    }
}

fn is_installed(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|folder| std::path::Path::new(folder).join(program).is_file())
}
