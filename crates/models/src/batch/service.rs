//! What a provider's API of batches does, whatever its paths and fields.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apprentice_protocol::{BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind, Retry};

use jiff::{SignedDuration, Timestamp};

use crate::http::DecodeError;

/// How far the clocks of this machine and of a provider may differ.
const CLOCKS: SignedDuration = SignedDuration::from_mins(15);

/// One request of a batch.
#[derive(Clone, Debug)]
pub struct BatchEntry {
    /// The name by which its answer is found: 32 hexadecimal digits.
    pub key: String,
    /// The body of the request, as it would be sent alone.
    pub body: Vec<u8>,
}

/// A batch that works on nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedBatch {
    /// The provider's id of the batch.
    pub id: String,
    /// How it ended, in the provider's word.
    pub how: String,
    /// Where its answers are, for APIs that keep them in files.
    pub files: Vec<String>,
}

/// How far a batch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// Some requests may still be answered.
    Working,
    /// It ended; requests may be without an answer.
    Ended(EndedBatch),
    /// It was refused as a whole, for this reason.
    Failed(String),
}

/// A batch that may have been sent: the process ended before it heard of the batch's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfirmedBatch {
    /// The mark that it was sent under.
    pub mark: String,
    /// Number of its requests.
    pub requests: usize,
    /// When it was about to be sent, by this machine's clock.
    pub at: Timestamp,
    /// Ids of batches that are other ones.
    pub others: BTreeSet<String>,
}

impl UnconfirmedBatch {
    /// The earliest time that the provider's clock may have shown when it was sent.
    pub fn earliest(&self) -> Timestamp {
        self.at.checked_sub(CLOCKS).unwrap_or(Timestamp::MIN)
    }
}

/// The answers of a batch by key: the body of a reply, or why there is none.
pub type BatchAnswers = BTreeMap<String, Result<Vec<u8>, ModelError>>;

/// A model whose requests can be sent as a batch. Like an adapter, it sends each request once.
pub trait BatchService: Send + Sync {
    /// Returns the body of a request.
    fn entry_body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError>;
    /// Sends a batch and returns its id. The provider keeps the mark with it, where its API can.
    fn submit<'a>(
        &'a self,
        entries: &'a [BatchEntry],
        mark: &'a str,
    ) -> BoxFuture<'a, Result<String, ModelError>>;
    /// Looks for a batch that may have been sent, and returns its id if the provider has it.
    fn find<'a>(&'a self, sent: &'a UnconfirmedBatch) -> BoxFuture<'a, Result<Option<String>, ModelError>>;
    /// Asks how far a batch is.
    fn state<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<BatchState, ModelError>>;
    /// Reads the answers of an ended batch.
    fn answers<'a>(&'a self, ended: &'a EndedBatch) -> BoxFuture<'a, Result<BatchAnswers, ModelError>>;
    /// Reads the body of a reply.
    fn read<'a>(
        &'a self,
        body: &'a [u8],
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>>;
}

/// The error of a request that its batch did not answer. Asking at once again would wait another day.
pub(crate) fn never(error: ModelError) -> ModelError {
    ModelError { retry: Retry::Never, ..error }
}

/// An error of the provider, which no retry of the same command mends.
pub(super) fn unanswered(message: String) -> ModelError {
    ModelError::never(ModelErrorKind::Unavailable, message)
}

/// Reads a file of one JSON value per line.
pub(crate) fn json_lines<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<Vec<T>, DecodeError> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(DecodeError::Form)).collect()
}

/// The time between two questions about the state of a batch: longer each time, up to a minute.
pub(super) fn interval(asked: u32) -> Duration {
    const FIRST: Duration = Duration::from_secs(5);
    const LONGEST: Duration = Duration::from_secs(60);
    FIRST.saturating_mul(1 << asked.min(8)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::{interval, json_lines};

    #[test]
    fn the_state_is_asked_for_less_and_less_often() {
        let all: Vec<u64> = (0..6).chain([u32::MAX]).map(|asked| interval(asked).as_secs()).collect();
        assert_eq!(all, [5, 10, 20, 40, 60, 60, 60]);
    }

    #[test]
    fn every_line_is_read_or_the_file_is_refused() {
        assert_eq!(json_lines::<u8>(b"1\n\n2\r\n3").expect("reads"), [1, 2, 3]);
        assert!(json_lines::<u8>(b"1\n{\n").is_err());
    }
}
