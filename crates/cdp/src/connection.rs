//! The connection: opens the socket, and runs the task that owns it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

use crate::exchange::Shared;
use crate::session::Session;

/// Largest message accepted, in bytes. The accessibility tree of a huge page takes about 10 MB.
const LARGEST_MESSAGE: usize = 256 << 20;
/// Capacity of the queue of calls waiting for the socket.
const QUEUE: usize = 256;

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
        let (outbox, inbox) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared::new(outbox));
        let task = tokio::spawn(run_socket(socket, inbox, FailPendingOnDrop(Arc::clone(&shared))));
        Ok(Self { shared, task })
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
    mut inbox: mpsc::Receiver<Utf8Bytes>,
    ending: FailPendingOnDrop,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let why = loop {
        tokio::select! {
            outgoing = inbox.recv() => {
                let Some(text) = outgoing else { break "every handle is gone".to_owned() };
                if let Err(error) = socket.send(Message::Text(text)).await {
                    break format!("sending failed: {error}");
                }
            }
            incoming = socket.next() => match incoming {
                Some(Ok(Message::Text(text))) => {
                    if let Err(why) = ending.0.deliver(&text) {
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
