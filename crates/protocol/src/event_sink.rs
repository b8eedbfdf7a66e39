//! The port through which an attempt records its events.

use crate::{BlobHash, EventId, EventKind, StepId, VoidCause};

/// An error of an event sink.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// Another write error.
    #[error("the trace could not be written: {0}")]
    Io(String),
}

impl SinkError {
    /// Returns the void cause of the attempt.
    pub fn void_cause(&self) -> VoidCause {
        match self {
            Self::DiskFull => VoidCause::DiskFull,
            Self::Io(_) => VoidCause::Internal,
        }
    }
}

/// Records events in order. Synchronous, so that a slow sink slows the run down instead of losing events.
pub trait EventSink: Send {
    /// Records one event and returns its id.
    ///
    /// # Errors
    ///
    /// Fails if the event cannot be written, such as on a full disk.
    fn emit(&mut self, step: Option<StepId>, kind: EventKind) -> Result<EventId, SinkError>;
    /// Stores bytes as a blob under their hash. Storing the same bytes again is a no-op.
    ///
    /// # Errors
    ///
    /// Fails if the blob cannot be written, such as on a full disk.
    fn keep(&mut self, bytes: &[u8], extension: &str) -> Result<BlobHash, SinkError>;
}
