//! Asks a process over its control socket.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::message::{Answer, Ask, Order, Picture, ProcessStatus};
use crate::place::ControlPlace;

/// How long an answer may take. A world has 120 s for an action.
const ANSWER: Duration = Duration::from_secs(130);
/// How long a process may take to say what runs.
const STATUS: Duration = Duration::from_secs(5);
/// The longest answer in bytes: a picture in Base64.
const LONGEST: u64 = 64 << 20;

/// A question that got no answer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The process does not answer.
    #[error("process {process} does not answer at its control socket")]
    Unreachable {
        /// The process.
        process: u32,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It refused.
    #[error("{0}")]
    Refused(String),
    /// It said something else.
    #[error("process {0} gave an answer that this version does not know")]
    Unknown(u32),
}

/// A process that runs trials.
pub struct Peer<'a> {
    place: &'a ControlPlace,
    process: u32,
}

/// The states of a process, one after each change.
pub struct Watching {
    process: u32,
    stream: BufReader<UnixStream>,
    line: String,
}

impl<'a> Peer<'a> {
    /// The process of this id.
    pub fn new(place: &'a ControlPlace, process: u32) -> Self {
        Self { place, process }
    }

    /// The states of all processes that answer.
    ///
    /// # Errors
    ///
    /// Fails if the folder of sockets cannot be read. A process that does not answer is left out.
    pub async fn all(place: &ControlPlace) -> io::Result<Vec<ProcessStatus>> {
        let mut found = Vec::new();
        for process in place.processes()? {
            match Peer::new(place, process).status().await {
                Ok(status) => found.push(status),
                Err(error) => tracing::debug!(%error, process, "a process does not say what it runs"),
            }
        }
        Ok(found)
    }

    /// What it runs.
    ///
    /// # Errors
    ///
    /// Fails if the process does not answer in time, or answers in a form that this version does not know.
    pub async fn status(&self) -> Result<ProcessStatus, PeerError> {
        match self.ask(&Ask::Status, STATUS).await? {
            Answer::Status(status) => Ok(*status),
            other => Err(self.unexpected(other)),
        }
    }

    /// The newest picture of a trial's screen.
    ///
    /// # Errors
    ///
    /// Fails if the process runs no such trial or does not answer in time.
    pub async fn picture(&self, trial: &str) -> Result<Picture, PeerError> {
        match self.ask(&Ask::Picture { trial: trial.to_owned() }, STATUS).await? {
            Answer::Picture(picture) => Ok(picture),
            other => Err(self.unexpected(other)),
        }
    }

    /// Gives an order, and returns the answer, which may be a refusal.
    ///
    /// # Errors
    ///
    /// Fails if the process does not answer in time, or answers in a form that this version does not know. A refusal is an answer.
    pub async fn order(&self, order: Order) -> Result<Answer, PeerError> {
        self.ask(&Ask::Order(order), ANSWER).await
    }

    /// Watches what it runs.
    ///
    /// # Errors
    ///
    /// Fails if the process does not answer in time.
    pub async fn watch(&self) -> Result<Watching, PeerError> {
        let mut stream = self.connect().await?;
        send(&mut stream, &Ask::Watch).await.map_err(|source| self.unreachable(source))?;
        Ok(Watching { process: self.process, stream: BufReader::new(stream), line: String::new() })
    }

    async fn connect(&self) -> Result<UnixStream, PeerError> {
        let connecting = UnixStream::connect(self.place.socket(self.process));
        let connected = tokio::time::timeout(STATUS, connecting).await;
        connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|source| self.unreachable(source))
    }

    async fn ask(&self, ask: &Ask, within: Duration) -> Result<Answer, PeerError> {
        let mut stream = self.connect().await?;
        let talk = async {
            send(&mut stream, ask).await?;
            let mut line = String::new();
            let read = BufReader::new(&mut stream).take(LONGEST).read_line(&mut line).await?;
            if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(line) }
        };
        let talked = tokio::time::timeout(within, talk).await;
        let line = talked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let line = line.map_err(|source| self.unreachable(source))?;
        serde_json::from_str(&line).map_err(|_| PeerError::Unknown(self.process))
    }

    fn unreachable(&self, source: io::Error) -> PeerError {
        PeerError::Unreachable { process: self.process, source }
    }

    fn unexpected(&self, answer: Answer) -> PeerError {
        match answer {
            Answer::Refused { why } => PeerError::Refused(why),
            _ => PeerError::Unknown(self.process),
        }
    }
}

impl Watching {
    /// Waits for the next state; `None` when the process has ended.
    ///
    /// # Errors
    ///
    /// Fails if the connection breaks, or if what came is in a form that this version does not know.
    pub async fn next(&mut self) -> Result<Option<ProcessStatus>, PeerError> {
        self.line.clear();
        let read = (&mut self.stream).take(LONGEST).read_line(&mut self.line).await;
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(source) => return Err(PeerError::Unreachable { process: self.process, source }),
        }
        match serde_json::from_str(&self.line) {
            Ok(Answer::Status(status)) => Ok(Some(*status)),
            _ => Err(PeerError::Unknown(self.process)),
        }
    }
}

async fn send(stream: &mut UnixStream, ask: &Ask) -> io::Result<()> {
    let mut line = serde_json::to_string(ask).map_err(io::Error::other)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await
}
