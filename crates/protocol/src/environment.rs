//! The port through which an agent acts in a world, and the one that opens worlds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Action, Machine, Observation, ScreenPoint, Size, VoidCause, Want};

/// What every port method returns: a boxed future that may move between threads. Dropping it cancels.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Which kind of world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentKind {
    /// An in-memory world of pages and controls.
    Scene,
    /// Chromium over its own protocol.
    Browser,
    /// An isolated desktop on this machine.
    Desktop,
    /// A machine behind the OSWorld server protocol.
    Vm,
    /// The desktop the user sits at.
    Host,
}

/// How a world is kept apart from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In memory; there is nothing to isolate.
    Memory,
    /// Own user, process, network, ipc and host-name namespaces.
    Cell,
    /// Own process group and home, no namespaces: chosen by name only.
    Plain,
    /// Another machine.
    Machine,
    /// None: the user's own desktop.
    None,
}

/// What is needed to open a world. Programs and files are put in afterwards, through its [`Machine`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorldSpec {
    /// Which kind.
    pub environment: EnvironmentKind,
    /// Screen size in pixels.
    pub screen: Size,
    /// First address of a browser world; `about:blank` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Definition of a scene world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<Value>,
}

/// One open world: two handles on the same thing. Its owner calls [`Environment::close`] on every path.
pub struct World {
    /// For the agent.
    pub environment: Box<dyn Environment>,
    /// For setup and checks.
    pub machine: Arc<dyn Machine>,
    /// How it is kept apart.
    pub isolation: Isolation,
}

/// Whether an action arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "delivery", rename_all = "snake_case")]
pub enum Delivery {
    /// The input was delivered.
    Delivered,
    /// It was not, for a reason the model can act on: a dead reference, a covered point, a bad address.
    Refused {
        /// What to tell the model.
        problem: String,
    },
}

/// What became of one action. It holds no picture: `observe` is asked once per batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActReport {
    /// Whether it arrived.
    pub delivery: Delivery,
    /// Text for the model: a download's name, a dialog that opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl ActReport {
    /// Delivered, nothing to add.
    pub fn delivered() -> Self {
        Self { delivery: Delivery::Delivered, text: None }
    }

    /// Not delivered, for a reason the model can act on.
    pub fn refused(problem: impl Into<String>) -> Self {
        Self { delivery: Delivery::Refused { problem: problem.into() }, text: None }
    }
}

/// What failed under a world. Each is the infrastructure's fault and makes the attempt void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorldFault {
    /// It did not start.
    Start,
    /// It died or stopped answering.
    Lost,
    /// Input can no longer be delivered.
    Input,
    /// A program it needs is not installed.
    MissingProgram,
    /// The disk is full.
    DiskFull,
}

/// An infrastructure failure of a world; never shown to a model as an observation.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct WorldError {
    /// What failed.
    pub fault: WorldFault,
    /// In words, with the remedy where there is one.
    pub message: String,
}

impl WorldError {
    /// A fault with its story.
    pub fn new(fault: WorldFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }

    /// The cause under which the attempt becomes void.
    pub fn void_cause(&self) -> VoidCause {
        match self.fault {
            WorldFault::Start => VoidCause::WorldStart,
            WorldFault::Lost => VoidCause::WorldLost,
            WorldFault::Input => VoidCause::InputLost,
            WorldFault::MissingProgram => VoidCause::MissingProgram,
            WorldFault::DiskFull => VoidCause::DiskFull,
        }
    }
}

/// One running world, as an agent sees it.
pub trait Environment: Send {
    /// Looks. Called once per batch of actions, after the world has settled.
    fn observe(&mut self, want: Want) -> PortFuture<'_, Result<Observation, WorldError>>;
    /// Does one action and waits for its delivery. Dropping the future releases held keys and buttons.
    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> PortFuture<'a, Result<ActReport, WorldError>>;
    /// Ends the world within the deadline. `Drop` kills it synchronously as a last resort.
    fn close(self: Box<Self>, deadline: Duration) -> PortFuture<'static, Result<(), WorldError>>;
}

/// Opens fresh worlds.
pub trait EnvironmentSource: Send + Sync {
    /// Opens one world.
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> PortFuture<'a, Result<World, WorldError>>;

    /// What of the usual separation of its worlds was given up, each by its name, for the record of a run.
    fn concessions(&self) -> Vec<String> {
        Vec::new()
    }
}
