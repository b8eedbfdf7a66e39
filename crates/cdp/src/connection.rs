//! The connection: opens the socket, and runs the task that owns it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

use crate::cbor::{ENVELOPE_HEAD, envelope_length};
use crate::exchange::Shared;
use crate::message::WireForm;
use crate::session::Session;

/// Largest message accepted, in bytes. The accessibility tree of a huge page takes about 10 MB.
const LARGEST_MESSAGE: usize = 256 << 20;
/// Capacity of the queue of calls waiting for the socket.
const QUEUE: usize = 256;

/// Why a connection ended whose handles were all dropped.
const GONE: &str = "every handle is gone";

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The handshake was refused, or the connection broke during it.
    #[error("the DevTools handshake at {path} failed: {source}")]
    Handshake {
        /// The requested path.
        path: String,
        /// The WebSocket error.
        #[source]
        source: Box<tungstenite::Error>,
    },
    /// The handshake exceeded its deadline.
    #[error("the DevTools handshake took longer than {0:?}")]
    TimedOut(Duration),
}

/// An open connection, which owns the task that owns the socket. Dropping it closes both, and all calls through its
/// handles fail immediately from then on.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Connection {
    /// Performs the WebSocket handshake over `stream` for the DevTools endpoint at `path`, within `deadline`.
    ///
    /// # Errors
    ///
    /// Fails if the other side closes the stream, answers with something else than a WebSocket, or does not answer within `deadline`.
    pub async fn open<S>(stream: S, path: &str, deadline: Duration) -> Result<Self, OpenError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let config = WebSocketConfig::default()
            .max_message_size(Some(LARGEST_MESSAGE))
            .max_frame_size(Some(LARGEST_MESSAGE));
        let url = format!("ws://localhost{path}");
        let handshake = tokio_tungstenite::client_async_with_config(url, stream, Some(config));
        let (socket, _) = tokio::time::timeout(deadline, handshake)
            .await
            .map_err(|_| OpenError::TimedOut(deadline))?
            .map_err(|source| OpenError::Handshake { path: path.to_owned(), source: Box::new(source) })?;
        Ok(Self::run(WireForm::Json, |inbox, ending| run_socket(socket, inbox, ending)))
    }

    /// Takes over the other end of a browser's debugging pipe, which Chromium opens with `--remote-debugging-pipe=cbor`. There is no
    /// handshake: the first call is answered once the browser is ready.
    pub fn over_pipe<S>(stream: S) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        Self::run(WireForm::Cbor, |inbox, ending| run_pipe(stream, inbox, ending))
    }

    fn run<F>(form: WireForm, task: impl FnOnce(mpsc::Receiver<Vec<u8>>, FailPendingOnDrop) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (outbox, inbox) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared::new(form, outbox));
        let task = tokio::spawn(task(inbox, FailPendingOnDrop(Arc::clone(&shared))));
        Self { shared, task }
    }

    /// Returns a handle on the browser target, whose calls have this deadline.
    pub fn browser(&self, deadline: Duration) -> Session {
        Session::browser(Arc::clone(&self.shared), deadline)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Fails every pending call when the task ends, even if it is aborted or panics.
struct FailPendingOnDrop(Arc<Shared>);

impl Drop for FailPendingOnDrop {
    fn drop(&mut self) {
        self.0.end("it was dropped");
    }
}

async fn run_socket<S>(
    mut socket: WebSocketStream<S>,
    mut inbox: mpsc::Receiver<Vec<u8>>,
    ending: FailPendingOnDrop,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let why = loop {
        tokio::select! {
            outgoing = inbox.recv() => {
                let Some(text) = outgoing else { break GONE.to_owned() };
                let text = match Utf8Bytes::try_from(text) {
                    Ok(text) => text,
                    Err(error) => break format!("a call is no text: {error}"),
                };
                if let Err(error) = socket.send(Message::Text(text)).await {
                    break format!("sending failed: {error}");
                }
            }
            incoming = socket.next() => match incoming {
                Some(Ok(Message::Text(text))) => {
                    if let Err(why) = ending.0.deliver(text.as_bytes()) {
                        break why;
                    }
                }
                Some(Ok(Message::Binary(_))) => break "the browser sent a binary message".to_owned(),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_))) | None => break "the browser closed it".to_owned(),
                Some(Err(error)) => break format!("reading failed: {error}"),
            },
        }
    };
    ending.0.end(&why);
}

async fn run_pipe<S>(stream: S, mut inbox: mpsc::Receiver<Vec<u8>>, ending: FailPendingOnDrop)
where
    S: AsyncRead + AsyncWrite,
{
    let (mut incoming, mut outgoing) = tokio::io::split(stream);
    let writing = async {
        while let Some(message) = inbox.recv().await {
            if let Err(error) = outgoing.write_all(&message).await {
                return format!("sending failed: {error}");
            }
        }
        GONE.to_owned()
    };
    let reading = async {
        let mut message = Vec::new();
        loop {
            match read_envelope(&mut incoming, &mut message).await {
                Ok(true) => {}
                Ok(false) => return "the browser closed it".to_owned(),
                Err(error) => return format!("reading failed: {error}"),
            }
            if let Err(why) = ending.0.deliver(&message) {
                return why;
            }
        }
    };
    // Two futures, as neither of them can be dropped in the middle of a message.
    let why = tokio::select! {
        why = writing => why,
        why = reading => why,
    };
    ending.0.end(&why);
}

/// Reads one message. Returns false at the end of the stream.
async fn read_envelope<S: AsyncRead + Unpin>(stream: &mut S, message: &mut Vec<u8>) -> std::io::Result<bool> {
    let invalid = |why: String| std::io::Error::new(std::io::ErrorKind::InvalidData, why);
    let mut head = [0; ENVELOPE_HEAD];
    let first = stream.read(&mut head).await?;
    if first == 0 {
        return Ok(false);
    }
    stream.read_exact(&mut head[first..]).await?;
    let length = envelope_length(head).ok_or_else(|| invalid(format!("{head:x?} begins no message")))?;
    if length > LARGEST_MESSAGE {
        return Err(invalid(format!("a message of {length} bytes is too large")));
    }
    message.clear();
    message.extend_from_slice(&head);
    message.resize(length, 0);
    stream.read_exact(&mut message[ENVELOPE_HEAD..]).await?;
    Ok(true)
}

#[cfg(test)]
mod tests;
