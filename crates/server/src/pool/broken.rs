//! Why an episode is void: a fault of the world or of this program, and never of the client.

use apprentice_protocol::{SinkError, VoidCause, WorldError};
use apprentice_tasks::setup::SetupError;
use apprentice_tasks::task_world::EvidenceError;

use super::refusal::Refusal;
use crate::episode::chain;

/// A world that broke.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) cause: VoidCause,
    pub(crate) message: String,
}

impl Broken {
    pub(crate) fn new(cause: VoidCause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }

    /// What the client is told.
    pub(crate) fn refusal(&self) -> Refusal {
        let cause = serde_json::to_value(self.cause).ok();
        let cause = cause.as_ref().and_then(|cause| cause.as_str()).unwrap_or("unknown");
        Refusal::void(format!("{cause}: {}", self.message))
    }
}

impl From<WorldError> for Broken {
    fn from(error: WorldError) -> Self {
        Self::new(error.void_cause(), error.message)
    }
}

impl From<SetupError> for Broken {
    fn from(error: SetupError) -> Self {
        Self::new(error.void_cause(), error.message())
    }
}

impl From<EvidenceError> for Broken {
    fn from(error: EvidenceError) -> Self {
        Self::new(error.void_cause(), chain(&error))
    }
}

impl From<SinkError> for Broken {
    fn from(error: SinkError) -> Self {
        Self::new(error.void_cause(), error.to_string())
    }
}
