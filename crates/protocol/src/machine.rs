//! The port through which setup and checks access a world.
//!
//! The OSWorld server protocol alone is enough to implement every method; each method names its endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BoxFuture, Image, Rect, TreeBudget, UiTree};

/// A command to run inside the world, never on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// Program and arguments; for a shell line, `["sh", "-c", line]`.
    pub argv: Vec<String>,
    /// Working folder; the user's home folder if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Additional environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Contents of standard input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stdin: Vec<u8>,
    /// Time limit in milliseconds; then the command and its child processes are killed.
    pub timeout_ms: u64,
    /// Maximum number of bytes kept of each output stream.
    pub output_limit: u64,
    /// Whether the machine's other programs are kept from the running command, where the machine can do that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}

impl Command {
    /// Creates a command with a time limit of 30 s and an output limit of 4 MiB.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Vec::new(),
            stdin: Vec::new(),
            timeout_ms: 30_000,
            output_limit: 4 << 20,
            apart: false,
        }
    }

    /// Creates a command that runs a line in the POSIX shell.
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(["sh".to_owned(), "-c".to_owned(), line.into()])
    }

    /// Keeps the machine's other programs from the command, as its output decides a verdict.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self
    }
}

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Exit code; 128 plus the signal number if a signal ended the command; 124 after the time limit.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Whether the time limit ended the command.
    pub timed_out: bool,
    /// Whether output beyond the limit was dropped.
    pub cut: bool,
}

impl Output {
    /// Returns standard output as text; invalid UTF-8 is replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A process started inside the world with piped standard streams. Dropping it kills the process.
pub trait ChildProcess: Send {
    /// Writes all bytes to the process's standard input.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>>;
    /// Closes the process's standard input.
    fn close_input(&mut self) -> BoxFuture<'_, Result<(), MachineError>>;
    /// Reads the next bytes of standard output; empty at the end.
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<u8>, MachineError>>;
    /// Waits for the end of the process and returns the exit code.
    fn wait(&mut self) -> BoxFuture<'_, Result<i32, MachineError>>;
    /// Kills the process and its child processes.
    fn kill(&mut self) -> BoxFuture<'_, Result<(), MachineError>>;
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link, which is not followed.
    Link,
    /// Anything else.
    Other,
}

/// One entry of a recursive listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirEntry {
    /// Path relative to the listed folder, separated by `/`.
    pub path: String,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// Size in bytes, for files.
    pub size: u64,
}

/// A top-level window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The window system's id as hexadecimal text.
    pub id: String,
    /// The window's title.
    pub title: String,
    /// The window class (`WM_CLASS`), which names the program.
    pub class: String,
    /// The position and size on the screen.
    pub bounds: Rect,
    /// Whether this is the active window.
    pub active: bool,
    /// Process id of the owner, inside the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// An optional capability of a [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Reading, writing, listing and removing files.
    Files,
    /// Running commands.
    Commands,
    /// Starting piped processes.
    Processes,
    /// Reading the accessibility tree.
    Tree,
    /// Taking screenshots.
    Screenshots,
    /// Listing windows.
    Windows,
    /// Connecting to TCP ports.
    Ports,
}

/// The capabilities and parameters of a world, known before a run starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineInfo {
    /// The available capabilities.
    pub capabilities: std::collections::BTreeSet<Capability>,
    /// The user's home folder inside the world.
    pub home: String,
    /// Screen size in pixels, if there is a screen.
    pub screen: Option<crate::Size>,
}

/// A loopback address that forwards to a port inside the world while this value exists.
pub struct PortForward {
    /// The address to connect to on this machine.
    pub address: SocketAddr,
    /// Keeps the forwarding open; dropping it closes the port.
    pub guard: Box<dyn Send + Sync>,
}

/// An error of a machine operation.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The machine lacks this capability.
    #[error("this world does not offer {0:?}")]
    Unsupported(Capability),
    /// The path does not exist.
    #[error("no such file or folder in the world: {0}")]
    NotFound(String),
    /// The request was refused (permission, is a folder, invalid path).
    #[error("{what}: {why}")]
    Refused {
        /// The request.
        what: String,
        /// The reason.
        why: String,
    },
    /// The program is not installed in the world.
    #[error("program {0:?} is not installed in the world")]
    MissingProgram(String),
    /// The world no longer responds: an infrastructure failure, never the model's.
    #[error("the world was lost: {0}")]
    Lost(String),
    /// The request timed out.
    #[error("{0} did not answer in time")]
    TimedOut(String),
}

/// The interface of setup and checks to a world. Safe to call while the environment acts.
pub trait Machine: Send + Sync {
    /// Returns the capabilities and parameters of the world.
    fn offers(&self) -> &MachineInfo;
    /// Reads a whole file (`POST /file`).
    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>>;
    /// Writes a file and creates its parent folders (`POST /setup/upload`).
    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>>;
    /// Lists a folder recursively, sorted by path (`POST /list_directory`).
    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>>;
    /// Removes a file, or a folder with its contents (`POST /execute`).
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>>;
    /// Runs a command and waits for its end (`POST /execute`).
    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>>;
    /// Starts a process with piped standard streams (`POST /setup/launch`, which has no pipes).
    fn spawn<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>>;
    /// Starts a program that keeps running after the call, until the world closes (`POST /setup/launch`).
    fn launch<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<(), MachineError>>;
    /// Reads the accessibility tree (`GET /accessibility`).
    fn tree<'a>(&'a self, budget: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>>;
    /// Returns the accessibility tree in the machine's own document format, if it has one (`GET /accessibility`). The
    /// document contains details that [`UiTree`] does not represent; OSWorld's checks read them.
    fn tree_document(&self) -> BoxFuture<'_, Result<Option<String>, MachineError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Takes a screenshot (`GET /screenshot`).
    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>>;
    /// Lists top-level windows, front to back (`POST /execute` with the window tools of the image).
    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>>;
    /// Opens a connection path to a TCP port inside the world (for a VM: the port itself, at the VM's address).
    fn dial(&self, port: u16) -> BoxFuture<'_, Result<PortForward, MachineError>>;
}
