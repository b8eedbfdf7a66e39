//! The [`Machine`] port of a cell: requests to its supervisor, answered by values or file descriptors.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apprentice_files::must_be_plain;
use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, Image, Machine, MachineError, MachineInfo,
    Monitors, Output, PortForward, TreeBudget, UiTree, View, Window,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, UnixStream};
use tokio::task::{AbortHandle, JoinSet};

use super::display::Display;
use super::supervisor_client::SupervisorClient;
use super::wire::{Drawn, DrawnWindows, Frame, Operation, Program, Reply};

/// A connection to a port inside a cell: a socket of the cell's network namespace, held by this process.
pub use tokio::net::TcpStream as CellStream;

/// Largest file that is read, in bytes. The agent controls the files in a cell, so their size has to be bounded.
const FILE_LIMIT: u64 = 256 << 20;

/// How long reading or writing one file may take.
const FILE_TIME: Duration = Duration::from_secs(60);
/// A cell as setup and checks see it.
pub(super) struct CellMachine {
    client: Arc<SupervisorClient>,
    display: Option<Arc<Display>>,
    offers: MachineInfo,
    /// Whether the supervisor has been told each area that was drawn since its last tree.
    areas_told: AtomicBool,
}

/// Turns a received descriptor into a stream.
fn stream(descriptor: OwnedFd) -> std::io::Result<CellStream> {
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    CellStream::from_std(stream)
}

/// The error for a reply of an unexpected kind.
pub(super) fn unexpected_reply() -> MachineError {
    MachineError::Lost("the supervisor sent an unexpected reply".into())
}

fn refused(what: impl Into<String>, why: &dyn std::fmt::Display) -> MachineError {
    MachineError::Refused { what: what.into(), why: why.to_string() }
}

fn broken_pipes(error: &std::io::Error) -> MachineError {
    refused("a process's pipes", error)
}

fn program(command: &Command) -> Program {
    Program {
        argv: command.argv.clone(),
        cwd: command.cwd.clone(),
        env: command.env.clone(),
        timeout_ms: command.timeout_ms,
        output_limit: command.output_limit,
        apart: command.apart,
    }
}

impl CellMachine {
    pub(super) fn new(
        client: Arc<SupervisorClient>,
        display: Option<Arc<Display>>,
        home: String,
        screen: Option<&Monitors>,
    ) -> Self {
        let mut capabilities =
            vec![Capability::Files, Capability::Commands, Capability::Processes, Capability::Ports];
        if display.is_some() {
            capabilities.extend([Capability::Tree, Capability::Screenshots, Capability::Windows]);
        }
        let screen = screen.map(Monitors::screen);
        let offers = MachineInfo { capabilities: capabilities.into_iter().collect(), home, screen };
        Self { client, display, offers, areas_told: AtomicBool::new(false) }
    }

    /// Reads the interface tree for a view. What was not drawn since the view before the last, and cannot have changed
    /// without, is not asked again.
    pub(super) async fn view_tree(&self, budget: &TreeBudget) -> Result<UiTree, MachineError> {
        let display = self.display(Capability::Tree)?;
        let screen = self.offers.screen.ok_or(MachineError::Unsupported(Capability::Tree))?;
        let whole = View::whole(screen).region;
        // A request that was dropped or failed may have taken areas along, and two at a time take each other's.
        let told = self.areas_told.swap(false, Ordering::AcqRel);
        let read = display.run(|screen, _| Ok((screen.take_drawn()?, screen.drawn_windows()?))).await;
        let (since, windows) = read.map_err(|error| MachineError::Lost(error.to_string()))?;
        let drawn = Drawn { screen: whole, since: told.then_some(since) };
        let tree = self.ask_tree(budget, Some(drawn), windows).await?;
        self.areas_told.store(true, Ordering::Release);
        Ok(tree)
    }

    /// The windows on the display.
    pub(super) async fn drawn_windows(&self) -> Result<DrawnWindows, MachineError> {
        let display = self.display(Capability::Tree)?;
        let read = display.run(|screen, _| screen.drawn_windows()).await;
        read.map_err(|error| MachineError::Lost(error.to_string()))
    }

    async fn ask_tree(
        &self,
        budget: &TreeBudget,
        drawn: Option<Drawn>,
        windows: DrawnWindows,
    ) -> Result<UiTree, MachineError> {
        match self.ask(Operation::Tree { budget: *budget, drawn, windows }).await?.head {
            Reply::Tree(tree) => Ok(tree),
            _ => Err(unexpected_reply()),
        }
    }

