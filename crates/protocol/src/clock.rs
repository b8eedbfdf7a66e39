//! The port for time.

use std::time::Duration;

use jiff::Timestamp;

use crate::PortFuture;

/// The reason for a pause. Waiting for an event is not a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A task's own `sleep` step.
    TaskStep,
    /// The model requested a wait.
    ModelAsked,
    /// Delay before the next try of a request.
    Backoff,
    /// Minimum interval between two polls of a source without events.
    PollFloor,
}

/// The source of time. Only the command line creates one; all other code receives it as an argument.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time.
    fn now(&self) -> Timestamp;
    /// Returns the monotonic time since a fixed moment of this process.
    fn mono(&self) -> Duration;
    /// Pauses for this duration.
    fn pause(&self, time: Duration, why: Why) -> PortFuture<'_, ()>;
}
