//! Processes inside the cell: started, awaited, killed with their descendants, and reaped.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::OperationResult;
use super::confine::SetApart;
use super::process_table::{is_marked, living, with_descendants};
use crate::limits::{self, CellLimits};
use crate::mounts::{CHECKS, PROGRAMS};
use crate::program_search::search_path;
use crate::wire::{Frame, OperationError, Program, Reply};

/// How long the pipes of an ended command are still read when another process keeps them open.
const DRAIN: Duration = Duration::from_millis(100);
/// The exit code of a command that was killed at its deadline.
const TIMED_OUT: i32 = 124;
/// Rounds of looking for a command's descendants: a process that is just starting does not show its mark yet.
const KILL_ROUNDS: u32 = 400;
/// Rounds of looking for remaining processes when the cell ends.
const END_ROUNDS: u32 = 50;
/// Keeps Python, in which many checks are written, from running what lies in the home.
const NO_CODE_OF_THE_HOME: (&str, &str) = ("PYTHONNOUSERSITE", "1");
/// Keeps Python from taking files of the folder that a check runs in for its own modules.
const NO_CODE_OF_THE_FOLDER: [(&str, &str); 2] = [("PYTHONSAFEPATH", "1"), ("PYTHONPATH", CHECKS)];
/// Ended processes that are collected before requests get their turn.
const COLLECTED_AT_ONCE: u32 = 32;
/// Environment variable that marks a command's descendants, so that daemons are found after they left their parent and
/// session.
const MARK_VARIABLE: &str = "CELL_COMMAND";

/// The processes that the supervisor started, by process id.
#[derive(Default)]
pub(super) struct Processes {
    /// Whether this is a cell with namespaces.
    apart: bool,
    limits: OnceCell<CellLimits>,
    /// Processes without which the cell ends.
    essential: RefCell<HashSet<Pid>>,
    /// Processes that were ended because the cell was over a limit.
    ended_by_limit: RefCell<HashSet<Pid>>,
    environment: RefCell<Vec<(String, String)>>,
    home: OnceCell<PathBuf>,
    exits: RefCell<HashMap<Pid, watch::Sender<Option<i32>>>>,
    children: RefCell<HashMap<u64, Child>>,
    count: Cell<u64>,
    /// Number of commands being run to their end.
    commands: Cell<u32>,
}

/// A process that can be awaited and killed.
#[derive(Clone)]
pub(super) struct Child {
    number: u64,
    pid: Pid,
    exit: watch::Receiver<Option<i32>>,
}

/// A program's standard streams.
pub(super) struct StdStreams {
    pub(super) input: Stdio,
    pub(super) output: Stdio,
    pub(super) errors: Stdio,
}

impl StdStreams {
    /// All three streams connected to `/dev/null`.
    pub(super) fn none() -> Self {
        Self { input: Stdio::null(), output: Stdio::null(), errors: Stdio::null() }
    }
}

/// Collects the exit status of every process that ends, including orphans.
pub(super) fn reap(processes: Rc<Processes>) -> io::Result<impl Future<Output = ()>> {
    let mut ended = signal(SignalKind::child())?;
    Ok(async move {
        while ended.recv().await.is_some() {
            let mut collected = 0;
            while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
                collected += 1;
                // Programs that start and end without pause must not keep this process from everything else.
                if collected % COLLECTED_AT_ONCE == 0 {
                    tokio::task::yield_now().await;
                }
                let by_signal = status.terminating_signal().map(|signal| 128 + signal);
                let Some(code) = status.exit_status().or(by_signal) else { continue };
                if let Some(exit) = processes.exits.borrow_mut().remove(&pid) {
                    exit.send_replace(Some(code));
                }
            }
        }
    })
}

impl Child {
    /// Its process id.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for the exit code.
    pub(super) async fn ended(&mut self) -> i32 {
        match self.exit.wait_for(Option::is_some).await {
            Ok(code) => code.unwrap_or_default(),
            Err(_) => 128,
        }
    }

