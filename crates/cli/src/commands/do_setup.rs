//! Failures of `apprentice do` before the agent's first turn.

use apprentice_protocol::{
    EventKind, EventSink, MachineError, ResourceUsage, SinkError, VoidCause, WorldError,
};

use crate::failure::{Failure, Kind, WithKind as _};

/// A failure before the agent's first turn.
pub(super) struct SetupFailure {
    pub(super) cause: VoidCause,
    pub(super) failure: Failure,
}

impl SetupFailure {
    pub(super) fn new(cause: VoidCause, kind: Kind, message: impl std::fmt::Display) -> Self {
        Self { cause, failure: Failure::say(kind, message) }
    }

    /// Writes the `stopped` event for an attempt that ended before the agent started.
    pub(super) fn record<T>(self, sink: &mut impl EventSink) -> Result<T, Failure> {
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
