//! Runs the clone's evaluation code with a recording stand-in for its sandbox, and reads what it recorded.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::super::conversion::ConversionError;

const PLAN: &str = include_str!("plan.py");
/// How long the clone's code may take for all tasks.
const DEADLINE: Duration = Duration::from_secs(300);
/// Largest size of the record, and of what the code writes as an error, in bytes.
const RECORD: u64 = 64 << 20;
const ERRORS: u64 = 64 << 10;
/// The code of the script where the clone has another form.
const OTHER_FORM: i32 = 3;

/// What the clone's code does for all tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) screen: Value,
    /// The steps that upstream gives an agent.
    pub(super) steps: u32,
    pub(super) tasks: Vec<PlannedTask>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A task that cannot be taken.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeftOut {
    pub(super) task: String,
    pub(super) why: String,
}

/// What the clone's code does for one task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlannedTask {
    pub(super) id: String,
    pub(super) app: String,
    pub(super) instruction: String,
    pub(super) steps: Vec<PlannedStep>,
    pub(super) ready: Option<ReadyCheck>,
    pub(super) window: Value,
    pub(super) save: Option<Value>,
    /// The verifier in the clone, and where upstream puts it.
    pub(super) verifier: String,
    pub(super) verifier_path: String,
    /// Whether the setup reads what a command prints.
    pub(super) guesses: bool,
    pub(super) checks: Vec<Value>,
}

/// One thing that the code asked its sandbox for.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum PlannedStep {
    File {
        local: String,
        path: String,
    },
    Write {
        path: String,
        text: String,
    },
    Run {
        command: String,
        #[serde(default)]
        may_fail: bool,
    },
    Launch {
        command: String,
    },
}

/// What the code asks until the program is ready.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadyCheck {
    pub(super) commands: Vec<String>,
    pub(super) until: Value,
}

impl PlannedTask {
    /// The task's files in the clone, each with its name in the suite.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, String)> {
        self.steps.iter().filter_map(|step| match step {
            PlannedStep::File { local, .. } => Some((local.as_str(), self.file(local))),
            _ => None,
        })
    }

    /// The suite's name of one of the task's files.
    pub(super) fn file(&self, local: &str) -> String {
        let own = local.strip_prefix(&format!("tasks/{}/env/", self.id)).unwrap_or(local);
        format!("files/{}/{own}", self.id)
    }
}

/// Returns what the clone's code does, without a network where this machine has bubblewrap.
pub(super) fn record(clone: &Path) -> Result<Plan, ConversionError> {
    let bad = |path: &Path, problem: String| ConversionError::Content { path: path.to_owned(), problem };
    let core = clone.join(super::CORE);
    let mut command = confined(clone);
    command.args(["python3", "-I", "-c", PLAN]).arg(clone).current_dir(clone);
    let (status, output, errors) = run(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            bad(&core, "its code needs the program \"python3\" on this machine".into())
        }
        io::ErrorKind::TimedOut => bad(&core, format!("its code took more than {} s", DEADLINE.as_secs())),
        _ => ConversionError::Io { path: core.clone(), source: error },
    })?;
    let output_text = String::from_utf8_lossy(&errors);
    let last = output_text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    if status.code() == Some(OTHER_FORM) {
        let (file, problem) = last.split_once(": ").unwrap_or(("", last));
        return Err(bad(&clone.join(file), problem.to_owned()));
    }
    if !status.success() {
        return Err(bad(&core, format!("its code ended with {status}: {last}")));
    }
    if output.len() as u64 > RECORD {
        return Err(bad(&core, format!("its code asks for more than {RECORD} bytes of setup")));
    }
    serde_json::from_slice(&output)
        .map_err(|error| bad(&core, format!("what its code does is not clear: {error}")))
}

/// Returns the beginning of a command that runs with nothing to write to and without a network, if this machine can do that.
fn confined(clone: &Path) -> Command {
    let build = || {
        let mut command = Command::new("bwrap");
        command.args([
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--ro-bind",
        ]);
        command.arg(clone).arg(clone).args([
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--chdir",
        ]);
        command.arg(clone);
        command
    };
    let works = build().arg("true").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) { build() } else { Command::new("env") }
}

/// Runs a command to its end or the deadline; returns its status, its output and its errors, the latter two bounded.
fn run(command: &mut Command) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pipes = child.stdout.take().zip(child.stderr.take());
    let (output, errors) = pipes.ok_or_else(|| io::Error::other("its output is not connected"))?;
    let (output, errors) = (in_background(output, RECORD + 1), in_background(errors, ERRORS));
    // Its output ends with it.
    let Ok(output) = output.recv_timeout(DEADLINE) else {
        child.kill()?;
        child.wait()?;
        return Err(io::ErrorKind::TimedOut.into());
    };
    let status = child.wait()?;
    Ok((status, output?, errors.recv_timeout(DEADLINE).map_err(|_| io::ErrorKind::TimedOut)??))
}

/// Reads a pipe to its end; what is over the limit is passed over, since a full pipe would hold up the writer.
fn in_background(mut pipe: impl Read + Send + 'static, limit: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.by_ref().take(limit).read_to_end(&mut bytes);
        let read = read.and_then(|_| io::copy(&mut pipe, &mut io::sink())).map(|_| bytes);
        // Nobody waits for it after the deadline.
        drop(sender.send(read));
    });
    receiver
}
