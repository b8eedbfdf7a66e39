//! A connection: one writer, one reader, and the requests of this side that wait for an answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::lines::{Line, Lines, MAX_MESSAGE_BYTES};
use crate::message::{self, Incoming, Parsed, RequestId, RpcError};

/// Messages that wait to be written. A sender waits beyond that, so that a slow reader slows its writer down.
const WAITING_MESSAGES: usize = 16;

/// The other side is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other side has closed the connection")]
pub struct ConnectionClosed;

type Answers = BTreeMap<u64, oneshot::Sender<Result<Value, RpcError>>>;

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    answers: Answers,
    closed: bool,
}

/// The sending half. Messages are written in the order in which they are sent, whoever sends them.
#[derive(Clone, Debug)]
pub struct Connection {
    lines: mpsc::Sender<String>,
    waiting: Arc<Mutex<Waiting>>,
}

/// The receiving half.
pub struct Inbox<R> {
    lines: Lines<R>,
    connection: Connection,
}

/// The task that writes. It ends when every [`Connection`] is dropped and all is written.
#[derive(Debug)]
pub struct Writing(JoinHandle<()>);

/// Speaks over two streams. Must be called in an async runtime, where the writing half works.
pub fn connect<R, W>(input: R, output: W) -> (Connection, Inbox<R>, Writing)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (lines, written) = mpsc::channel(WAITING_MESSAGES);
    let connection = Connection { lines, waiting: Arc::default() };
    let writing = tokio::spawn(async move {
        if let Err(error) = write(written, output).await {
            tracing::debug!(%error, "the other side reads no more");
        }
    });
    let inbox = Inbox { lines: Lines::new(input, MAX_MESSAGE_BYTES), connection: connection.clone() };
    (connection, inbox, Writing(writing))
}

async fn write(
    mut lines: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(line.as_bytes()).await?;
        output.write_all(b"\n").await?;
        output.flush().await?;
    }
    output.shutdown().await
}

impl Writing {
    /// Waits until all is written.
    pub async fn ended(self) {
        // A panic of the writer was printed where it happened.
        let _ = self.0.await;
    }
}

impl Connection {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, line: String) -> Result<(), ConnectionClosed> {
        self.lines.send(line).await.map_err(|_| ConnectionClosed)
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// Returns an error if the other side is gone.
    pub async fn notify(&self, method: &str, params: &Value) -> Result<(), ConnectionClosed> {
        self.send(message::call(None, method, params)).await
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Returns an error if the other side is gone.
    pub async fn respond(
        &self,
        id: &RequestId,
        result: Result<Value, RpcError>,
    ) -> Result<(), ConnectionClosed> {
        self.send(message::answer(id, result.as_ref())).await
    }

    /// Sends a request and waits for its answer, without a limit: the caller has one. Somebody must read the [`Inbox`] meanwhile.
    ///
    /// # Errors
    ///
    /// Returns an error if the other side is gone before it has answered; the inner one is its own.
    pub async fn request(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<Result<Value, RpcError>, ConnectionClosed> {
        self.begin(method, params).await?.answer().await
    }

    /// Sends a request. Its answer can be waited for later.
    ///
    /// # Errors
    ///
    /// Returns an error if the other side is gone.
    pub async fn begin(&self, method: &str, params: &Value) -> Result<PendingRequest, ConnectionClosed> {
        let (answered, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting();
            if waiting.closed {
                return Err(ConnectionClosed);
            }
            waiting.last += 1;
            let id = waiting.last;
            waiting.answers.insert(id, answered);
            id
        };
        let pending = PendingRequest { id, answer, waiting: Arc::clone(&self.waiting) };
        self.send(message::call(Some(id), method, params)).await?;
        Ok(pending)
    }
}

/// A request that was sent. Dropping it forgets the answer.
#[derive(Debug)]
pub struct PendingRequest {
    id: u64,
    answer: oneshot::Receiver<Result<Value, RpcError>>,
    waiting: Arc<Mutex<Waiting>>,
}

impl PendingRequest {
    /// Waits for the answer. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the other side is gone before it has answered; the inner one is its own.
    pub async fn answer(&mut self) -> Result<Result<Value, RpcError>, ConnectionClosed> {
        (&mut self.answer).await.map_err(|_| ConnectionClosed)
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).answers.remove(&self.id);
    }
}

impl<R: AsyncRead + Unpin> Inbox<R> {
    /// Returns the next request or notification; `None` when the input has ended. Answers go to those who wait for them, and what
    /// cannot be read is answered with an error under the id null. Dropping the future loses no message. After an answer
    /// it waits once, so that a `select!` which looks at answers first takes all in the order in which it came.
    pub async fn next(&mut self) -> Option<Incoming> {
        loop {
            let line = match self.lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the other side cannot be read");
                    return None;
                }
            };
            let parsed = match line {
                Line::Whole(line) => message::parse(&line),
                Line::TooLong => Parsed::Junk(RpcError::invalid_request(format!(
                    "a message holds at most {MAX_MESSAGE_BYTES} bytes; nothing was done"
                ))),
            };
            match parsed {
                Parsed::Incoming(incoming) => return Some(incoming),
                Parsed::Answer { id, result } => {
                    // An answer to nothing, as one with the id null, ends nothing.
                    let waiting = id.as_u64().and_then(|id| self.connection.waiting().answers.remove(&id));
                    if waiting.is_none_or(|waiting| waiting.send(result).is_err()) {
                        tracing::debug!(%id, "an answer to no request of ours");
                    } else {
                        // Who waits for both hears of the answer before what came after it.
                        tokio::task::yield_now().await;
                    }
                }
                Parsed::Junk(error) => {
                    // At the end of the other side, its input ends as well.
                    let _ = self.connection.respond(&Value::Null, Err(error)).await;
                }
            }
        }
    }
}

impl<R> Drop for Inbox<R> {
    /// No answer comes any more.
    fn drop(&mut self) {
        let mut waiting = self.connection.waiting();
        waiting.closed = true;
        waiting.answers.clear();
    }
}

#[cfg(test)]
mod tests;
