//! Starts a cell's desktop session: display, session bus, accessibility bus, window manager.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use atspi::zbus;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::UnboundedSender;

use super::process::{Child, Processes, StdStreams};
use crate::display;
use crate::display_server::DisplayServer;
use crate::wire::{CellComponent, Frame, OperationError, Program, SessionConfig, SupervisorMessage};

/// How long any one component may take to start.
const START: Duration = Duration::from_secs(20);

/// How long to wait for the remaining output of a program that has ended.
pub(super) const OUTPUT_DRAIN: Duration = Duration::from_millis(200);
/// Bytes of a program's error output that are kept, and most bytes of one line.
const ERROR_OUTPUT_LIMIT: usize = 2000;
const LINE_LIMIT: u64 = 4096;

/// The components that were started.
pub(super) struct DesktopSession {
    /// Path of the display's socket.
    pub(super) display: Option<PathBuf>,
    /// The display server's process.
    pub(super) server: Option<Child>,
    /// A connection to the accessibility bus.
    pub(super) accessibility: Option<zbus::Connection>,
}

/// Starts the components of a desktop session and watches them.
pub(super) async fn start(
    processes: &Rc<Processes>,
    session: &SessionConfig,
    notes: &UnboundedSender<Frame<SupervisorMessage>>,
) -> Result<DesktopSession, OperationError> {
    processes.settle(&session.home);
    let watch = |part,
                 name: &'static str,
                 mut child: Child,
                 error_output: Rc<RefCell<String>>,
                 under: Option<Child>| {
        let notes = notes.clone();
        processes.keep(&child);
        tokio::task::spawn_local(async move {
            let code = child.ended().await;
            // A component that only ended because the display did is not the cause to report.
            if let Some(mut under) = under
                && tokio::time::timeout(OUTPUT_DRAIN, under.ended()).await.is_ok()
            {
                return;
            }
            let story = format!("{name} ended with exit code {code} {}", error_output.borrow().trim());
            // A closed channel means that the cell is ending anyway.
            let _ = notes.send(Frame::plain(SupervisorMessage::Died { part, story }));
        });
    };
    let (mut socket, mut display) = (None, None);
    if let Some(screen) = &session.screen {
        let server = DisplayServer::of(screen);
        let mut argv = server.command(screen, &session.runtime).map_err(|error| {
            OperationError::Lost(format!("the configuration of {} was not written: {error}", server.words()))
        })?;
        argv.extend(session.display.map(|number| format!(":{number}")));
        argv.extend(["-dpi", "96", "-nolisten", "tcp", "-noreset", "-displayfd", "1"].map(String::from));
        // Its memory is shared with the owner, and no program may shrink it there.
        let program = Program { apart: true, ..program(argv) };
        let ReadyProgram { child, line: number, error_output } = announced(processes, program).await?;
        watch(CellComponent::Display, server.words(), child.clone(), error_output, None);
        display = Some(child);
        processes.set("DISPLAY", format!(":{number}"));
        socket = Some(PathBuf::from(format!("/tmp/.X11-unix/X{number}")));
    }
    let address = format!("unix:path={}", session.runtime.join("bus").display());
    let argv = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"];
    let mut argv = argv.map(String::from).to_vec();
    argv.push(format!("--address={address}"));
    processes.set("DBUS_SESSION_BUS_ADDRESS", address);
    let ReadyProgram { child, line: address, error_output } = announced(processes, program(argv)).await?;
    watch(CellComponent::SessionBus, "the session bus (dbus-daemon)", child, error_output, None);
    processes.set("DBUS_SESSION_BUS_ADDRESS", address.clone());
    let mut accessibility = None;
    if let Some(socket) = socket.as_ref().filter(|_| !session.bare) {
        let (manager, bus) =
            tokio::join!(start_window_manager(processes, socket), open_accessibility(&address));
        watch(
            CellComponent::WindowManager,
            "the window manager (openbox)",
            manager?,
            Rc::default(),
            display.clone(),
        );
        accessibility = Some(bus?);
    }
    Ok(DesktopSession { display: socket, server: display, accessibility })
}

/// Opens a new connection to the display.
pub(super) fn connect(socket: &Path) -> io::Result<OwnedFd> {
    UnixStream::connect(socket).map(OwnedFd::from)
}

fn program(argv: Vec<String>) -> Program {
    Program { argv, cwd: None, env: Vec::new(), timeout_ms: 0, output_limit: 0, apart: false }
}

