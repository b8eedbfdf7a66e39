//! An isolated cell on this machine: its own user, processes, network, home and buses, and optionally a display.
//!
//! The desktop and browser worlds are built on cells. A cell dies with its owner, even when the owner is killed: its
//! first process ends when our socket closes, and bubblewrap ends with the thread that started it.

mod clock;
mod control_group;
mod display;
mod display_server;
pub mod elements;
mod headroom;
mod home;
mod language;
mod launch;
mod limits;
mod machine;
mod network;
mod plain_file;
mod reap;
mod state;
mod supervisor;
mod supervisor_client;
mod wire;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    AllowedHost, Clock, ConnectionReport, Image, Isolation, Machine, MachineError, Monitors, NodeRef, Size,
    TreeBudget, UiTree, WorldError, WorldErrorKind,
};

pub use clock::SystemClock;
pub use display::{CancelToken, DisplayError, Pointer, Popup, Screen, was_closed};
pub use headroom::has_headroom;
pub use launch::need_display;
pub use limits::CellLimits;
pub use network::{NetworkNotAllowed, NetworkPolicy, PROXY};
pub use reap::{Reaped, reap};
pub use state::{open as open_state_folder, state_folders};
pub use supervisor::supervise;
pub use wire::NodeFacts;

use display::{Display, ProcessFolder};
use display_server::DisplayServer;
use launch::Sandbox;
use machine::CellMachine;
use network::{PROXY_PORT, Proxy};
use supervisor_client::SupervisorClient;
use wire::{Operation, Reply};

/// A connection to a port inside a cell: a socket of the cell's network namespace, held by this process.
pub use tokio::net::TcpStream as CellStream;

/// How long a cell may take to start.
const START: Duration = Duration::from_secs(30);

/// What bounds the programs of a cell together: `Ok` if the kernel does, by a control group for each cell; else why the
/// supervisor adds up what they use instead.
pub fn cells_have_control_groups() -> Result<(), String> {
    control_group::of_this_process().map(|_| ()).map_err(ToString::to_string)
}

/// How a cell is isolated from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellIsolation {
    /// Linux namespaces, created by bubblewrap.
    Bubblewrap,
    /// Only a process group and a home of its own.
    Plain,
}

impl From<CellIsolation> for Isolation {
    fn from(isolation: CellIsolation) -> Self {
        match isolation {
            CellIsolation::Bubblewrap => Self::Cell,
            CellIsolation::Plain => Self::Plain,
        }
    }
}

/// The configuration for starting a cell.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// The screen. `None` starts no display, window manager or accessibility bus.
    pub screen: Option<Monitors>,
    /// How the cell is isolated from the host.
    pub isolation: CellIsolation,
    /// Path of our own program, which is started again inside the cell as its supervisor.
    pub program: PathBuf,
    /// The hidden argument under which that program calls [`supervise`].
    pub argument: String,
    /// A folder for run-time state, shared by all cells of this user.
    pub state: PathBuf,
    /// A home to start from. The built-in seed files are added to it.
    pub golden: Option<PathBuf>,
    /// What the cell's programs may use.
    pub limits: CellLimits,
    /// The hosts that the cell's programs may reach, by a proxy. The cell has no network otherwise.
    pub network: Vec<AllowedHost>,
}

/// A running cell. Dropping it kills it and waits for its end.
pub struct Cell {
    client: Arc<SupervisorClient>,
    display: Option<Arc<Display>>,
    machine: Arc<CellMachine>,
    isolation: CellIsolation,
    proxy: Option<Proxy>,
}

