//! Answers HTTP connections until it is cancelled, and closes those that say nothing.

#![warn(clippy::missing_errors_doc)]

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long a connection may take to send the head of its next request.
const HEAD: Duration = Duration::from_secs(30);
/// How long nobody is let in when this process has no room for another connection.
const PAUSE: Duration = Duration::from_secs(1);

/// How a server waits.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long a connection may take to send the head of its next request.
    pub head: Duration,
    /// How long open requests may delay the end.
    pub grace: Duration,
}

impl Patience {
    /// The usual time for a request's head, and this one for the end.
    pub const fn with_grace(grace: Duration) -> Self {
        Self { head: HEAD, grace }
    }
}

/// Answers requests until it is cancelled.
///
/// # Errors
///
/// None today: a connection that breaks ends alone, and one that cannot be accepted is tried again.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    cancel: CancellationToken,
    patience: Patience,
) -> io::Result<()> {
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience.head);
    let mut open = JoinSet::new();
    loop {
        while open.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = cancel.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // The other end gave up before it was let in.
            Err(error) if is_of_connection(&error) => continue,
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                let _ = tokio::time::timeout(PAUSE, cancel.cancelled()).await;
                continue;
            }
        };
        // Answers are small and awaited.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(app.clone());
        // A connection may become a WebSocket, which its handler then serves and ends.
        let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let ending = cancel.clone();
        open.spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = ending.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(patience.grace, async { while open.join_next().await.is_some() {} }).await;
    Ok(())
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_util::sync::CancellationToken;

    use super::{Patience, serve};

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    /// What a connection receives until it is closed.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut text)).await;
        read.expect("it is closed").expect("read");
        text
    }

    #[tokio::test]
    async fn connections_that_say_nothing_are_closed_and_others_are_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        // Takes longer than a head may: what is being answered is not closed.
        let slow = async || {
            drop(tokio::time::timeout(Duration::from_secs(2), std::future::pending::<()>()).await);
            "answered"
        };
        let app = Router::new().route("/", get(slow));
        let cancel = CancellationToken::new();
        let patience = Patience { head: Duration::from_millis(500), grace: Duration::from_secs(5) };
        let serving = tokio::spawn(serve(listener, app, cancel.clone(), patience));
        let connect = async || TcpStream::connect(address).await.expect("connected");
        let (mut mute, mut half, mut whole) = (connect().await, connect().await, connect().await);
        half.write_all(&REQUEST[..20]).await.expect("sent");
        whole.write_all(REQUEST).await.expect("sent");
        rest(&mut mute).await;
        rest(&mut half).await;
        // It is answered, and closed when no other request follows.
        let text = rest(&mut whole).await;
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("answered"), "{text}");
        // At the end, what is asked is answered.
        let mut last = connect().await;
        last.write_all(REQUEST).await.expect("sent");
        let mut begun = [0; 1];
        let reading = async {
            last.read_exact(&mut begun).await.expect("answered");
            rest(&mut last).await
        };
        let ending = async {
            tokio::task::yield_now().await;
            drop(tokio::time::timeout(Duration::from_millis(200), std::future::pending::<()>()).await);
            cancel.cancel();
        };
        let (text, ()) = tokio::join!(reading, ending);
        assert!(text.contains("answered"), "{text}");
        serving.await.expect("no panic").expect("ended");
        assert!(TcpStream::connect(address).await.is_err(), "nobody is let in any more");
    }
}
