//! The host's end of a cell: a thread that starts the cell, lives as long as it, and talks to its supervisor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use apprentice_protocol::{MachineError, WorldError, WorldErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::control_group::CellGroup;
use super::launch::Sandbox;
use super::left_mounts;
use super::reap;
use super::wire::{self, CellComponent, Frame, Operation, Reply, Request, SupervisorMessage};

/// Capacity of the queue of requests to send.
const QUEUE: usize = 64;
/// Bytes of bubblewrap's error output that are kept.
const ERROR_OUTPUT_LIMIT: usize = 2000;
/// How long to wait for the remaining error output of a cell that has ended.
const OUTPUT_DRAIN: Duration = Duration::from_millis(500);
/// How long to wait for a killed cell to end.
const END: Duration = Duration::from_secs(5);

/// Most sentences that are kept until somebody takes them.
const NOTICE_LIMIT: usize = 20;
/// How long the supervisor may take for a request that waits for nothing.
const ANSWER: Duration = Duration::from_secs(60);

type Answer = Result<Frame<Reply>, MachineError>;

/// A handle on a running cell.
pub(super) struct SupervisorClient {
    outgoing: mpsc::Sender<Outgoing>,
    count: AtomicU64,
    loss: watch::Receiver<Option<CellLoss>>,
    doom: Arc<KillHandles>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Why a cell has become unusable.
#[derive(Clone, Debug)]
pub(super) struct CellLoss {
    pub(super) part: CellComponent,
    pub(super) story: String,
}

impl CellLoss {
    /// Converts the loss into the error of an environment.
    pub(super) fn world(&self) -> WorldError {
        let fault = match self.part {
            CellComponent::WindowManager => WorldErrorKind::Input,
            CellComponent::Display
            | CellComponent::SessionBus
            | CellComponent::Supervisor
            | CellComponent::Program => WorldErrorKind::Lost,
        };
        WorldError::new(fault, self.story.clone())
    }
}

enum Outgoing {
    Operation { request: Request, body: Vec<u8>, answer: oneshot::Sender<Answer> },
    Cancel { number: u64 },
}

/// What the thread that owns a cell shares with its handle. Processes are held by descriptors: process descriptors, which never refer to another process.
#[derive(Default)]
struct KillHandles {
    /// Tells the thread to stop, even before there is a process to kill: only the thread knows how far the start has
    /// come.
    over: CancellationToken,
    /// The first process that we started, with the number of its process group.
    starter: OnceLock<(OwnedFd, Pid)>,
    supervisor: OnceLock<OwnedFd>,
    /// Our end of the socket. Without namespaces, the supervisor has to kill the cell's processes when it closes.
    socket: OnceLock<OwnedFd>,
    /// Sentences about programs that were ended for going over a limit, until somebody takes them.
    notices: Mutex<Vec<String>>,
}

impl KillHandles {
    /// Ends the cell: through its supervisor, which sees the socket close, or by killing it.
    fn end(&self) {
        self.over.cancel();
        match self.socket.get() {
            // An error means that the socket is closed already.
            Some(socket) => drop(rustix::net::shutdown(socket, rustix::net::Shutdown::Both)),
            None => self.kill(),
        }
    }

    /// Kills the starter and the supervisor. With namespaces, this takes the whole cell down.
    fn kill(&self) {
        if let Some(supervisor) = self.supervisor.get() {
            // The process may be dead already.
            let _ = pidfd_send_signal(supervisor, Signal::KILL);
        }
        let Some((starter, group)) = self.starter.get() else { return };
        // The starter's first child sets its parent-death signal only some moments after it begins; until then it would
        // outlive the starter and wait for it forever. It belongs to the starter's process group. While the starter can
        // still be signalled, no other group can have the same number.
        if pidfd_send_signal(starter, Signal::KILL).is_ok() {
            let _ = kill_process_group(*group, Signal::KILL);
        }
    }