impl Cell {
    /// Starts a cell and waits until its display and buses are ready.
    pub async fn start(spec: &CellSpec, clock: Arc<dyn Clock>) -> Result<Self, WorldError> {
        let failed = |story: String| WorldError::new(WorldErrorKind::Start, story);
        let mut sandbox = Sandbox::prepare(spec)?;
        let session =
            sandbox.session.take().ok_or_else(|| failed("the cell has no desktop configuration".into()))?;
        let home = session.home.to_string_lossy().into_owned();
        // From here on, returning early ends the cell.
        let mut cell = StartGuard(Some(Arc::new(SupervisorClient::open(sandbox)?)));
        let client = cell.0.clone().ok_or_else(|| failed("the cell is gone".into()))?;
        let ready = tokio::time::timeout(START, client.ask(Operation::Start(session), Vec::new())).await;
        let frame = match ready {
            Ok(Ok(frame)) => frame,
            Ok(Err(MachineError::MissingProgram(program))) => {
                let story = format!("program {program} is not installed where cells can see it");
                return Err(WorldError::new(WorldErrorKind::MissingProgram, story));
            }
            Ok(Err(MachineError::Lost(story))) => {
                return Err(failed(format!("the cell did not start: {story}")));
            }
            Ok(Err(error)) => return Err(failed(format!("the cell did not start: {error}"))),
            Err(_) => return Err(failed(format!("the cell did not start within {START:?}"))),
        };
        let mut descriptors = frame.descriptors.into_iter();
        let (Reply::Ready { supervisor: number }, Some(supervisor)) = (frame.head, descriptors.next()) else {
            return Err(failed("the supervisor sent an unexpected reply".into()));
        };
        client.guard(supervisor);
        let proxy = open_proxy(&client, spec, clock.clone()).await?;
        let display = match (descriptors.next(), &spec.screen) {
            (Some(socket), Some(screen)) => {
                let server = DisplayServer::of(screen).words();
                let processes = descriptors.next().map(|folder| ProcessFolder { folder, supervisor: number });
                let opened =
                    tokio::task::spawn_blocking(move || Display::open(socket, server, processes, clock))
                        .await;
                let opened = opened.map_err(|error| failed(error.to_string()))?;
                Some(Arc::new(opened.map_err(|error| failed(format!("the display: {error}")))?))
            }
            _ => None,
        };
        cell.0 = None;
        let machine = CellMachine::new(client.clone(), display.clone(), home, spec.screen.as_ref());
        Ok(Self { client, display, machine: Arc::new(machine), isolation: spec.isolation, proxy })
    }

    /// Returns the port for setup and checks.
    pub fn machine(&self) -> Arc<dyn Machine> {
        self.machine.clone()
    }

    /// Returns how the cell is isolated from the host.
    pub fn isolation(&self) -> Isolation {
        self.isolation.into()
    }

    /// Connects to a TCP port inside the cell.
    pub async fn connect(&self, port: u16) -> Result<CellStream, MachineError> {
        self.machine.connect(port).await
    }

    /// The connections that the cell's programs asked for since the last call.
    pub fn take_connections(&self) -> ConnectionReport {
        self.proxy.as_ref().map(|proxy| proxy.log().take()).unwrap_or_default()
    }

    /// Why the cell has become unusable, or `None` while it works. A loss is an infrastructure fault, never the model's
    /// failure.
    pub fn loss(&self) -> Option<WorldError> {
        self.client.loss().map(|loss| loss.world())
    }

    /// Sentences about programs that were ended because the cell was over a limit, since the last call.
    pub fn take_notices(&self) -> Vec<String> {
        self.client.take_notices()
    }

    /// Waits until the cell becomes unusable, and returns the reason.
    pub async fn lost(&self) -> WorldError {
        self.client.lost().await.world()
    }

