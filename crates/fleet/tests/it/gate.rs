//! A gate in front of a server, through which a test lets everything, nothing, or only slow connections pass.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock as _, Why};
use apprentice_sandbox::SystemClock;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// What passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Everything.
    Open,
    /// Connections are closed at once, and those under way are cut.
    Cut,
    /// Nothing moves until this changes.
    Stalled,
    /// The server is said to fail: `503` to each request.
    Failing,
    /// Each connection begins late.
    Slow(Duration),
}

/// A listening gate.
pub(crate) struct Gate {
    pub(crate) port: u16,
    passage: Arc<watch::Sender<Passage>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Gate {
    /// Opens a gate in front of a port of this machine.
    pub(crate) async fn open(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let port = listener.local_addr().expect("an address").port();
        let passage = Arc::new(watch::Sender::new(Passage::Open));
        let accepting = tokio::spawn(accept(listener, to, Arc::clone(&passage)));
        Self { port, passage, _accepting: AbortOnDropHandle::new(accepting) }
    }

    /// Sets what passes.
    pub(crate) fn set(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }

    /// The address as a client of HTTP takes it.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

async fn accept(listener: TcpListener, to: u16, passage: Arc<watch::Sender<Passage>>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(pass(client, to, passage.subscribe()));
    }
}

async fn pass(mut client: TcpStream, to: u16, mut passage: watch::Receiver<Passage>) {
    let now = *passage.borrow_and_update();
    match now {
        Passage::Open => {}
        Passage::Cut => return,
        Passage::Failing => {
            let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = client.write_all(answer.as_bytes()).await;
            return;
        }
        Passage::Stalled => {
            let _ = passage.wait_for(|passage| *passage != Passage::Stalled).await;
        }
        Passage::Slow(time) => SystemClock::default().pause(time, Why::TaskStep).await,
    }
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let ends = |passage: &Passage| matches!(passage, Passage::Cut | Passage::Failing | Passage::Stalled);
    let ended = tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
        ended = async { passage.wait_for(ends).await.map(|passage| *passage) } => ended,
    };
    if ended.is_ok_and(|passage| passage == Passage::Stalled) {
        // What hangs stays silent for as long as the stall lasts, and is cut then.
        let _ = passage.wait_for(|passage| *passage != Passage::Stalled).await;
    }
}
