//! The ports through which an agent acts in a world and through which worlds are opened.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Action, AllowedHost, BoxFuture, ConnectionReport, Machine, Monitors, Observation, RootFolder,
    ScreenPoint, Size, VoidCause, Want,
};

/// The kind of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentKind {
    /// An in-memory world of pages and controls.
    Scene,
    /// Chromium, controlled through the DevTools protocol.
    Browser,
    /// An isolated desktop on this machine.
    Desktop,
    /// A machine that speaks the OSWorld server protocol.
    Vm,
    /// The user's own desktop.
    Host,
}

/// How a world is isolated from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In memory; needs no isolation.
    Memory,
    /// Separate user, process, network, IPC and host-name namespaces.
    Cell,
    /// A cell whose browser served other episodes before, each in a browser context of its own. Only used on explicit request.
    Context,
    /// The container around the program alone: worlds in it are to each other as with `Plain`. Only used on explicit request.
    Container,
    /// A separate process group and home folder, no namespaces. Only used on explicit request.
    Plain,
    /// Another machine.
    Machine,
    /// No isolation: the user's own desktop.
    None,
}

/// The parameters of a new world. Programs and files are added later, through its [`Machine`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorldSpec {
    /// The kind of the world.
    pub environment: EnvironmentKind,
    /// The screen: its size in pixels, or its monitors.
    pub screen: Monitors,
    /// Initial URL of a browser world; `about:blank` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Definition of a scene world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<Value>,
    /// The hosts that its programs need to reach. The source of worlds decides whether they may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<AllowedHost>,
    /// Folders below the root that its programs can write to, beside those of every cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<RootFolder>,
}

impl WorldSpec {
    /// Returns a world that needs nothing beside its kind and its screen.
    pub fn new(environment: EnvironmentKind, screen: impl Into<Monitors>) -> Self {
        Self {
            environment,
            screen: screen.into(),
            url: None,
            scene: None,
            network: Vec::new(),
            folders: Vec::new(),
        }
    }

    /// Returns the size of the screen of a world that has a single monitor by its nature.
    ///
    /// # Errors
    ///
    /// Fails if several monitors are asked for.
    pub fn only_monitor(&self) -> Result<Size, WorldError> {
        if self.screen.several().is_empty() {
            return Ok(self.screen.screen());
        }
        let story = format!(
            "the screen {} has several monitors, and only a desktop world has them: give one size, for example 1920x1080",
            self.screen
        );
        Err(WorldError::new(WorldErrorKind::Start, story))
    }
}

/// An open world with two handles. The owner must call [`Environment::close`] on every path.
pub struct World {
    /// The agent's handle.
    pub environment: Box<dyn Environment>,
    /// The handle for setup and checks.
    pub machine: Arc<dyn Machine>,
    /// How the world is isolated.
    pub isolation: Isolation,
}

/// Whether the input of an action was delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "delivery", rename_all = "snake_case")]
pub enum Delivery {
    /// The input was delivered.
    Delivered,
    /// The input was rejected for a reason the model can act on: a stale reference, a covered point, a bad address.
    Refused {
        /// The message for the model.
        problem: String,
    },
}

/// The result of one action. It contains no picture: `observe` is called once per batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActReport {
    /// Whether the input was delivered.
    pub delivery: Delivery,
    /// Text for the model: a download's name, a dialog that opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where the pointer is, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<ScreenPoint>,
}

impl ActReport {
    /// Creates the report of a delivered action without a message.
    pub fn delivered() -> Self {
        Self { delivery: Delivery::Delivered, text: None, pointer: None }
    }

    /// Creates the report of a rejected action.
    pub fn refused(problem: impl Into<String>) -> Self {
        Self { delivery: Delivery::Refused { problem: problem.into() }, text: None, pointer: None }
    }

    /// Adds sentences about what else has happened in the world.
    #[must_use]
    pub fn also(mut self, sentences: &[String]) -> Self {
        for sentence in sentences {
            let place = match &mut self.delivery {
                Delivery::Refused { problem } => problem,
                Delivery::Delivered => self.text.get_or_insert_default(),
            };
            if !place.is_empty() {
                place.push('\n');
            }
            place.push_str(sentence);
        }
        self
    }
}

/// The kind of an infrastructure failure of a world. Each makes the attempt void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorldErrorKind {
    /// The world did not start.
    Start,
    /// The world died or stopped responding.
    Lost,
    /// Input can no longer be delivered.
    Input,
    /// A required program is not installed.
    MissingProgram,
    /// The disk is full.
    DiskFull,
    /// The task needs hosts that worlds may not reach.
    NetworkNotAllowed,
}

/// An infrastructure failure of a world. It is never shown to a model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct WorldError {
    /// The kind of failure.
    pub fault: WorldErrorKind,
    /// The message, with a remedy if there is one.
    pub message: String,
}

impl WorldError {
    /// Creates an error.
    pub fn new(fault: WorldErrorKind, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }

    /// Returns the void cause of the attempt.
    pub fn void_cause(&self) -> VoidCause {
        match self.fault {
            WorldErrorKind::Start => VoidCause::WorldStart,
            WorldErrorKind::Lost => VoidCause::WorldLost,
            WorldErrorKind::Input => VoidCause::InputLost,
            WorldErrorKind::MissingProgram => VoidCause::MissingProgram,
            WorldErrorKind::DiskFull => VoidCause::DiskFull,
            WorldErrorKind::NetworkNotAllowed => VoidCause::NetworkNotAllowed,
        }
    }
}

/// How a wait for a change of the world ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeWait {
    /// It may have changed.
    Changed,
    /// Nothing was seen to change within the time.
    Unchanged,
    /// No event tells whether it changes.
    Untold,
}

/// The agent's interface to a running world.
pub trait Environment: Send {
    /// Observes the world. Called once per batch of actions, after the world has settled.
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>>;
    /// Performs one action and waits for its delivery. Dropping the future releases held keys and buttons.
    fn act<'a>(&'a mut self, action: &'a Action<ScreenPoint>)
    -> BoxFuture<'a, Result<ActReport, WorldError>>;
    /// Opens the page with which a task begins. Its address is the task's, so that no setting about a model's addresses holds.
    fn open_page<'a>(&'a mut self, url: &'a str) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        let navigate = Action::Navigate { url: url.to_owned() };
        Box::pin(async move { self.act(&navigate).await })
    }
    /// Waits until what was observed last may have changed, for at most `cap`. What changes later than it is drawn, or before
    /// the wait begins, may be missed: whoever waits looks again after the cap. A world that no event tells of changes
    /// answers [`ChangeWait::Untold`] at once.
    fn await_change(&mut self, _cap: Duration) -> BoxFuture<'_, Result<ChangeWait, WorldError>> {
        Box::pin(std::future::ready(Ok(ChangeWait::Untold)))
    }
    /// The connections that programs of the world asked for since the last call, where they go through a proxy.
    fn take_connections(&mut self) -> ConnectionReport {
        ConnectionReport::default()
    }
    /// Closes the world within the deadline. `Drop` kills it synchronously as a last resort.
    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>>;
}

/// Opens fresh worlds.
pub trait EnvironmentSource: Send + Sync {
    /// Opens one world.
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>>;

    /// Returns the names of isolation features that are switched off, for the record of a run.
    fn concessions(&self) -> Vec<String> {
        Vec::new()
    }
}