    /// Waits until the supervisor's whole PID namespace is gone.
    fn await_exit(&self) {
        if let Some(supervisor) = self.supervisor.get() {
            let timeout = Timespec::try_from(END).ok();
            let _ = poll(&mut [PollFd::new(supervisor, PollFlags::IN)], timeout.as_ref());
        }
    }
}

/// Cancels a request when its caller drops the future.
struct CancelOnDrop<'a> {
    client: &'a SupervisorClient,
    number: u64,
    answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.answered {
            // A full queue means that the cell has bigger problems; the request then runs until its deadline.
            let _ = self.client.outgoing.try_send(Outgoing::Cancel { number: self.number });
        }
    }
}

impl SupervisorClient {
    /// Starts the cell on a thread of its own. Sends no request yet.
    pub(super) fn open(sandbox: Sandbox) -> Result<Self, WorldError> {
        let (outgoing, inbox) = mpsc::channel(QUEUE);
        let (lost, loss) = watch::channel(None);
        let doom = Arc::new(KillHandles::default());
        let thread = std::thread::Builder::new().name("cell".into()).spawn({
            let doom = doom.clone();
            move || run(sandbox, inbox, &lost, &doom)
        });
        let thread = thread.map_err(|error| {
            WorldError::new(
                WorldErrorKind::Start,
                format!("no thread for the cell could be started: {error}"),
            )
        })?;
        let thread = Mutex::new(Some(thread));
        Ok(Self { outgoing, count: AtomicU64::new(1), loss, doom, thread })
    }

    /// Sends a request to the supervisor and awaits the reply. Dropping the future cancels the request.
    pub(super) async fn ask(&self, ask: Operation, body: Vec<u8>) -> Answer {
        let (patience, name) = (patience(&ask), ask.name());
        match tokio::time::timeout(patience, self.exchange(ask, body)).await {
            Ok(answer) => answer,
            // The supervisor answers every request within its own time limits.
            Err(_) => Err(MachineError::Lost(format!(
                "the supervisor of the cell did not answer ({name}) within {patience:?}"
            ))),
        }
    }

    async fn exchange(&self, ask: Operation, body: Vec<u8>) -> Answer {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let request = Request { number, ask };
        let mut abandon = CancelOnDrop { client: self, number, answered: false };
        let sent = self.outgoing.send(Outgoing::Operation { request, body, answer }).await;
        let answer = match sent {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        abandon.answered = true;
        match answer {
            Some(answer) => answer,
            None => Err(MachineError::Lost(self.lost().await.story)),
        }
    }

    /// Sends a request without waiting for the reply.
    pub(super) fn tell(&self, ask: Operation) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (answer, _) = oneshot::channel();
        let request = Request { number, ask };
        // A full queue means that the cell has bigger problems; its end also ends what this request is about.
        let _ = self.outgoing.try_send(Outgoing::Operation { request, body: Vec::new(), answer });
    }

    /// Why the cell was lost, or `None` while it works.
    pub(super) fn loss(&self) -> Option<CellLoss> {
        self.loss.borrow().clone()
    }

    /// Waits until the cell is lost.
    pub(super) async fn lost(&self) -> CellLoss {
        let mut loss = self.loss.clone();
        let closed = || CellLoss { part: CellComponent::Supervisor, story: "the cell is closed".to_owned() };
        match loss.wait_for(Option::is_some).await {
            Ok(loss) => loss.clone().unwrap_or_else(closed),
            Err(_) => closed(),
        }
    }

    /// The sentences about programs that went over a limit since the last call.
    pub(super) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.doom.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stores the supervisor's process descriptor.
    pub(super) fn guard(&self, supervisor: OwnedFd) {
        // There is one supervisor; a second answer would be a harmless bug of ours.
        let _ = self.doom.supervisor.set(supervisor);
    }

    /// Kills the cell and waits until all of it is gone. May be called again.
    pub(super) fn end(&self) {
        self.doom.end();
        let thread = self.thread.lock().map_or(None, |mut thread| thread.take());
        if let Some(thread) = thread {
            // If the thread panicked, the panic has been reported by now, and its cell is dead.
            let _ = thread.join();
        }
    }
}

