//! The connection to one server: over the standard streams of a program inside the world, or by HTTP through a tunnel
//! into it.

use std::ffi::OsString;
use std::net::IpAddr;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use apprentice_protocol::{ChildProcess, Clock, Command, Machine, MachineError, Why};
use reqwest::Url;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{ClientInitializeError, NotificationContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt as _};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::task::AbortHandle;

use super::spec::{McpServerSpec, McpTransport};

/// Timeout from the start of a server to its list of tools.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Delay between two attempts to connect to a server that was just started.
const RECONNECT_DELAY: Duration = Duration::from_millis(200);
const BUFFER: usize = 64 << 10;
/// Limit on the bytes of one message; a server that exceeds it is abandoned.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The variables that servers on this machine inherit.
pub type HostEnvironment = Vec<(OsString, OsString)>;

/// The reason why a server provides no tools.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The servers file does not define it.
    #[error("no server of that name is described")]
    NotDefined,
    /// It would run, or be reached, outside the world.
    #[error("it is outside the world, and --mcp-on-host is not given")]
    Outside,
    /// No world was entered, or the world is closed.
    #[error("there is no world to start it in")]
    NoWorld,
    /// The world failed to start it.
    #[error("the world did not start it: {0}")]
    World(#[from] MachineError),
    /// This machine failed to start it.
    #[error("it did not start: {0}")]
    Start(#[from] std::io::Error),
    /// It was unreachable, or did not speak the protocol.
    #[error("it does not speak the protocol: {0}")]
    Handshake(String),
    /// It failed to list its tools.
    #[error("it does not list its tools: {0}")]
    Tools(#[from] ServiceError),
    /// It was not ready within the timeout.
    #[error("it was not ready after {} s", START_TIMEOUT.as_secs())]
    TimedOut,
    /// It failed before, and starting it again would cost the same time.
    #[error("it is not started again, since it failed before: {0}")]
    FailedBefore(String),
}

/// A connection to a running server. Dropping it ends the connection and the processes started for it.
pub(super) struct McpConnection {
    pub(super) service: RunningService<RoleClient, McpClient>,
    /// Guards that must live as long as the connection: a program, or a tunnel into the world.
    kept: Vec<Guard>,
}

/// The client side of the protocol: our identity, and whether the server announced a new list of tools.
pub(super) struct McpClient {
    config: ClientConfig,
    changed: AtomicBool,
}

impl McpClient {
    /// Returns whether the tools have changed since the last call.
    pub(super) fn take_tools_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }
}

impl ClientHandler for McpClient {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    fn on_tool_list_changed(
        &self,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.changed.store(true, Ordering::Relaxed);
        std::future::ready(())
    }
}

/// A server's output stream. It fails when a line exceeds the limit, so that an endless message ends the connection.
struct LimitedLines<R> {
    inner: R,
    /// Bytes since the last line break.
    open: usize,
}

impl<R> LimitedLines<R> {
    fn of(inner: R) -> Self {
        Self { inner, open: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LimitedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let news = &buffer.filled()[before..];
        self.open = match news.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => news.len() - last - 1,
            None => self.open + news.len(),
        };
        if self.open > MAX_MESSAGE_BYTES {
            let why = format!("a message of more than {MAX_MESSAGE_BYTES} bytes");
            return Poll::Ready(Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why)));
        }
        Poll::Ready(Ok(()))
    }
}

enum Guard {
    Way {
        _guard: Box<dyn Send + Sync>,
    },
    /// A program on this machine that leads its process group, so that its children end with it.
    Program {
        child: tokio::process::Child,
    },
    Inside {
        _child: Box<dyn ChildProcess>,
    },
    Pump(AbortHandle),
}

impl Drop for Guard {
    fn drop(&mut self) {
        match self {
            Self::Pump(pump) => pump.abort(),
            Self::Program { child } => {
                // The child has not been awaited, so its process id cannot have been reused.
                let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
                if let Some(group) = group {
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
            Self::Way { .. } | Self::Inside { .. } => {}
        }
    }
}

/// The place where servers are started.
pub(super) struct LaunchContext<'a> {
    pub(super) machine: Option<&'a dyn Machine>,
    /// What programs on this machine inherit. `None` keeps servers inside the world.
    pub(super) host: Option<&'a HostEnvironment>,
    pub(super) clock: &'a dyn Clock,
}

impl LaunchContext<'_> {
    /// Starts a server if it needs starting, and initializes the connection.
    pub(super) async fn connect(&self, spec: &McpServerSpec) -> Result<McpConnection, ConnectError> {
        match &spec.reach {
            McpTransport::Streams => match self.host {
                Some(inherited) => self.speak_here(spec, inherited).await,
                None => self.speak_inside(spec).await,
            },
            McpTransport::Http(url) => self.speak_by_http(spec, url).await,
        }
    }

    fn world(&self) -> Result<&dyn Machine, ConnectError> {
        self.machine.ok_or(ConnectError::NoWorld)
    }

    async fn speak_inside(&self, spec: &McpServerSpec) -> Result<McpConnection, ConnectError> {
        let child = self.world()?.spawn(&command(spec)).await?;
        let (near, far) = tokio::io::duplex(BUFFER);
        let pump = tokio::spawn(carry(child, far)).abort_handle();
        let (reading, writing) = tokio::io::split(near);
        speak(Box::new(reading), Box::new(writing), Guard::Pump(pump)).await
    }