    async fn ask(&self, ask: Operation) -> Result<Frame<Reply>, MachineError> {
        self.client.ask(ask, Vec::new()).await
    }

    /// Sends a request whose reply is a single file descriptor.
    async fn descriptor(&self, ask: Operation) -> Result<OwnedFd, MachineError> {
        self.ask(ask).await?.descriptors.pop().ok_or_else(unexpected_reply)
    }

    pub(super) async fn connect(&self, port: u16) -> Result<CellStream, MachineError> {
        let socket = self.descriptor(Operation::Connect { port }).await?;
        stream(socket).map_err(|error| refused(format!("port {port}"), &error))
    }

    /// Starts a command whose standard input is a socket, whose other end is returned.
    pub(super) async fn spawn_on_socket(
        &self,
        command: &Command,
    ) -> Result<(Box<dyn ChildProcess>, UnixStream), MachineError> {
        let frame = self.ask(Operation::SpawnOnSocket(program(command))).await?;
        let Reply::Child { child } = frame.head else { return Err(unexpected_reply()) };
        let mut descriptors = frame.descriptors.into_iter();
        let (Some(socket), Some(output)) = (descriptors.next(), descriptors.next()) else {
            return Err(unexpected_reply());
        };
        let process = self.child(child, output)?;
        let socket = std::os::unix::net::UnixStream::from(socket);
        let socket = socket.set_nonblocking(true).and_then(|()| UnixStream::from_std(socket));
        Ok((Box::new(process), socket.map_err(|error| broken_pipes(&error))?))
    }

    fn child(&self, number: u64, output: OwnedFd) -> Result<CellChild, MachineError> {
        let output = pipe::Receiver::from_owned_fd(output).map_err(|error| broken_pipes(&error))?;
        Ok(CellChild { client: self.client.clone(), number, input: None, output, ended: false })
    }

    fn display(&self, capability: Capability) -> Result<&Display, MachineError> {
        self.display.as_deref().ok_or(MachineError::Unsupported(capability))
    }
}

/// Runs file I/O on a thread where it may block.
async fn blocking<R: Send + 'static>(
    what: String,
    work: impl FnOnce() -> std::io::Result<R> + Send + 'static,
) -> Result<R, MachineError> {
    match tokio::time::timeout(FILE_TIME, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.map_err(|error| refused(what, &error)),
        Ok(Err(error)) => Err(MachineError::Lost(error.to_string())),
        Err(_) => Err(MachineError::TimedOut(what)),
    }
}