    /// Kills the process and its descendants.
    pub(super) fn kill(&self) {
        let mark = format!("{MARK_VARIABLE}={}", self.number);
        let running = self.exit.borrow().is_none();
        for _ in 0..KILL_ROUNDS {
            let living = living();
            let mut doomed: HashSet<Pid> = HashSet::new();
            let mut uncertain = false;
            for entry in &living {
                match is_marked(entry.pid, &mark) {
                    Some(true) => drop(doomed.insert(entry.pid)),
                    Some(false) => {}
                    None => uncertain = true,
                }
            }
            doomed.extend(living.iter().map(|entry| entry.pid).filter(|pid| running && *pid == self.pid));
            let doomed = with_descendants(&living, doomed);
            if doomed.is_empty() && !uncertain {
                return;
            }
            if running && doomed.contains(&self.pid) {
                let _ = kill_process_group(self.pid, Signal::KILL);
            }
            for pid in doomed {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::yield_now();
        }
    }
}

impl Processes {
    pub(super) fn new(apart: bool) -> Self {
        Self { apart, ..Self::default() }
    }

    /// Sets the limits of this process and of all that are started from now on. Later calls have no effect.
    pub(super) fn impose(&self, limits: &CellLimits) -> rustix::io::Result<()> {
        if self.limits.set(*limits).is_ok() {
            limits.impose(self.counts_processes())?;
        }
        Ok(())
    }

    /// Returns whether the kernel can count this cell's processes apart from others of its user.
    fn counts_processes(&self) -> bool {
        let system = rustix::system::uname();
        self.apart && limits::kernel_counts_by_namespace(&system.release().to_string_lossy())
    }

    /// Keeps a process from being ended when the cell is over a limit.
    pub(super) fn keep(&self, child: &Child) {
        self.essential.borrow_mut().insert(child.pid);
    }

    /// Returns whether the cell ends without a process.
    pub(super) fn is_essential(&self, pid: Pid) -> bool {
        self.essential.borrow().contains(&pid)
    }

    pub(super) fn note_ended_by_limit(&self, pid: Pid) {
        self.ended_by_limit.borrow_mut().insert(pid);
    }

    pub(super) fn was_ended_by_limit(&self, pid: Pid) -> bool {
        self.ended_by_limit.borrow().contains(&pid)
    }

    /// Sets a variable for every process started from now on.
    pub(super) fn set(&self, name: &str, value: impl Into<String>) {
        let mut environment = self.environment.borrow_mut();
        environment.retain(|(known, _)| known != name);
        environment.push((name.to_owned(), value.into()));
    }

    /// Sets the user's home. Later calls have no effect.
    pub(super) fn settle(&self, home: &Path) {
        let _ = self.home.set(home.to_owned());
    }