/// How long an answer is awaited. A command has its own time on top.
fn patience(ask: &Operation) -> Duration {
    match ask {
        Operation::Run(program) => Duration::from_millis(program.timeout_ms).saturating_add(ANSWER),
        // Lasts as long as the process does.
        Operation::Wait { .. } => Duration::MAX,
        _ => ANSWER,
    }
}

/// Body of the thread: start the cell, exchange messages with its supervisor, end it.
fn run(
    sandbox: Sandbox,
    inbox: mpsc::Receiver<Outgoing>,
    lost: &watch::Sender<Option<CellLoss>>,
    doom: &KillHandles,
) {
    let lose = |story: String| {
        lost.send_modify(|loss| {
            loss.get_or_insert(CellLoss { part: CellComponent::Supervisor, story });
        });
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return lose(format!("no runtime for the cell: {error}")),
    };
    runtime.block_on(async {
        if doom.over.is_cancelled() {
            return lose("the cell was closed before it started".to_owned());
        }
        match start(&sandbox, doom) {
            Err(error) => lose(error.message),
            Ok((socket, mut child)) => {
                let error_output = Rc::new(RefCell::new(Vec::new()));
                let mut listener = std::pin::pin!(listen(child.stderr.take(), error_output.clone()));
                let mut messages = std::pin::pin!(forward_messages(&socket, inbox, lost, &doom.notices));
                let mut heard = false;
                let story = loop {
                    tokio::select! {
                        story = &mut messages => break story,
                        () = doom.over.cancelled() => break "the cell was closed".to_owned(),
                        () = &mut listener, if !heard => heard = true,
                    }
                };
                doom.end();
                let ended = match tokio::time::timeout(END, child.wait()).await {
                    Ok(ended) => Ok(ended),
                    Err(_) => {
                        doom.kill();
                        tokio::time::timeout(END, child.wait()).await
                    }
                };
                if !heard {
                    // Error output may arrive after the process has ended.
                    let _ = tokio::time::timeout(OUTPUT_DRAIN, listener).await;
                }
                await_socket_end(&socket).await;
                doom.await_exit();
                if doom.socket.get().is_some() {
                    reap::end_processes(sandbox.folder.path());
                    left_mounts::detach(sandbox.folder.path());
                }
                let error_output = String::from_utf8_lossy(&error_output.borrow()).trim().to_owned();
                let code = ended.ok().and_then(Result::ok).map(|status| status.to_string());
                let excess = sandbox.group.as_ref().and_then(CellGroup::excess);
                let story = excess.map_or(story.clone(), |excess| format!("{excess}; {story}"));
                lose(explain(&story, code.as_deref().unwrap_or("no status"), &error_output));
            }
        }
    });
    // Also removes the folder: by now no mount is left in it.
    drop(sandbox);
}

/// Builds the sentence that tells why a cell ended.
fn explain(story: &str, status: &str, error_output: &str) -> String {
    let barred = error_output.contains("unshare failed") || error_output.contains("uid_map");
    let remedy = if barred {
        "; this system bars user namespaces: allow them (sysctl -w kernel.unprivileged_userns_clone=1 or \
         kernel.apparmor_restrict_unprivileged_userns=0) or choose --isolation plain"
    } else {
        ""
    };
    let colon = if error_output.is_empty() { "" } else { ": " };
    format!("{story} ({status}){colon}{error_output}{remedy}")
}

