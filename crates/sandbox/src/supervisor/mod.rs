//! The first process inside a cell: our own program, started again.
//!
//! It starts display, bus and window manager, serves requests over the socket that is its standard input, reaps all
//! child processes, and ends everything when that socket closes. It prints nothing.

mod address;
mod bus;
mod caret;
mod cells;
mod confine;
mod desktop_session;
mod details;
mod element;
mod enter;
mod file;
mod node;
mod node_reading;
mod open_menus;
mod peers;
mod placed_windows;
mod process;
mod process_table;
mod question;
mod role;
mod seccomp;
mod top_levels;
mod tree_building;
mod tree_memory;
mod tree_walk;
mod unmapped;
mod visible_text;
mod watch;
mod window_paths;
mod written_files;
mod xml_document;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use apprentice_protocol::Capability;
use futures_util::FutureExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, LocalSet};

use super::wire::{self, Frame, Operation, OperationError, Reply, Request, SupervisorMessage};
use bus::Bus;
use desktop_session::DesktopSession;
use process::Processes;
use written_files::WrittenFiles;

pub(super) use confine::MARK_NAME;
pub(super) use enter::{Home, SandboxPlan};

/// The result of a request: a reply with body and descriptors, or a fault.
type OperationResult = Result<Frame<Reply>, OperationError>;

/// The argument of a supervisor in a cell with namespaces, and in one without.
pub(super) const CELL: &str = "cell";
pub(super) const PLAIN: &str = "plain";

/// Body of the hidden command: enters a cell or serves in it, depending on the arguments, and returns the exit code.
/// Must be the first thing that the process does.
pub fn supervise(mut arguments: impl Iterator<Item = OsString>) -> i32 {
    // Descriptors that our parents left open must not leak into the cell.
    close_fds::set_fds_cloexec(3, &[]);
    let duty = arguments.next().unwrap_or_default();
    let ended = match duty.to_str() {
        Some("enter") => enter::enter(arguments),
        Some("serve") => serve(arguments.next().is_some_and(|isolation| isolation == CELL)),
        Some(_) | None => Err(io::Error::other("this command is internal")),
    };
    let Err(error) = ended else { return 0 };
    // The other end reads this. If it has gone, there is no other place to report to.
    let _ = report_not_entered(&error.to_string());
    21
}

/// Takes the socket out of standard input. No program that is started later inherits it.
fn socket() -> io::Result<UnixStream> {
    let socket: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let socket = std::os::unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Reports that the cell could not be entered.
fn report_not_entered(story: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let note = SupervisorMessage::NotEntered { story: story.to_owned() };
        wire::send(&socket()?, &Frame::plain(note)).await
    })
}

