//! Requests whose answers may take hours: they are sent together as one batch, at a lower price. The id of a batch is kept
//! on disk before anything is waited for, so that a command that was stopped takes the answers up instead of paying again.

mod batched;
mod journal;
mod service;

pub use batched::{BatchOptions, Batched};
pub use journal::{BatchJournal, JournalError};
pub use service::{BatchAnswers, BatchEntry, BatchService, BatchState, EndedBatch, UnconfirmedBatch};
pub(crate) use service::{json_lines, never};