/// A program that has announced on its output that it is ready, with its error output so far.
struct ReadyProgram {
    child: Child,
    line: String,
    error_output: Rc<RefCell<String>>,
}

/// Starts a program and waits for the line of output that says it is ready.
async fn announced(processes: &Processes, program: Program) -> Result<ReadyProgram, OperationError> {
    let name = program.argv.first().cloned().unwrap_or_default();
    let streams = StdStreams { input: Stdio::null(), output: Stdio::piped(), errors: Stdio::piped() };
    let (mut child, process) = processes.spawn(&program, streams)?;
    let error_output = Rc::new(RefCell::new(String::new()));
    let mute =
        |error: io::Error| OperationError::Lost(format!("the output of {name} could not be read: {error}"));
    let (Some(output), Some(errors)) = (process.stdout, process.stderr) else {
        return Err(mute(io::ErrorKind::BrokenPipe.into()));
    };
    let errors = pipe::Receiver::from_owned_fd(errors.into()).map_err(mute)?;
    let listener = tokio::task::spawn_local(listen(errors, error_output.clone()));
    let output = pipe::Receiver::from_owned_fd(output.into()).map_err(mute)?;
    let mut line = String::new();
    match tokio::time::timeout(START, BufReader::new(output).read_line(&mut line)).await {
        Ok(Ok(1..)) => Ok(ReadyProgram { child, line: line.trim().to_owned(), error_output }),
        Ok(Ok(0)) => {
            let code = child.ended().await;
            // The complete error output is needed for the message.
            let _ = tokio::time::timeout(OUTPUT_DRAIN, listener).await;
            let error_output = error_output.borrow();
            Err(OperationError::Lost(format!(
                "{name} ended at once with exit code {code}: {}",
                error_output.trim()
            )))
        }
        Ok(Err(error)) => Err(mute(error)),
        Err(_) => Err(OperationError::TimedOut(name.clone())),
    }
}

/// Reads a program's error output for as long as it runs: with a full pipe, the program would block.
async fn listen(errors: pipe::Receiver, kept: Rc<RefCell<String>>) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut errors).take(LINE_LIMIT).read_until(b'\n', &mut line).await {
        let mut kept = kept.borrow_mut();
        if kept.len() < ERROR_OUTPUT_LIMIT {
            kept.push_str(&String::from_utf8_lossy(&line));
        }
        line.clear();
    }
}

/// Starts the window manager and waits until it manages the screen. The keyboard's spare keys are taken before that,
/// because each later change of the keyboard map is expensive for a window manager.
async fn start_window_manager(processes: &Processes, socket: &Path) -> Result<Child, OperationError> {
    let socket = socket.to_owned();
    let watched = tokio::task::spawn_blocking(move || {
        let stream = UnixStream::connect(socket)?;
        display::UnmanagedDisplay::open(stream)
    });
    let failed =
        |error: &dyn std::fmt::Display| OperationError::Lost(format!("the display did not answer: {error}"));
    let bare = watched.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let (child, _) = processes.spawn(&program(vec!["openbox".into()]), StdStreams::none())?;
    let mut ended = child.clone();
    let managed = tokio::task::spawn_blocking(move || bare.await_manager(START));
    tokio::select! {
        managed = managed => match managed {
            Ok(Ok(())) => Ok(child),
            Ok(Err(error)) => Err(OperationError::Lost(format!("openbox did not take the screen: {error}"))),
            Err(error) => Err(failed(&error)),
        },
        code = ended.ended() => Err(OperationError::Lost(format!("openbox ended at once with exit code {code}"))),
    }
}

/// Turns accessibility on, before any program starts, and connects to its bus.
async fn open_accessibility(session: &str) -> Result<zbus::Connection, OperationError> {
    let open = async {
        let session = zbus::connection::Builder::address(session)?.build().await?;
        let status = zbus::Proxy::new(&session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Status").await?;
        status.set_property("IsEnabled", true).await?;
        let bus = zbus::Proxy::new(&session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus").await?;
        let address: String = bus.call("GetAddress", &()).await?;
        zbus::connection::Builder::address(address.as_str())?.build().await
    };
    match tokio::time::timeout(START, open).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(OperationError::Lost(format!(
            "the accessibility bus did not start (package at-spi2-core): {error}"
        ))),
        Err(_) => Err(OperationError::TimedOut("the accessibility bus".into())),
    }
}