fn start(sandbox: &Sandbox, doom: &KillHandles) -> Result<(UnixStream, Child), WorldError> {
    let failed = |error: std::io::Error| {
        WorldError::new(WorldErrorKind::Start, format!("its first process could not be started: {error}"))
    };
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    if !sandbox.isolation.has_namespaces() {
        // Both this and the starter below are set only here, once.
        let _ = doom.socket.set(ours.try_clone().map_err(failed)?.into());
    }
    let child = sandbox.command(theirs.into())?.spawn().map_err(failed)?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let (Some(group), Some(pid)) = (&sandbox.group, pid) {
        // At this moment it has started nothing yet: first it is loaded, then it enters its namespaces.
        group.admit(pid).map_err(failed)?;
    }
    if let Some(starter) = pid.and_then(|pid| Some((pidfd_open(pid, PidfdFlags::empty()).ok()?, pid))) {
        let _ = doom.starter.set(starter);
    }
    Ok((UnixStream::from_std(ours).map_err(failed)?, child))
}

/// Waits until no process inside holds the other end of the socket. A process killed before its parent-death signal
/// was set finds the socket closed and ends by itself.
async fn await_socket_end(socket: &UnixStream) {
    // The socket may be closed already.
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
    let silent = async {
        let mut rest = [0; 4096];
        while socket.readable().await.is_ok() {
            match socket.try_read(&mut rest) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = tokio::time::timeout(END, silent).await;
}

/// Keeps the error output of the programs that start the cell.
async fn listen(errors: Option<ChildStderr>, kept: Rc<RefCell<Vec<u8>>>) {
    if let Some(mut errors) = errors {
        let mut buffer = [0; 512];
        while let Ok(read @ 1..) = errors.read(&mut buffer).await {
            let mut kept = kept.borrow_mut();
            let room = ERROR_OUTPUT_LIMIT.saturating_sub(kept.len()).min(read);
            kept.extend_from_slice(&buffer[..room]);
        }
    }
}

/// Forwards requests to the supervisor and replies to their callers until one side ends. Returns the reason.
async fn forward_messages(
    socket: &UnixStream,
    mut inbox: mpsc::Receiver<Outgoing>,
    lost: &watch::Sender<Option<CellLoss>>,
    notices: &Mutex<Vec<String>>,
) -> String {
    let waiting: RefCell<HashMap<u64, oneshot::Sender<Answer>>> = RefCell::default();
    let writer = async {
        while let Some(outgoing) = inbox.recv().await {
            let (request, body) = match outgoing {
                Outgoing::Operation { request, body, answer } => {
                    waiting.borrow_mut().insert(request.number, answer);
                    (request, body)
                }
                Outgoing::Cancel { number } => {
                    waiting.borrow_mut().remove(&number);
                    (Request { number: 0, ask: Operation::Cancel { request: number } }, Vec::new())
                }
            };
            if wire::send(socket, &Frame { head: request, body, descriptors: Vec::new() }).await.is_err() {
                // The reading half sees the end too, and knows the reason.
                std::future::pending::<()>().await;
            }
        }
        "the cell was closed".to_owned()
    };
    let reader = async {
        loop {
            let Frame { head, body, descriptors } = match wire::receive::<SupervisorMessage>(socket).await {
                Ok(Some(frame)) => frame,
                Ok(None) => return "the supervisor ended".to_owned(),
                // Also an end, with a request of ours still unread.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return "the supervisor ended".to_owned();
                }
                Err(error) => return format!("the connection to the supervisor broke: {error}"),
            };
            match head {
                SupervisorMessage::Reply { number, result } => {
                    let answer = result.map(|head| Frame { head, body, descriptors });
                    if let Some(waiting) = waiting.borrow_mut().remove(&number) {
                        // The caller may have dropped its future; then the answer is not needed.
                        let _ = waiting.send(answer.map_err(MachineError::from));
                    }
                }
                SupervisorMessage::Died { part, story } => {
                    lost.send_modify(|loss| {
                        loss.get_or_insert(CellLoss { part, story });
                    });
                }
                SupervisorMessage::Ended { story } => {
                    let mut kept = notices.lock().unwrap_or_else(PoisonError::into_inner);
                    // Nobody may ever ask for them.
                    if kept.len() < NOTICE_LIMIT {
                        kept.push(story);
                    }
                }
                SupervisorMessage::NotEntered { story } => return story,
            }
        }
    };
    tokio::select! {
        story = writer => story,
        story = reader => story,
    }
}
