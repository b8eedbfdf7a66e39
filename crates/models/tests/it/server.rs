//! A model's server on this machine's loopback: it says what a test lets it say, down to the bytes.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What the server does.
#[derive(Clone, Debug)]
pub(crate) enum Speak {
    /// A status, headers, and a body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// So many bytes of body are promised, and fewer come before the connection is torn.
    Torn(usize, String),
    /// Headers, some of the body, and then nothing.
    Stalled(usize, String),
    /// A stream of events, each piece of bytes a chunk of its own.
    Stream(Vec<Vec<u8>>, StreamEnd),
    /// The same, with this content type.
    #[cfg(feature = "bedrock")]
    Typed(&'static str, Vec<Vec<u8>>, StreamEnd),
    /// A stream of events, with this time between two pieces.
    Slow(Vec<Vec<u8>>, std::time::Duration),
    /// Nothing at all.
    Silent,
}

/// How a stream goes on after its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// It ends.
    Whole,
    /// The connection is torn.
    Torn,
    /// Nothing more comes.
    Stalled,
}

impl Speak {
    pub(crate) fn ok(body: impl std::fmt::Display) -> Self {
        Self::Answer(200, Vec::new(), format!("{body}"))
    }
}

/// A running server; it ends with the value.
pub(crate) struct Server {
    pub(crate) base: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Server {
    /// Answers every request by `speak`, which gets the request and its number from 0.
    pub(crate) async fn start(speak: impl Fn(&Heard, usize) -> Speak + Send + Sync + 'static) -> Self {
        Self::listen(speak, true).await
    }

    /// The same; bodies are kept no longer than their answer takes unless `keeps`.
    pub(crate) async fn listen(
        speak: impl Fn(&Heard, usize) -> Speak + Send + Sync + 'static,
        keeps: bool,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let (kept, speak) = (Arc::clone(&heard), Arc::new(speak));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, speak) = (Arc::clone(&kept), Arc::clone(&speak));
                tokio::spawn(async move {
                    let mut stream = stream;
                    let Some(heard) = listen(&mut stream).await else { return };
                    let answer = {
                        let mut kept = kept.lock().expect("unpoisoned");
                        let body = if keeps { heard.body.clone() } else { Vec::new() };
                        kept.push(Heard { path: heard.path.clone(), headers: heard.headers.clone(), body });
                        let number = kept.len() - 1;
                        drop(kept);
                        speak(&heard, number)
                    };
                    talk(stream, answer).await;
                });
            }
        });
        Self { base, heard, task }
    }

    /// The requests so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("unpoisoned").clone()
    }
}

async fn listen(stream: &mut TcpStream) -> Option<Heard> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.lines();
            let path = lines.next()?.split(' ').nth(1)?.to_owned();
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = bytes[end + 4..end + 4 + length].to_vec();
                return Some(Heard { path, headers, body });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn talk(mut stream: TcpStream, answer: Speak) {
    let head = |status: u16, extra: &[(&'static str, String)], length: usize| {
        let extra: String = extra.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\nconnection: close\r\n{extra}content-length: {length}\r\n\r\n"
        )
    };
    match answer {
        Speak::Answer(status, headers, body) => {
            let text = head(status, &headers, body.len()) + body.as_str();
            let _ = stream.write_all(text.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Speak::Torn(promised, body) => {
            let text = head(200, &[], promised) + body.as_str();
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Speak::Stalled(promised, body) => {
            let text = head(200, &[], promised) + body.as_str();
            let _ = stream.write_all(text.as_bytes()).await;
            std::future::pending::<()>().await;
        }
        Speak::Stream(pieces, end) => send_stream(stream, EVENTS, &pieces, end).await,
        #[cfg(feature = "bedrock")]
        Speak::Typed(kind, pieces, end) => send_stream(stream, kind, &pieces, end).await,
        Speak::Slow(pieces, apart) => send_slowly(stream, &pieces, apart).await,
        Speak::Silent => std::future::pending().await,
    }
}

async fn send_slowly(mut stream: TcpStream, pieces: &[Vec<u8>], apart: std::time::Duration) {
    let head = b"HTTP/1.1 200 Said\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head).await;
    let mut time = tokio::time::interval(apart);
    for piece in pieces {
        time.tick().await;
        let _ = stream.write_all(piece).await;
    }
    let _ = stream.shutdown().await;
}

const EVENTS: &str = "text/event-stream; charset=utf-8";

async fn send_stream(mut stream: TcpStream, kind: &str, pieces: &[Vec<u8>], end: StreamEnd) {
    let head = format!(
        "HTTP/1.1 200 Said\r\ncontent-type: {kind}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    if end == StreamEnd::Whole {
        bytes.extend_from_slice(b"0\r\n\r\n");
    }
    let _ = stream.write_all(&bytes).await;
    match end {
        StreamEnd::Whole => drop(stream.shutdown().await),
        StreamEnd::Torn => {}
        StreamEnd::Stalled => std::future::pending().await,
    }
}
