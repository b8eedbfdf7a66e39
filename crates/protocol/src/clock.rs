//! The port for time.

use std::time::Duration;

use jiff::Timestamp;

use crate::PortFuture;

/// Why somebody pauses. Waiting for an event is not a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A task's own `sleep` step.
    TaskStep,
    /// The model asked to wait.
    ModelAsked,
    /// Before trying a provider again.
    Backoff,
    /// The least distance between two looks at something that sends no event.
    PollFloor,
}

/// Time, passed in: nothing below the command line reads a clock of its own.
pub trait Clock: Send + Sync {
    /// Wall time.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment of this process; never goes back.
    fn mono(&self) -> Duration;
    /// Pauses.
    fn pause(&self, time: Duration, why: Why) -> PortFuture<'_, ()>;
}
