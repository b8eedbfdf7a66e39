//! The port through which setup and checks reach into a world.
//!
//! Every method can be served over the OSWorld server protocol alone; each names its endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Image, PortFuture, Rect, TreeBudget, UiTree};

/// A command to be run inside the world, never on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// Program and arguments; for a shell line, `["sh", "-c", line]`.
    pub argv: Vec<String>,
    /// Folder to start in; the user's home if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the world's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Bytes for standard input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stdin: Vec<u8>,
    /// Deadline in milliseconds; the command and what it started are killed at it.
    pub timeout_ms: u64,
    /// At most so many bytes of each output stream are kept.
    pub output_limit: u64,
}

impl Command {
    /// A command with a deadline of 30 s and 4 MiB of output.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Vec::new(),
            stdin: Vec::new(),
            timeout_ms: 30_000,
            output_limit: 4 << 20,
        }
    }

    /// A line for the POSIX shell.
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(["sh".to_owned(), "-c".to_owned(), line.into()])
    }

    /// The same command with another deadline.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self
    }
}

/// What a command left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Exit code; 128 plus the signal when a signal ended it; 124 when the deadline did.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Whether the deadline ended it.
    pub timed_out: bool,
    /// Whether output beyond the limit was dropped.
    pub cut: bool,
}

impl Output {
    /// Standard output as text, broken bytes replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A process started inside the world with piped standard streams. Dropping it kills the process.
pub trait ChildProcess: Send {
    /// Writes all bytes to its standard input.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> PortFuture<'a, Result<(), MachineError>>;
    /// Closes its standard input.
    fn close_input(&mut self) -> PortFuture<'_, Result<(), MachineError>>;
    /// The next bytes of its standard output; empty at the end.
    fn read(&mut self) -> PortFuture<'_, Result<Vec<u8>, MachineError>>;
    /// Waits for its end and returns the exit code.
    fn wait(&mut self) -> PortFuture<'_, Result<i32, MachineError>>;
    /// Kills it and what it started.
    fn kill(&mut self) -> PortFuture<'_, Result<(), MachineError>>;
}

/// A file's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link, not followed.
    Link,
    /// Anything else.
    Other,
}

/// One entry below a listed folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirEntry {
    /// Path relative to the listed folder, `/` between parts.
    pub path: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Bytes, for files.
    pub size: u64,
}

/// A top-level window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The window system's id, as hexadecimal text.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its class (`WM_CLASS`), which names the program.
    pub class: String,
    /// Where it is.
    pub bounds: Rect,
    /// Whether it is the active one.
    pub active: bool,
    /// The id of the process that owns it, inside the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// Something a [`Machine`] may or may not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Reading, writing, listing and removing files.
    Files,
    /// Running commands.
    Commands,
    /// Starting piped processes.
    Processes,
    /// The interface tree.
    Tree,
    /// Pictures of the screen.
    Screenshots,
    /// The window list.
    Windows,
    /// Reaching TCP ports.
    Ports,
}

/// What a world offers, known before a run starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offers {
    /// What it can do.
    pub capabilities: std::collections::BTreeSet<Capability>,
    /// The user's home folder inside.
    pub home: String,
    /// Screen size in pixels, where there is a screen.
    pub screen: Option<crate::Size>,
}

/// A loopback address that leads to a port inside the world for as long as this value lives.
pub struct Dial {
    /// Where to connect on this machine.
    pub address: SocketAddr,
    /// Keeps the way open; dropping it closes it.
    pub guard: Box<dyn Send + Sync>,
}

/// Why a machine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// It cannot do this kind of thing at all.
    #[error("this world does not offer {0:?}")]
    Unsupported(Capability),
    /// The path does not exist.
    #[error("no such file or folder in the world: {0}")]
    NotFound(String),
    /// The request itself was refused (permission, is a folder, bad path).
    #[error("{what}: {why}")]
    Refused {
        /// What was asked.
        what: String,
        /// Why not.
        why: String,
    },
    /// The program is not installed in the world.
    #[error("program {0:?} is not installed in the world")]
    MissingProgram(String),
    /// The world answers no more: infrastructure, never the model's failure.
    #[error("the world was lost: {0}")]
    Lost(String),
    /// The deadline of the request passed.
    #[error("{0} did not answer in time")]
    TimedOut(String),
}

/// What setup and checks need of a world. Safe to call while the environment acts.
pub trait Machine: Send + Sync {
    /// What can be asked of it.
    fn offers(&self) -> &Offers;
    /// Reads a whole file (`POST /file`).
    fn read<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Vec<u8>, MachineError>>;
    /// Writes a file, making its folders (`POST /setup/upload`).
    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> PortFuture<'a, Result<(), MachineError>>;
    /// Lists everything below a folder, sorted by path (`POST /list_directory`).
    fn list<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Vec<DirEntry>, MachineError>>;
    /// Removes a file, or a folder with all below it (`POST /execute`).
    fn remove<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<(), MachineError>>;
    /// Runs a command to its end (`POST /execute`).
    fn run<'a>(&'a self, command: &'a Command) -> PortFuture<'a, Result<Output, MachineError>>;
    /// Starts a piped process (`POST /setup/launch`, without pipes there).
    fn spawn<'a>(
        &'a self,
        command: &'a Command,
    ) -> PortFuture<'a, Result<Box<dyn ChildProcess>, MachineError>>;
    /// Starts a program that outlives the call and belongs to the world (`POST /setup/launch`).
    fn launch<'a>(&'a self, command: &'a Command) -> PortFuture<'a, Result<(), MachineError>>;
    /// Reads the interface tree (`GET /accessibility`).
    fn tree<'a>(&'a self, budget: &'a TreeBudget) -> PortFuture<'a, Result<UiTree, MachineError>>;
    /// The interface tree as the machine itself writes it, for those that do (`GET /accessibility`): it holds what
    /// [`UiTree`] has no word for, and checks made for that form look at it.
    fn tree_document(&self) -> PortFuture<'_, Result<Option<String>, MachineError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Takes a picture (`GET /screenshot`).
    fn screenshot(&self) -> PortFuture<'_, Result<Image, MachineError>>;
    /// Lists top-level windows, front to back (`POST /execute` with the window tools of the image).
    fn windows(&self) -> PortFuture<'_, Result<Vec<Window>, MachineError>>;
    /// Opens a way to a TCP port inside (the port itself, on the VM's address).
    fn dial(&self, port: u16) -> PortFuture<'_, Result<Dial, MachineError>>;
}