    /// Kills the cell and waits until all of it is gone.
    pub async fn close(self, deadline: Duration) -> Result<(), WorldError> {
        let client = self.client.clone();
        let ended = tokio::task::spawn_blocking(move || client.end());
        match tokio::time::timeout(deadline, ended).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let story = format!("the cell did not end within {deadline:?}");
                Err(WorldError::new(WorldErrorKind::Lost, story))
            }
        }
    }

    /// Does something on the thread that owns the display. Dropping the future stops it.
    pub async fn on_screen<R, F>(&self, job: F) -> Result<R, WorldError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Screen, &CancelToken) -> Result<R, DisplayError> + Send + 'static,
    {
        let display = self.display.as_ref();
        let display =
            display.ok_or_else(|| WorldError::new(WorldErrorKind::Input, "this cell has no display"))?;
        tokio::select! {
            biased;
            loss = self.client.lost() => Err(loss.world()),
            done = display.run(job) => match done {
                Ok(done) => Ok(done),
                // If the supervisor reports a reason, it is more informative than a broken connection.
                Err(error) => Err(match tokio::time::timeout(Duration::from_secs(1), self.client.lost()).await {
                    Ok(loss) => loss.world(),
                    Err(_) => WorldError::new(WorldErrorKind::Input, error.to_string()),
                }),
            },
        }
    }

    /// Reads the interface tree for a view: what cannot have changed since the view before the last is not asked again.
    /// [`Machine::tree`] asks every node.
    pub async fn view_tree(&self, budget: &TreeBudget) -> Result<UiTree, MachineError> {
        self.machine.view_tree(budget).await
    }

    /// The user's files that programs wrote since the last call, hidden ones aside.
    pub async fn written_files(&self) -> Result<Vec<String>, MachineError> {
        match self.client.ask(Operation::Written, Vec::new()).await?.head {
            Reply::Written(files) => Ok(files),
            _ => Err(machine::unexpected_reply()),
        }
    }

    /// Looks a node up.
    pub async fn node(&self, node: &NodeRef) -> Result<NodeFacts, MachineError> {
        match self.client.ask(Operation::Node { node: node.clone() }, Vec::new()).await?.head {
            Reply::Node(facts) => Ok(facts),
            _ => Err(machine::unexpected_reply()),
        }
    }

    /// Does a node's own action.
    pub async fn press(&self, node: &NodeRef) -> Result<(), MachineError> {
        self.client.ask(Operation::Press { node: node.clone() }, Vec::new()).await.map(|_| ())
    }

    /// Gives a node the keyboard focus.
    pub async fn focus(&self, node: &NodeRef) -> Result<(), MachineError> {
        self.client.ask(Operation::Focus { node: node.clone() }, Vec::new()).await.map(|_| ())
    }

    /// Chooses an option below a node.
    pub async fn choose(&self, node: &NodeRef, option: &str) -> Result<(), MachineError> {
        let ask = Operation::Choose { node: node.clone(), option: option.to_owned() };
        self.client.ask(ask, Vec::new()).await.map(|_| ())
    }
}

/// Opens the proxy's port inside the cell, unless no host may be reached.
async fn open_proxy(
    client: &SupervisorClient,
    spec: &CellSpec,
    clock: Arc<dyn Clock>,
) -> Result<Option<Proxy>, WorldError> {
    if spec.network.is_empty() {
        return Ok(None);
    }
    let failed =
        |story: String| WorldError::new(WorldErrorKind::Start, format!("the proxy of the cell: {story}"));
    let opened = client.ask(Operation::Listen { port: PROXY_PORT }, Vec::new()).await;
    let mut frame = opened.map_err(|error| failed(error.to_string()))?;
    let listener = frame.descriptors.pop().ok_or_else(|| failed("the supervisor sent no socket".into()))?;
    let proxy = Proxy::serve(listener, spec.network.clone(), clock);
    proxy.map(Some).map_err(|error| failed(error.to_string()))
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.client.end();
    }
}

/// A cell that is starting. Dropping this value ends the cell, unless the value was disarmed.
struct StartGuard(Option<Arc<SupervisorClient>>);

impl Drop for StartGuard {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            client.end();
        }
    }
}

/// Encodes a frame as an image with its hash.
fn picture(frame: &apprentice_pixels::Frame) -> Result<Image, apprentice_pixels::PixelError> {
    use sha2::{Digest, Sha256};
    let bytes = apprentice_pixels::encode_png(frame)?;
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Image {
        hash: apprentice_protocol::BlobHash::new(hash),
        size: Size::new(frame.width(), frame.height()),
        media: apprentice_protocol::MediaType::Png,
        bytes: apprentice_protocol::ImageBytes(bytes.into()),
    })
}

/// Turns a received descriptor into a stream.
fn stream(descriptor: OwnedFd) -> std::io::Result<CellStream> {
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    CellStream::from_std(stream)
}
