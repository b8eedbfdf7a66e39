//! A running cell: starts it, serves its display and its elements, and ends it.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    ChildProcess, Clock, Command, ConnectionReport, Isolation, Machine, MachineError, NodeRef, TreeBudget,
    UiTree, WorldError, WorldErrorKind,
};
use tokio::net::UnixStream;

use super::cell_spec::{CellIsolation, CellSpec};
use super::display::{CancelToken, Display, DisplayError, ProcessFolder, Screen};
use super::display_server::DisplayServer;
use super::launch::Sandbox;
use super::machine::{self, CellMachine, CellStream};
use super::network::{PROXY_PORT, Proxy};
use super::supervisor_client::SupervisorClient;
use super::wire::{NodeFacts, Operation, Reply};

/// How long a cell may take to start.
const START_DEADLINE: Duration = Duration::from_secs(30);

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
    ///
    /// # Errors
    ///
    /// Fails if a program that cells need is not installed (the error names its package), if the cell has no desktop configuration, or if
    /// its display and buses are not ready in time.
    pub async fn start(spec: &CellSpec, clock: Arc<dyn Clock>) -> Result<Self, WorldError> {
        let failed = |story: String| WorldError::new(WorldErrorKind::Start, story);
        let mut sandbox = Sandbox::prepare(spec)?;
        let session =
            sandbox.session.take().ok_or_else(|| failed("the cell has no desktop configuration".into()))?;
        let home = session.home.to_string_lossy().into_owned();
        // From here on, returning early ends the cell.
        let mut cell = StartGuard(Some(Arc::new(SupervisorClient::open(sandbox)?)));
        let client = cell.0.clone().ok_or_else(|| failed("the cell is gone".into()))?;
        let ready =
            tokio::time::timeout(START_DEADLINE, client.ask(Operation::Start(session), Vec::new())).await;
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
            Err(_) => return Err(failed(format!("the cell did not start within {START_DEADLINE:?}"))),
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
        // What a bare screen shows is told by the program that fills it.
        let (shown, screen) = if spec.bare { (None, None) } else { (display.clone(), spec.screen.as_ref()) };
        let machine = CellMachine::new(client.clone(), shown, home, screen);
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

    /// Starts a command whose standard input is a socket. The other end of the socket is the stream that is returned.
    ///
    /// # Errors
    ///
    /// Fails if the command cannot be started, or if the cell is lost.
    pub async fn spawn_on_socket(
        &self,
        command: &Command,
    ) -> Result<(Box<dyn ChildProcess>, UnixStream), MachineError> {
        self.machine.spawn_on_socket(command).await
    }

    /// Connects to a TCP port inside the cell.
    ///
    /// # Errors
    ///
    /// Fails if nothing in the cell listens at this port, or if the cell is lost.
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
    ///
    /// # Errors
    ///
    /// Fails if processes of the cell are still there after `deadline`.
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

    /// The cell's screen, unless it has none.
    pub fn screen(&self) -> Option<CellScreen> {
        let display = Arc::clone(self.display.as_ref()?);
        Some(CellScreen { client: Arc::clone(&self.client), display })
    }

    /// Does something on the thread that owns the display. Dropping the future stops it.
    ///
    /// # Errors
    ///
    /// Fails if the cell has no display, if the job fails, or if the cell is lost, for which the supervisor's reason is given.
    pub async fn on_screen<R, F>(&self, job: F) -> Result<R, WorldError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Screen, &CancelToken) -> Result<R, DisplayError> + Send + 'static,
    {
        let screen = self.screen();
        let screen =
            screen.ok_or_else(|| WorldError::new(WorldErrorKind::Input, "this cell has no display"))?;
        screen.run(job).await
    }

    /// Reads the interface tree for a view: what cannot have changed since the view before the last is not asked again.
    /// [`Machine::tree`] asks every node.
    ///
    /// # Errors
    ///
    /// Fails if the tree cannot be read in time, or if the cell is lost.
    pub async fn view_tree(&self, budget: &TreeBudget) -> Result<UiTree, MachineError> {
        self.machine.view_tree(budget).await
    }

    /// The user's files that programs wrote since the last call, hidden ones aside.
    ///
    /// # Errors
    ///
    /// Fails if the cell is lost or its supervisor does not answer.
    pub async fn written_files(&self) -> Result<Vec<String>, MachineError> {
        match self.client.ask(Operation::Written, Vec::new()).await?.head {
            Reply::Written(files) => Ok(files),
            _ => Err(machine::unexpected_reply()),
        }
    }

    /// Looks a node up.
    ///
    /// # Errors
    ///
    /// Fails if the node is gone or its program does not answer in time, or if the cell is lost.
    pub async fn node(&self, node: &NodeRef) -> Result<NodeFacts, MachineError> {
        let windows = self.machine.drawn_windows().await?;
        match self.client.ask(Operation::Node { node: node.clone(), windows }, Vec::new()).await?.head {
            Reply::Node(facts) => Ok(facts),
            _ => Err(machine::unexpected_reply()),
        }
    }

    /// Does a node's own action.
    ///
    /// # Errors
    ///
    /// Fails if the node is gone, if it has no action, or if the cell is lost.
    pub async fn press(&self, node: &NodeRef) -> Result<(), MachineError> {
        self.client.ask(Operation::Press { node: node.clone() }, Vec::new()).await.map(|_| ())
    }

    /// Gives a node the keyboard focus.
    ///
    /// # Errors
    ///
    /// Fails if the node is gone, if it takes no focus, or if the cell is lost.
    pub async fn focus(&self, node: &NodeRef) -> Result<(), MachineError> {
        self.client.ask(Operation::Focus { node: node.clone() }, Vec::new()).await.map(|_| ())
    }

    /// Chooses an option below a node.
    ///
    /// # Errors
    ///
    /// Fails if the node is gone or has no such option, or if the cell is lost.
    pub async fn choose(&self, node: &NodeRef, option: &str) -> Result<(), MachineError> {
        let ask = Operation::Choose { node: node.clone(), option: option.to_owned() };
        self.client.ask(ask, Vec::new()).await.map(|_| ())
    }
}

/// The screen of a cell, for as long as the cell stands.
#[derive(Clone)]
pub struct CellScreen {
    client: Arc<SupervisorClient>,
    display: Arc<Display>,
}

impl std::fmt::Debug for CellScreen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CellScreen").finish_non_exhaustive()
    }
}

impl CellScreen {
    /// Does something on the thread that owns the display. Dropping the future stops it.
    ///
    /// # Errors
    ///
    /// Fails if the job fails, or if the cell is lost, for which the supervisor's reason is given.
    pub async fn run<R, F>(&self, job: F) -> Result<R, WorldError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Screen, &CancelToken) -> Result<R, DisplayError> + Send + 'static,
    {
        tokio::select! {
            biased;
            loss = self.client.lost() => Err(loss.world()),
            done = self.display.run(job) => match done {
                Ok(done) => Ok(done),
                // If the supervisor reports a reason, it is more informative than a broken connection.
                Err(error) => Err(match tokio::time::timeout(Duration::from_secs(1), self.client.lost()).await {
                    Ok(loss) => loss.world(),
                    Err(_) => WorldError::new(WorldErrorKind::Input, error.to_string()),
                }),
            },
        }
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