impl Machine for CellMachine {
    fn offers(&self) -> &MachineInfo {
        &self.offers
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        Box::pin(async move {
            let file = File::from(self.descriptor(Operation::Read { path: path.to_owned() }).await?);
            blocking(path.to_owned(), move || {
                // The supervisor has looked already, but what decides a verdict is not left to a process inside.
                must_be_plain(&file)?;
                let mut bytes = Vec::new();
                let large = || {
                    let why = format!("it holds more than the {} MB that are read", FILE_LIMIT >> 20);
                    Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, why))
                };
                if file.metadata()?.len() > FILE_LIMIT {
                    return large();
                }
                // The file may grow while it is read.
                file.take(FILE_LIMIT + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > FILE_LIMIT { large() } else { Ok(bytes) }
            })
            .await
        })
    }

    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            let mut file = File::from(self.descriptor(Operation::Write { path: path.to_owned() }).await?);
            let bytes = bytes.to_vec();
            blocking(path.to_owned(), move || {
                must_be_plain(&file)?;
                file.write_all(&bytes)
            })
            .await
        })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        Box::pin(async move {
            match self.ask(Operation::List { path: path.to_owned() }).await?.head {
                Reply::Entries(entries) => Ok(entries),
                _ => Err(unexpected_reply()),
            }
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move { self.ask(Operation::Remove { path: path.to_owned() }).await.map(|_| ()) })
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        Box::pin(async move {
            let frame = self.client.ask(Operation::Run(program(command)), command.stdin.clone()).await?;
            let Reply::Output { code, stdout, timed_out, cut } = frame.head else {
                return Err(unexpected_reply());
            };
            let mut out = frame.body;
            if stdout > out.len() {
                return Err(unexpected_reply());
            }
            let stderr = out.split_off(stdout);
            Ok(Output { code, stdout: out, stderr, timed_out, cut })
        })
    }

    fn spawn<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        Box::pin(async move {
            let frame = self.ask(Operation::Spawn(program(command))).await?;
            let Reply::Child { child } = frame.head else { return Err(unexpected_reply()) };
            let mut pipes = frame.descriptors.into_iter();
            let (Some(input), Some(output)) = (pipes.next(), pipes.next()) else {
                return Err(unexpected_reply());
            };
            let mut process = self.child(child, output)?;
            process.input = Some(pipe::Sender::from_owned_fd(input).map_err(|error| broken_pipes(&error))?);
            if !command.stdin.is_empty() {
                process.write(&command.stdin).await?;
            }
            Ok(Box::new(process) as Box<dyn ChildProcess>)
        })
    }

    fn launch<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move { self.ask(Operation::Launch(program(command))).await.map(|_| ()) })
    }

    fn tree<'a>(&'a self, budget: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        Box::pin(async move {
            let windows = self.drawn_windows().await?;
            self.ask_tree(budget, None, windows).await
        })
    }

    fn tree_document(&self) -> BoxFuture<'_, Result<Option<String>, MachineError>> {
        Box::pin(async move {
            self.display(Capability::Tree)?;
            let body = self.ask(Operation::Document).await?.body;
            String::from_utf8(body).map(Some).map_err(|_| unexpected_reply())
        })
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        Box::pin(async move {
            let display = self.display(Capability::Screenshots)?;
            display
                .run(|screen, _| screen.picture())
                .await
                .map_err(|error| MachineError::Lost(error.to_string()))
        })
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        Box::pin(async move {
            let display = self.display(Capability::Windows)?;
            display
                .run(|screen, _| screen.windows())
                .await
                .map_err(|error| MachineError::Lost(error.to_string()))
        })
    }

    fn dial(&self, port: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        Box::pin(async move {
            let fault = |error: std::io::Error| refused(format!("port {port}"), &error);
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(fault)?;
            let address: SocketAddr = listener.local_addr().map_err(fault)?;
            let serving = tokio::spawn(relay(listener, self.client.clone(), port));
            Ok(PortForward { address, guard: Box::new(RelayGuard(serving.abort_handle())) })
        })
    }
}

/// Relays connections to a port inside the cell until the future is dropped, which also closes the connections.
async fn relay(listener: TcpListener, client: Arc<SupervisorClient>, port: u16) {
    let mut carried = JoinSet::new();
    while let Ok((mut near, _)) = listener.accept().await {
        let client = client.clone();
        carried.spawn(async move {
            let answer = client.ask(Operation::Connect { port }, Vec::new()).await;
            let far = answer.ok().and_then(|mut frame| frame.descriptors.pop()).map(stream);
            if let Some(Ok(mut far)) = far {
                // Each end sees a failure of the other as the end of the stream.
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
        });
        while carried.try_join_next().is_some() {}
    }
}

/// Keeps a relay running until it is dropped.
struct RelayGuard(AbortHandle);

impl Drop for RelayGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A process inside the cell, with pipes for its standard input and output.
struct CellChild {
    client: Arc<SupervisorClient>,
    number: u64,
    input: Option<pipe::Sender>,
    output: pipe::Receiver,
    ended: bool,
}

impl ChildProcess for CellChild {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            let input = self.input.as_mut().ok_or_else(|| refused("a process's input", &"it is closed"))?;
            input.write_all(bytes).await.map_err(|error| refused("a process's input", &error))
        })
    }

    fn close_input(&mut self) -> BoxFuture<'_, Result<(), MachineError>> {
        self.input = None;
        Box::pin(async { Ok(()) })
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<u8>, MachineError>> {
        Box::pin(async move {
            let mut buffer = vec![0; 64 << 10];
            let read = self.output.read(&mut buffer).await;
            let read = read.map_err(|error| refused("a process's output", &error))?;
            buffer.truncate(read);
            Ok(buffer)
        })
    }

    fn wait(&mut self) -> BoxFuture<'_, Result<i32, MachineError>> {
        Box::pin(async move {
            match self.client.ask(Operation::Wait { child: self.number }, Vec::new()).await?.head {
                Reply::Exit { code } => {
                    self.ended = true;
                    Ok(code)
                }
                _ => Err(unexpected_reply()),
            }
        })
    }

    fn kill(&mut self) -> BoxFuture<'_, Result<(), MachineError>> {
        Box::pin(async move {
            self.client.ask(Operation::Kill { child: self.number }, Vec::new()).await.map(|_| ())
        })
    }
}

impl Drop for CellChild {
    fn drop(&mut self) {
        if !self.ended {
            self.client.tell(Operation::Kill { child: self.number });
        }
    }
}