    /// The user's home.
    pub(super) fn home(&self) -> &Path {
        self.home.get().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// Starts a process in a process group of its own.
    pub(super) fn spawn(
        &self,
        program: &Program,
        streams: StdStreams,
    ) -> Result<(Child, std::process::Child), OperationError> {
        let [name, arguments @ ..] = program.argv.as_slice() else {
            return Err(OperationError::refused("a command", &"it names no program"));
        };
        let number = self.count.get() + 1;
        self.count.set(number);
        let folder = program.cwd.as_deref().unwrap_or("");
        let folder = self.home().join(folder.strip_prefix("~/").unwrap_or(folder));
        let mut command = Command::new(name);
        command
            .args(arguments)
            .envs(self.environment.borrow().iter().map(|(name, value)| (name, value)))
            .env(MARK_VARIABLE, number.to_string())
            .envs(program.apart.then_some(NO_CODE_OF_THE_HOME))
            .envs(self.environment_of_checks().filter(|_| program.apart))
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&folder)
            .process_group(0)
            .stdin(streams.input)
            .stdout(streams.output)
            .stderr(streams.errors);
        let apart = self.set_apart(program)?;
        let spawned = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if !folder.is_dir() => {
                OperationError::NotFound(folder.display().to_string())
            }
            io::ErrorKind::NotFound => OperationError::MissingProgram(name.clone()),
            _ => OperationError::refused(format!("starting {name}"), &error),
        })?;
        let Some(pid) = i32::try_from(spawned.id()).ok().and_then(Pid::from_raw) else {
            return Err(OperationError::Lost(format!("{name} was started without a process id")));
        };
        if apart.is_none()
            && let Some(limits) = self.limits.get().filter(|_| self.counts_processes())
        {
            // It may have ended already.
            let _ = limits.impose_on(pid);
        }
        drop(apart);
        let (sender, exit) = watch::channel(None);
        self.exits.borrow_mut().insert(pid, sender);
        Ok((Child { number, pid, exit }, spawned))
    }

    /// What commands of checks have in a cell, so that none of their programs is one of the agent's.
    fn environment_of_checks(&self) -> impl Iterator<Item = (&'static str, String)> {
        let python = NO_CODE_OF_THE_FOLDER.map(|(name, value)| (name, value.to_owned()));
        let all = self.apart.then(|| [("PATH", search_path(&[PROGRAMS]))].into_iter().chain(python));
        all.into_iter().flatten()
    }

    /// Sets what is started next apart, where that is asked for and possible.
    fn set_apart(&self, program: &Program) -> Result<Option<SetApart>, OperationError> {
        let begun = (self.apart && program.apart).then(SetApart::begin).transpose();
        begun.map_err(|error| OperationError::refused("keeping other programs from a command", &error))
    }

    /// Runs a command until it ends or its deadline passes.
    pub(super) async fn run(&self, program: Program, input: Vec<u8>) -> OperationResult {
        let _counted = CountGuard::new(&self.commands);
        let input_stream = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let streams = StdStreams { input: input_stream, output: Stdio::piped(), errors: Stdio::piped() };
        let (mut child, mut process) = self.spawn(&program, streams)?;
        // Cancelling the request kills the command.
        let guard = KillGuard(Some(child.clone()));
        let fault = |error: io::Error| OperationError::refused("a command's pipes", &error);
        let sink = process.stdin.take().map(|sink| pipe::Sender::from_owned_fd(sink.into()));
        let sink = sink.transpose().map_err(fault)?;
        let output = source(process.stdout.take().map(OwnedFd::from)).map_err(fault)?;
        let errors = source(process.stderr.take().map(OwnedFd::from)).map_err(fault)?;
        let limit = usize::try_from(program.output_limit).unwrap_or(usize::MAX);
        let (mut stdout, mut stderr) = (CappedBuffer::default(), CappedBuffer::default());
        let ended = {
            let mut drained = false;
            let mut streams = std::pin::pin!(async {
                tokio::join!(feed(sink, input), stdout.fill(output, limit), stderr.fill(errors, limit));
            });
            let end = async {
                loop {
                    tokio::select! {
                        code = child.ended() => break code,
                        () = &mut streams, if !drained => drained = true,
                    }
                }
            };
            let ended = tokio::time::timeout(Duration::from_millis(program.timeout_ms), end).await.ok();
            if ended.is_none() {
                child.kill();
            }
            // Background processes of the command may keep its pipes open forever.
            if !drained {
                let _ = tokio::time::timeout(DRAIN, &mut streams).await;
            }
            ended
        };
        guard.release();
        let (length, cut) = (stdout.bytes.len(), stdout.cut || stderr.cut);
        let mut body = stdout.bytes;
        body.append(&mut stderr.bytes);
        let (code, timed_out) = (ended.unwrap_or(TIMED_OUT), ended.is_none());
        let head = Reply::Output { code, stdout: length, timed_out, cut };
        Ok(Frame { head, body, descriptors: Vec::new() })
    }

    /// Starts a command and passes out pipes for its input and output.
    pub(super) fn start(&self, program: &Program) -> OperationResult {
        let streams = StdStreams { input: Stdio::piped(), output: Stdio::piped(), errors: Stdio::null() };
        let (child, mut process) = self.spawn(program, streams)?;
        let descriptors = [process.stdin.take().map(OwnedFd::from), process.stdout.take().map(OwnedFd::from)];
        let number = child.number;
        self.children.borrow_mut().insert(number, child);
        let descriptors = descriptors.into_iter().flatten().collect();
        Ok(Frame { head: Reply::Child { child: number }, body: Vec::new(), descriptors })
    }

    /// Starts a command whose standard input is a socket, and passes out the socket's other end and a pipe for its output.
    pub(super) fn start_on_socket(&self, program: &Program) -> OperationResult {
        let pair = std::os::unix::net::UnixStream::pair();
        let (ours, theirs) = pair.map_err(|error| OperationError::refused("a command's socket", &error))?;
        let input = Stdio::from(OwnedFd::from(theirs));
        let streams = StdStreams { input, output: Stdio::piped(), errors: Stdio::null() };
        let (child, mut process) = self.spawn(program, streams)?;
        let output = process.stdout.take().map(OwnedFd::from);
        let number = child.number;
        self.children.borrow_mut().insert(number, child);
        let descriptors = [Some(ours.into()), output].into_iter().flatten().collect();
        Ok(Frame { head: Reply::Child { child: number }, body: Vec::new(), descriptors })
    }

    /// Starts a command without waiting for it.
    pub(super) fn launch(&self, program: &Program) -> Result<Child, OperationError> {
        self.spawn(program, StdStreams::none()).map(|(child, _)| child)
    }

    /// Returns whether a command is running that might have ended another process.
    pub(super) fn runs_command(&self) -> bool {
        self.commands.get() > 0
    }

    fn child(&self, number: u64) -> Result<Child, OperationError> {
        let child = self.children.borrow().get(&number).cloned();
        child.ok_or_else(|| OperationError::refused("a process", &"it was never started or is forgotten"))
    }

    /// Waits for a started command. Its exit code can be asked for once.
    pub(super) async fn wait(&self, number: u64) -> OperationResult {
        let code = self.child(number)?.ended().await;
        Ok(Frame::plain(Reply::Exit { code }))
    }

    /// Kills a started command.
    pub(super) fn kill(&self, number: u64) -> OperationResult {
        self.child(number)?.kill();
        Ok(Frame::plain(Reply::Done))
    }

    /// Kills all descendants of this process. With namespaces, the end of this process kills the rest; without them,
    /// this is all there is.
    pub(super) fn kill_all(&self) {
        for _ in 0..END_ROUNDS {
            let doomed: Vec<Pid> = living().iter().map(|entry| entry.pid).collect();
            if doomed.is_empty() {
                return;
            }
            for pid in doomed {
                let _ = kill_process(pid, Signal::KILL);
            }
            // At least one child is dying. Its own children become ours and are found in the next round.
            let mut options = WaitOptions::empty();
            while let Ok(Some(_)) = rustix::process::wait(options) {
                options = WaitOptions::NOHANG;
            }
        }
    }
}