    async fn speak_here(
        &self,
        spec: &McpServerSpec,
        inherited: &HostEnvironment,
    ) -> Result<McpConnection, ConnectError> {
        let mut child = program(spec, inherited).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ConnectError::Handshake("its streams are not there".to_owned()));
        };
        speak(Box::new(output), Box::new(input), Guard::Program { child }).await
    }

    async fn speak_by_http(&self, spec: &McpServerSpec, url: &Url) -> Result<McpConnection, ConnectError> {
        let inside = is_loopback(url) && self.host.is_none();
        if !inside && self.host.is_none() {
            return Err(ConnectError::Outside);
        }
        let client = client()?;
        let until = self.clock.mono() + START_TIMEOUT;
        let started = self.start(spec).await?;
        loop {
            let (address, way) = if inside { self.way(url).await? } else { (url.clone(), None) };
            let config = StreamableHttpClientTransportConfig::with_uri(String::from(address));
            let transport = StreamableHttpClientTransport::with_client(client.clone(), config);
            match initialize(transport, way.into_iter().collect()).await {
                Ok(mut conversation) => {
                    conversation.kept.extend(started);
                    return Ok(conversation);
                }
                // A server that was just started may not listen yet.
                Err(error) if started.is_none() || self.clock.mono() >= until => return Err(error),
                Err(_) => self.clock.pause(RECONNECT_DELAY, Why::PollFloor).await,
            }
        }
    }

    /// Starts the program behind an address, if the spec names one.
    async fn start(&self, spec: &McpServerSpec) -> Result<Option<Guard>, ConnectError> {
        if spec.argv.is_empty() {
            return Ok(None);
        }
        if let Some(inherited) = self.host {
            let child = program(spec, inherited).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
            return Ok(Some(Guard::Program { child }));
        }
        Ok(Some(Guard::Inside { _child: self.world()?.spawn(&command(spec)).await? }))
    }

    /// Opens a tunnel to a port inside the world, and returns the address on this side.
    async fn way(&self, url: &Url) -> Result<(Url, Option<Guard>), ConnectError> {
        let port = url.port_or_known_default().unwrap_or(80);
        let dial = self.world()?.dial(port).await?;
        let mut address = url.clone();
        let set = address.set_ip_host(dial.address.ip()).is_ok()
            && address.set_port(Some(dial.address.port())).is_ok();
        match set {
            true => Ok((address, Some(Guard::Way { _guard: dial.guard }))),
            false => Err(ConnectError::Handshake(format!("{url} cannot be reached through the world"))),
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Builds an HTTP client that follows no redirects and uses no proxy of the environment.
fn client() -> Result<reqwest::Client, ConnectError> {
    // Another part of the process may have installed a crypto provider already; that one is used then.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().pool_max_idle_per_host(0);
    let built = builder.redirect(reqwest::redirect::Policy::none()).no_proxy().build();
    built.map_err(|error| ConnectError::Handshake(error.to_string()))
}

/// Initializes a connection over two streams. They are boxed, so that the protocol is compiled once for all kinds of them.
async fn speak(
    reading: Box<dyn AsyncRead + Send + Unpin>,
    writing: Box<dyn AsyncWrite + Send + Unpin>,
    guard: Guard,
) -> Result<McpConnection, ConnectError> {
    initialize((LimitedLines::of(reading), writing), vec![guard]).await
}

async fn initialize<T, E, A>(transport: T, kept: Vec<Guard>) -> Result<McpConnection, ConnectError>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let config = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("apprentice", env!("CARGO_PKG_VERSION")),
    );
    let ear = McpClient { config, changed: AtomicBool::new(false) };
    let greeted = tokio::time::timeout(START_TIMEOUT, ear.serve(transport))
        .await
        .map_err(|_| ConnectError::TimedOut)?;
    let service =
        greeted.map_err(|error: ClientInitializeError| ConnectError::Handshake(error.to_string()))?;
    Ok(McpConnection { service, kept })
}

fn command(spec: &McpServerSpec) -> Command {
    Command { cwd: spec.cwd.clone(), env: spec.env.clone(), ..Command::new(spec.argv.iter().cloned()) }
}

/// A program on this machine. Of our environment it gets what is inherited, and no key: the rest comes from its definition.
fn program(spec: &McpServerSpec, inherited: &HostEnvironment) -> tokio::process::Command {
    let mut words = spec.argv.iter();
    let mut program = tokio::process::Command::new(words.next().map_or("", String::as_str));
    program.args(words).env_clear().envs(inherited.iter().cloned()).envs(spec.env.iter().cloned());
    program.stderr(Stdio::null());
    program.kill_on_drop(true).process_group(0);
    if let Some(folder) = &spec.cwd {
        program.current_dir(folder);
    }
    program
}

/// Copies bytes between a program in the world and the connection, until one of them ends. Both reads are cancel safe:
/// no bytes are lost when the other side is ready first.
async fn carry(mut child: Box<dyn ChildProcess>, conversation: DuplexStream) {
    let (mut from, mut to) = tokio::io::split(conversation);
    let mut buffer = vec![0; BUFFER];
    loop {
        tokio::select! {
            asked = from.read(&mut buffer) => match asked {
                Ok(0) | Err(_) => break,
                Ok(count) => if child.write(&buffer[..count]).await.is_err() { break },
            },
            said = child.read() => match said {
                Ok(bytes) if !bytes.is_empty() => if to.write_all(&bytes).await.is_err() { break },
                Ok(_) | Err(_) => break,
            },
        }
    }
    // Dropping the child ends it; the connection sees the end of its stream.
}