/// Serves requests until the socket closes, then kills all remaining processes. `apart` says whether this is the first
/// process of a cell with namespaces.
fn serve(apart: bool) -> io::Result<()> {
    confine::close_to_others()?;
    if apart {
        confine::confine()?;
    } else {
        confine::leave_keys()?;
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let processes = Rc::new(Processes::new(apart));
    LocalSet::new().block_on(&runtime, serve_requests(&processes))?;
    processes.kill_all();
    Ok(())
}

async fn serve_requests(processes: &Rc<Processes>) -> io::Result<()> {
    let socket = Rc::new(socket()?);
    let (notes, mut outgoing) = mpsc::unbounded_channel();
    let reaper = tokio::task::spawn_local(process::reap(processes.clone())?);
    let writing = socket.clone();
    let writer = tokio::task::spawn_local(async move {
        while let Some(frame) = outgoing.recv().await {
            if wire::send(&writing, &frame).await.is_err() {
                break;
            }
        }
    });
    let supervisor = Rc::new(Supervisor {
        processes: processes.clone(),
        running: RefCell::default(),
        bus: Rc::default(),
        files: RefCell::default(),
        notes,
        open: RefCell::default(),
    });
    // When the socket ends, orderly or not, the cell ends.
    while let Ok(Some(frame)) = wire::receive::<Request>(&socket).await {
        supervisor.clone().take(frame);
    }
    writer.abort();
    reaper.abort();
    Ok(())
}

/// Number of `SIGKILL`.
const KILL: i32 = 9;
/// Signals that mean a crash.
const CRASHES: [(i32, &str); 6] =
    [(4, "ILL"), (5, "TRAP"), (6, "ABRT"), (7, "BUS"), (KILL, "KILL"), (11, "SEGV")];

/// State of the request server.
struct Supervisor {
    processes: Rc<Processes>,
    running: RefCell<Option<DesktopSession>>,
    bus: Rc<Bus>,
    /// `None` until the desktop runs, and where the kernel does not let files be watched.
    files: RefCell<Option<WrittenFiles>>,
    /// Unbounded, because every message answers one of a bounded number of requests.
    notes: mpsc::UnboundedSender<Frame<SupervisorMessage>>,
    /// Requests not answered yet, by number.
    open: RefCell<HashMap<u64, AbortHandle>>,
}

impl Supervisor {
    fn take(self: Rc<Self>, frame: Frame<Request>) {
        let Frame { head: Request { number, ask }, body, .. } = frame;
        if let Operation::Cancel { request } = ask {
            if let Some(task) = self.open.borrow_mut().remove(&request) {
                task.abort();
            }
            return;
        }
        let this = self.clone();
        let task = tokio::task::spawn_local(async move {
            // A panic of ours is answered too, so that the caller does not wait forever.
            let outcome = AssertUnwindSafe(this.answer(ask, body)).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|panic| Err(failed(panic.as_ref())));
            this.open.borrow_mut().remove(&number);
            let note = match outcome {
                Ok(Frame { head, body, descriptors }) => {
                    Frame { head: SupervisorMessage::Reply { number, result: Ok(head) }, body, descriptors }
                }
                Err(fault) => Frame::plain(SupervisorMessage::Reply { number, result: Err(fault) }),
            };
            // A closed channel means that the cell is ending.
            let _ = this.notes.send(note);
        });
        self.open.borrow_mut().insert(number, task.abort_handle());
    }

    async fn answer(&self, ask: Operation, body: Vec<u8>) -> OperationResult {
        match ask {
            Operation::Start(session) => self.start(&session).await,
            Operation::Display => self.display(),
            Operation::Read { path } => file::read(self.processes.home(), &path),
            Operation::Write { path } => file::write(self.processes.home(), &path),
            Operation::List { path } => file::list(self.processes.home(), &path),
            Operation::Remove { path } => file::remove(self.processes.home(), &path),
            Operation::Run(program) => self.processes.run(program, body).await,
            Operation::Spawn(program) => self.processes.start(&program),
            Operation::SpawnOnSocket(program) => self.processes.start_on_socket(&program),
            Operation::Launch(program) => self.launch(&program),
            Operation::Wait { child } => self.processes.wait(child).await,
            Operation::Kill { child } => self.processes.kill(child),
            Operation::Tree { budget, drawn, windows } => {
                let tree = match drawn {
                    Some(drawn) => self.bus.walk_again(&budget, &drawn, &windows).await,
                    None => self.bus.walk(&budget, &windows).await,
                };
                tree.map(|mut tree| {
                    tree.bound_texts();
                    Frame::plain(Reply::Tree(tree))
                })
            }
            Operation::Document => {
                let document = self.bus.document().await?;
                Ok(Frame { head: Reply::Done, body: document.into_bytes(), descriptors: Vec::new() })
            }
            Operation::Node { node, windows } => {
                self.bus.facts(&node, &windows).await.map(|facts| Frame::plain(Reply::Node(facts)))
            }
            Operation::Press { node } => self.bus.press(&node).await.map(|()| Frame::plain(Reply::Done)),
            Operation::Choose { node, option } => {
                self.bus.choose(&node, &option).await.map(|()| Frame::plain(Reply::Done))
            }
            Operation::Focus { node } => self.bus.focus(&node).await.map(|()| Frame::plain(Reply::Done)),
            Operation::Written => {
                let files = self.files.borrow_mut().as_mut().map(WrittenFiles::take).unwrap_or_default();
                let named = files.into_iter().map(|file| file.to_string_lossy().into_owned());
                Ok(Frame::plain(Reply::Written(named.collect())))
            }
            Operation::Connect { port } => connect(port).await,
            Operation::Listen { port } => listen(port),
            Operation::Cancel { .. } => Ok(Frame::plain(Reply::Done)),
        }
    }

    async fn start(&self, session: &wire::SessionConfig) -> OperationResult {
        let lost = |error: &dyn std::fmt::Display| OperationError::Lost(error.to_string());
        self.processes.impose(&session.limits).map_err(|error| lost(&io::Error::from(error)))?;
        let started = desktop_session::start(&self.processes, session, &self.notes).await?;
        tokio::task::spawn_local(watch::watch(self.processes.clone(), session.limits, self.notes.clone()));
        let mut descriptors = Vec::new();
        let own = rustix::process::getpid();
        let own = rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty());
        descriptors.push(own.map_err(|error| lost(&error))?);
        if let Some(socket) = &started.display {
            descriptors.push(desktop_session::connect(socket).map_err(|error| lost(&error))?);
            descriptors.push(File::open("/proc").map_err(|error| lost(&error))?.into());
        }
        self.bus.attach(started.accessibility.clone());
        if started.display.is_some() && !session.bare {
            *self.files.borrow_mut() = WrittenFiles::watch(&session.home);
        }
        *self.running.borrow_mut() = Some(started);
        let supervisor = rustix::process::getpid().as_raw_nonzero().get();
        Ok(Frame { head: Reply::Ready { supervisor }, body: Vec::new(), descriptors })
    }

    /// Starts a program for the agent to work in, and watches it. If the program crashes or is killed from outside, the
    /// world is lost. Any other end, or an end caused by a requested command, does not count as a loss. Neither does a
    /// kill while a terminal is in use inside the cell, because the agent may have typed it, unless the kernel reports
    /// that it ran out of memory.
    fn launch(&self, program: &wire::Program) -> OperationResult {
        let mut child = self.processes.launch(program)?;
        let mut server = self.running.borrow().as_ref().and_then(|running| running.server.clone());
        let (processes, notes) = (self.processes.clone(), self.notes.clone());
        let name = program.argv.first().cloned().unwrap_or_default();
        let kills_before = process_table::out_of_memory_kills();
        tokio::task::spawn_local(async move {
            let code = child.ended().await;
            let Some((number, signal)) = CRASHES.iter().find(|(number, _)| code == 128 + number) else {
                return;
            };
            let by_system = process_table::out_of_memory_kills() > kills_before;
            let by_hand = *number == KILL && !by_system && process_table::has_controlling_terminal();
            if processes.was_ended_by_limit(child.pid()) || processes.runs_command() || by_hand {
                return;
            }
            // A program that only ended because the display did is not the cause to report. Nobody is killed by a display's end,
            // and a wait here would let a trial that ends meanwhile be judged as if nothing had happened.
            if *number != KILL
                && let Some(server) = &mut server
                && tokio::time::timeout(desktop_session::OUTPUT_DRAIN, server.ended()).await.is_ok()
            {
                return;
            }
            let reason = if *number == KILL && by_system { ", as the system ran out of memory" } else { "" };
            let story = format!("the program {name} was ended by the signal {signal}{reason}");
            // A closed channel means that the cell is ending anyway.
            let _ = notes
                .send(Frame::plain(SupervisorMessage::Died { part: wire::CellComponent::Program, story }));
        });
        Ok(Frame::plain(Reply::Done))
    }

    fn display(&self) -> OperationResult {
        let running = self.running.borrow();
        let socket = running.as_ref().and_then(|running| running.display.as_ref());
        let socket = socket.ok_or(OperationError::Unsupported(Capability::Screenshots))?;
        let stream = desktop_session::connect(socket)
            .map_err(|error| OperationError::Lost(format!("the display: {error}")))?;
        Ok(Frame { head: Reply::Done, body: Vec::new(), descriptors: vec![stream] })
    }
}

/// The reply to a request during which this program panicked; the panic's location is in the cell's error output.
fn failed(panic: &(dyn Any + Send)) -> OperationError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for an unknown reason");
    OperationError::Lost(format!("the supervisor failed: {text}"))
}

/// Connects to a port in the cell's network namespace. The socket stays in it, whichever process holds it.
async fn connect(port: u16) -> OperationResult {
    let stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    let stream = stream.and_then(tokio::net::TcpStream::into_std);
    let stream = stream.map_err(|error| OperationError::refused(format!("port {port}"), &error))?;
    Ok(Frame { head: Reply::Done, body: Vec::new(), descriptors: vec![stream.into()] })
}

/// Opens a port in the cell's network namespace. The socket stays in it, whichever process holds it.
fn listen(port: u16) -> OperationResult {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener.map_err(|error| OperationError::refused(format!("port {port}"), &error))?;
    Ok(Frame { head: Reply::Done, body: Vec::new(), descriptors: vec![listener.into()] })
}
