//! The steps of `apprentice do` before the agent's first turn, how they fail, and the closing of its world.

use std::path::Path;
use std::time::Duration;

use apprentice_protocol::{
    Action, Clock, Command, Delivery, Environment, EnvironmentKind, EventKind, EventSink, Limits, Machine,
    MachineError, Monitors, ResourceUsage, SinkError, VoidCause, World, WorldError, WorldSpec,
};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::wire;

/// Deadline for closing the world.
const CLOSE: Duration = Duration::from_secs(10);

/// Returns the world that an attempt asks for.
pub(in crate::commands) fn world_of(url: Option<String>, host: bool, screen: Monitors) -> WorldSpec {
    let environment = match url {
        Some(_) => EnvironmentKind::Browser,
        None if host => EnvironmentKind::Host,
        None => EnvironmentKind::Desktop,
    };
    WorldSpec { url, ..WorldSpec::new(environment, screen) }
}

/// Refuses a screen that the world of these options cannot have.
pub(in crate::commands) fn check_screen(url: Option<&String>, screen: &Monitors) -> Result<(), Failure> {
    match url.map(|url| world_of(Some(url.clone()), false, screen.clone()).only_monitor()) {
        Some(Err(error)) => Err(Failure::say(Kind::Usage, format!("--screen with --url: {error}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// The limits of one instruction.
pub(in crate::commands) fn limits(world_steps: u32) -> Limits {
    Limits { world_steps, turns: world_steps.saturating_mul(2), ..Limits::default() }
}

/// Reads a file for the world's home folder; returns its name and contents.
pub(in crate::commands) fn home_file(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let unreadable = |error| Failure::say(Kind::Usage, format!("{} cannot be read: {error}", path.display()));
    let bytes = apprentice_files::read(path).map_err(unreadable)?;
    Ok((path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(), bytes))
}

/// Copies files into the world's home.
pub(in crate::commands) async fn write_files(
    machine: &dyn Machine,
    files: &[(String, Vec<u8>)],
) -> Result<(), SetupFailure> {
    let home = machine.offers().home.clone();
    for (name, bytes) in files {
        machine.write(&format!("{home}/{name}"), bytes).await?;
    }
    Ok(())
}

/// Opens a page.
pub(in crate::commands) async fn open_page(
    environment: &mut dyn Environment,
    url: &str,
) -> Result<(), SetupFailure> {
    match environment.act(&Action::Navigate { url: url.to_owned() }).await?.delivery {
        Delivery::Delivered => Ok(()),
        Delivery::Refused { problem } => Err(SetupFailure::new(
            VoidCause::Setup,
            Kind::Environment,
            format!("{url} does not open: {problem}"),
        )),
    }
}

/// Starts the program and waits for its first window.
pub(in crate::commands) async fn start(
    machine: &dyn Machine,
    line: &str,
    clock: &dyn Clock,
) -> Result<(), SetupFailure> {
    machine.launch(&Command::shell(format!("exec {line}"))).await?;
    let shown = wire::await_window(machine, clock).await;
    shown.map_err(|failure| SetupFailure { cause: VoidCause::Setup, failure })
}

/// Closes the world. Connections that its programs asked for after the last view are recorded before.
pub(in crate::commands) async fn close(
    mut world: World,
    sink: &mut impl EventSink,
) -> Result<(), WorldError> {
    let connections = world.environment.take_connections();
    if !connections.is_empty()
        && let Err(error) = sink.emit(None, EventKind::Connections(connections))
    {
        tracing::warn!(%error, "cannot record the connections of a world");
    }
    world.environment.close(CLOSE).await
}

/// A failure before the agent's first turn.
pub(in crate::commands) struct SetupFailure {
    pub(in crate::commands) cause: VoidCause,
    pub(in crate::commands) failure: Failure,
}

impl SetupFailure {
    pub(in crate::commands) fn new(cause: VoidCause, kind: Kind, message: impl std::fmt::Display) -> Self {
        Self { cause, failure: Failure::say(kind, message) }
    }

    /// Writes the `stopped` event for an attempt that ended before the agent started.
    pub(in crate::commands) fn record<T>(self, sink: &mut impl EventSink) -> Result<T, Failure> {
        let detail = self.failure.source.to_string();
        let (reason, void, spent) = (None, Some(self.cause), ResourceUsage::default());
        sink.emit(None, EventKind::Stopped { reason, void, detail, spent }).kind(Kind::Environment)?;
        Err(self.failure)
    }
}

impl From<WorldError> for SetupFailure {
    fn from(error: WorldError) -> Self {
        Self::new(error.void_cause(), Kind::Environment, error)
    }
}

impl From<SinkError> for SetupFailure {
    fn from(error: SinkError) -> Self {
        Self::new(error.void_cause(), Kind::Environment, error)
    }
}

impl From<MachineError> for SetupFailure {
    fn from(error: MachineError) -> Self {
        let cause = match &error {
            MachineError::Lost(_) => VoidCause::WorldLost,
            MachineError::MissingProgram(_) => VoidCause::MissingProgram,
            MachineError::Unsupported(_)
            | MachineError::NotFound(_)
            | MachineError::Refused { .. }
            | MachineError::TimedOut(_) => VoidCause::Setup,
        };
        Self::new(cause, Kind::Environment, error)
    }
}