/// Increments a counter for as long as this value lives.
struct CountGuard<'a>(&'a Cell<u32>);

impl<'a> CountGuard<'a> {
    fn new(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Kills a process when dropped, unless it was released.
struct KillGuard(Option<Child>);

impl KillGuard {
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for KillGuard {
    fn drop(&mut self) {
        if let Some(child) = &self.0 {
            child.kill();
        }
    }
}

fn source(pipe: Option<OwnedFd>) -> io::Result<Option<pipe::Receiver>> {
    pipe.map(pipe::Receiver::from_owned_fd).transpose()
}

async fn feed(sink: Option<pipe::Sender>, bytes: Vec<u8>) {
    if let Some(mut sink) = sink {
        // A command may ignore its input; that is no error.
        let _ = sink.write_all(&bytes).await;
    }
}

/// The first bytes of a stream, and whether there were more.
#[derive(Default)]
struct CappedBuffer {
    bytes: Vec<u8>,
    cut: bool,
}

impl CappedBuffer {
    async fn fill(&mut self, source: Option<pipe::Receiver>, limit: usize) {
        let Some(mut source) = source else { return };
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = source.read(&mut buffer).await {
            let room = limit.saturating_sub(self.bytes.len()).min(read);
            self.bytes.extend_from_slice(&buffer[..room]);
            self.cut |= room < read;
        }
    }
}
