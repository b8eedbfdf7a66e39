//! Why an attempt has no result: the causes that end it, in words.

use apprentice_protocol::{SinkError, VoidCause, WorldError};
use apprentice_tasks::check::CollectError;
use apprentice_tasks::setup::SetupError;
use apprentice_tasks::task_world::EvidenceError;

use crate::arms::ArmError;
use crate::error_chain::error_chain;

/// The void cause of an attempt, with an explanation.
pub(super) struct Void {
    pub(super) cause: VoidCause,
    pub(super) message: String,
    /// Whether every other attempt would end so, until a person changes something.
    pub(super) lasting: bool,
    /// Whether another attempt at this trial would end so, until a person changes something: a program or a file is missing.
    pub(super) unchanging: bool,
}

impl Void {
    pub(super) fn new(cause: VoidCause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
            lasting: false,
            unchanging: cause == VoidCause::MissingProgram,
        }
    }
}

impl From<SinkError> for Void {
    fn from(error: SinkError) -> Self {
        Self::new(error.void_cause(), error.to_string())
    }
}

impl From<WorldError> for Void {
    fn from(error: WorldError) -> Self {
        Self::new(error.void_cause(), error.message)
    }
}

impl From<&ArmError> for Void {
    /// Guidance belongs to what an attempt needs before its agent acts, so its failure is one of the setup.
    fn from(error: &ArmError) -> Self {
        Self::new(VoidCause::Setup, format!("the guidance of the arm: {}", error_chain(error)))
    }
}

impl From<SetupError> for Void {
    fn from(error: SetupError) -> Self {
        let unchanging = error.is_unchanging();
        Self { unchanging, ..Self::new(error.void_cause(), error.message()) }
    }
}

impl From<EvidenceError> for Void {
    fn from(error: EvidenceError) -> Self {
        Self::new(error.void_cause(), error_chain(&error))
    }
}

impl From<CollectError> for Void {
    fn from(error: CollectError) -> Self {
        Self::new(error.void_cause(), error_chain(&error))
    }
}
