//! The protocol on a cell's socket: messages and framing.
//!
//! A frame is two little-endian lengths, a JSON head and a body of raw bytes; file descriptors travel with its first
//! byte. Files, pipes and connections are passed as descriptors, so that no stream is copied twice.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use apprentice_protocol::{
    Capability, DirEntry, MachineError, Monitors, NodeRef, Rect, Role, State, TreeBudget, UiTree,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::limits::CellLimits;

/// Largest head or body of a frame, in bytes.
const FRAME_LIMIT: usize = 256 << 20;
/// Most descriptors in one frame.
const DESCRIPTOR_LIMIT: usize = 4;

/// A message with the raw bytes and descriptors that travel beside it.
#[derive(Debug)]
pub(super) struct Frame<T> {
    pub(super) head: T,
    pub(super) body: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl<T> Frame<T> {
    /// A frame with a head only.
    pub(super) fn plain(head: T) -> Self {
        Self { head, body: Vec::new(), descriptors: Vec::new() }
    }
}

/// A request to the supervisor. Every numbered request gets one [`Reply`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Operation {
    /// Starts the buses and, with a screen, display and window manager. Must be the first request.
    Start(SessionConfig),
    /// Opens a new connection to the display.
    Display,
    /// Opens a file for reading.
    Read { path: String },
    /// Opens a file for writing, truncates it, and creates its parent folders.
    Write { path: String },
    /// Lists all entries below a folder.
    List { path: String },
    /// Removes a file or folder.
    Remove { path: String },
    /// Runs a command to its end. The body is its standard input.
    Run(Program),
    /// Starts a command. The reply carries pipes for its standard input and output.
    Spawn(Program),
    /// Starts a command whose standard input is a socket. The reply carries its other end, and a pipe for the standard output.
    SpawnOnSocket(Program),
    /// Starts a command that outlives the request.
    Launch(Program),
    /// Waits for a spawned command to end.
    Wait { child: u64 },
    /// Kills a spawned command with all its descendants.
    Kill { child: u64 },
    /// Cancels an earlier request. Gets no reply itself.
    Cancel { request: u64 },
    /// Reads the interface tree: each node anew, or what may have changed since the last such request.
    Tree { budget: TreeBudget, drawn: Option<Drawn>, windows: DrawnWindows },
    /// Writes the interface as an XML document, which comes in the reply's body.
    Document,
    /// Reads the current facts about a node.
    Node { node: NodeRef, windows: DrawnWindows },
    /// Performs a node's default action.
    Press { node: NodeRef },
    /// Chooses an option of a list box.
    Choose { node: NodeRef, option: String },
    /// Gives a node the keyboard focus.
    Focus { node: NodeRef },
    /// Names the user's files that were written since the last such request.
    Written,
    /// Connects to a TCP port of the cell.
    Connect { port: u16 },
    /// Opens a TCP port of the cell for connections.
    Listen { port: u16 },
}

impl Operation {
    /// What the request is about, for an error's text.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Start(_) => "the start of the desktop".into(),
            Self::Read { path } | Self::Write { path } | Self::List { path } | Self::Remove { path } => {
                path.clone()
            }
            Self::Run(program)
            | Self::Spawn(program)
            | Self::SpawnOnSocket(program)
            | Self::Launch(program) => program.argv.first().cloned().unwrap_or_default(),
            Self::Connect { port } | Self::Listen { port } => format!("port {port}"),
            Self::Display => "the display".into(),
            Self::Written => "the files that were written".into(),
            Self::Wait { .. } | Self::Kill { .. } | Self::Cancel { .. } => "a process".into(),
            Self::Tree { .. } | Self::Document => "the interface".into(),
            Self::Node { .. } | Self::Press { .. } | Self::Choose { .. } | Self::Focus { .. } => {
                "an element".into()
            }
        }
    }
}

/// Where the screen was drawn on since the last request for a tree.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Drawn {
    /// The whole screen.
    pub(super) screen: Rect,
    /// What was drawn. `None` if that is not known.
    pub(super) since: Option<DrawnSince>,
}

/// What was drawn since the last request for a tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DrawnSince {
    /// Areas that show something else now, or may be hidden by something else.
    pub(super) changed: Vec<Rect>,
    /// Areas that were drawn on, perhaps with what they had shown before.
    pub(super) touched: Vec<Rect>,
}

/// The windows on the display, as the display server tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DrawnWindows {
    /// Those that the window manager lists, front to back.
    pub(super) listed: Vec<TopLevel>,
    /// The areas of open menus and lists, which belong to no window manager.
    pub(super) popups: Vec<Rect>,
}

/// A window that the window manager lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TopLevel {
    /// Its number on the display.
    pub(super) id: u32,
    /// The process that it belongs to, where it says so.
    pub(super) pid: Option<u32>,
    pub(super) title: String,
    /// Its place on the screen, without the frame around it.
    pub(super) bounds: Rect,
    pub(super) active: bool,
    /// Whether it blocks the rest of its program.
    pub(super) modal: bool,
}

/// The desktop configuration of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SessionConfig {
    /// The user's home folder.
    pub(super) home: PathBuf,
    /// The folder for the session's sockets.
    pub(super) runtime: PathBuf,
    /// The screen. `None` starts no display.
    pub(super) screen: Option<Monitors>,
    /// Whether no window manager and no accessibility bus are started.
    pub(super) bare: bool,
    /// The display's number. `None` takes a free one.
    pub(super) display: Option<u32>,
    /// What the programs may use.
    pub(super) limits: CellLimits,
}

/// A command for the supervisor to start.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) argv: Vec<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) timeout_ms: u64,
    pub(super) output_limit: u64,
    /// Whether the cell's other programs are kept from it.
    pub(super) apart: bool,
}

/// A request with its number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) ask: Operation,
}

/// A message from the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SupervisorMessage {
    /// The answer to a request.
    Reply { number: u64, result: Result<Reply, OperationError> },
    /// An essential part of the cell has ended, so the cell is unusable.
    Died { part: CellComponent, story: String },
    /// A program was ended because the cell's programs went over a limit.
    Ended { story: String },
    /// The cell could not be entered.
    NotEntered { story: String },
}

/// An essential part of a cell. When it ends, the cell ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CellComponent {
    Display,
    WindowManager,
    SessionBus,
    Supervisor,
    /// A program that was launched for the agent to work in.
    Program,
}

/// The result of a request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// Success without a value. Descriptors may come with it.
    Done,
    /// The desktop is running. A process descriptor of the supervisor comes with it and, with a screen, a connection to
    /// the display and the folder of the process table, in which the supervisor has this number.
    Ready {
        supervisor: i32,
    },
    Entries(Vec<DirEntry>),
    /// The body holds standard output, then standard error.
    Output {
        code: i32,
        stdout: usize,
        timed_out: bool,
        cut: bool,
    },
    Child {
        child: u64,
    },
    Exit {
        code: i32,
    },
    Tree(UiTree),
    Node(NodeFacts),
    /// Paths of files.
    Written(Vec<String>),
}

/// The current facts about an accessible object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Its role.
    pub role: Role,
    /// Its accessible name; empty if it has none.
    pub name: String,
    /// Its states.
    pub states: Vec<State>,
    /// Its rectangle in screen pixels, if it is on the screen.
    pub bounds: Option<Rect>,
    /// Whether it has an action of its own.
    pub pressable: bool,
    /// What it shows besides its name, such as the chosen option of a closed list.
    pub value: Option<String>,
    /// The number on the display of the window that holds it, where that is known.
    pub window: Option<u32>,
}

/// Why a request failed: [`MachineError`] in serialized form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum OperationError {
    Unsupported(Capability),
    NotFound(String),
    Refused { what: String, why: String },
    MissingProgram(String),
    TimedOut(String),
    Lost(String),
}

impl OperationError {
    /// A refused request.
    pub(super) fn refused(what: impl Into<String>, why: &dyn std::fmt::Display) -> Self {
        Self::Refused { what: what.into(), why: why.to_string() }
    }
}

impl From<OperationError> for MachineError {
    fn from(fault: OperationError) -> Self {
        match fault {
            OperationError::Unsupported(capability) => Self::Unsupported(capability),
            OperationError::NotFound(path) => Self::NotFound(path),
            OperationError::Refused { what, why } => Self::Refused { what, why },
            OperationError::MissingProgram(program) => Self::MissingProgram(program),
            OperationError::TimedOut(what) => Self::TimedOut(what),
            OperationError::Lost(story) => Self::Lost(story),
        }
    }
}

/// Writes one frame.
pub(super) async fn send<T: Serialize>(stream: &UnixStream, frame: &Frame<T>) -> io::Result<()> {
    let head = serde_json::to_vec(&frame.head)?;
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| oversize(bytes.len()));
    let mut start = Vec::with_capacity(8 + head.len());
    start.extend_from_slice(&length(&head)?.to_le_bytes());
    start.extend_from_slice(&length(&frame.body)?.to_le_bytes());
    start.extend_from_slice(&head);
    let descriptors: Vec<BorrowedFd<'_>> = frame.descriptors.iter().map(AsFd::as_fd).collect();
    let mut sent = stream.async_io(Interest::WRITABLE, || send_with(stream, &start, &descriptors)).await?;
    while sent < start.len() {
        sent += stream.async_io(Interest::WRITABLE, || send_with(stream, &start[sent..], &[])).await?;
    }
    let mut sent = 0;
    while sent < frame.body.len() {
        sent += stream.async_io(Interest::WRITABLE, || send_with(stream, &frame.body[sent..], &[])).await?;
    }
    Ok(())
}

fn send_with(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one frame"));
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Reads one frame. `None` at an orderly end of the stream.
pub(super) async fn receive<T: DeserializeOwned>(stream: &UnixStream) -> io::Result<Option<Frame<T>>> {
    let mut lengths = [0; 8];
    let mut descriptors = Vec::new();
    let mut got = 0;
    while got < lengths.len() {
        let read = stream
            .async_io(Interest::READABLE, || receive_with(stream, &mut lengths[got..], &mut descriptors))
            .await?;
        match read {
            0 if got == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => got += more,
        }
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let head = fill(stream, u32::from_le_bytes([a, b, c, d])).await?;
    let body = fill(stream, u32::from_le_bytes([e, f, g, h])).await?;
    Ok(Some(Frame { head: serde_json::from_slice(&head)?, body, descriptors }))
}

fn receive_with(stream: &UnixStream, bytes: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = recvmsg(stream, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            descriptors.extend(passed);
        }
    }
    Ok(read.bytes)
}

async fn fill(stream: &UnixStream, length: u32) -> io::Result<Vec<u8>> {
    let length = length as usize;
    if length > FRAME_LIMIT {
        return Err(oversize(length));
    }
    let mut bytes = vec![0; length];
    let mut got = 0;
    while got < length {
        match stream.async_io(Interest::READABLE, || Ok(rustix::io::read(stream, &mut bytes[got..])?)).await?
        {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => got += more,
        }
    }
    Ok(bytes)
}

fn oversize(length: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes is too large"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use tokio::net::UnixStream;

    use proptest::prelude::{any, proptest};
    use proptest::sample::Index;
    use proptest::test_runner::Config;

    use super::{Frame, Operation, Program, Request, SupervisorMessage, receive, send};

    #[tokio::test]
    async fn head_body_and_descriptors_arrive_together() {
        let (one, other) = UnixStream::pair().expect("a pair");
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"passed").expect("written");
        file.rewind().expect("rewound");
        let body = vec![7; 3 << 20];
        let sender = async {
            let passed = vec![file.into()];
            send(&one, &Frame { head: "first", body: body.clone(), descriptors: passed }).await?;
            send(&one, &Frame::plain("second")).await?;
            drop(one);
            Ok::<_, std::io::Error>(())
        };
        let receiver = async {
            let first: Frame<String> = receive(&other).await?.expect("a frame");
            let second: Frame<String> = receive(&other).await?.expect("a frame");
            let end = receive::<String>(&other).await?;
            Ok::<_, std::io::Error>((first, second, end.is_none()))
        };
        let (sent, received) = tokio::join!(sender, receiver);
        sent.expect("sent");
        let (mut first, second, ended) = received.expect("received");
        assert_eq!((first.head.as_str(), first.body.len()), ("first", body.len()));
        let mut text = String::new();
        std::fs::File::from(first.descriptors.remove(0)).read_to_string(&mut text).expect("readable");
        assert_eq!(text, "passed");
        assert_eq!((second.head.as_str(), second.descriptors.len(), ended), ("second", 0, true));
    }

    /// A request as the program sends it, as the bytes on the socket.
    fn request() -> Vec<u8> {
        let program = Program {
            argv: vec!["sh".to_owned(), "-c".to_owned(), "true".to_owned()],
            cwd: None,
            env: vec![("A".to_owned(), "b".to_owned())],
            timeout_ms: 1,
            output_limit: 1,
            apart: false,
        };
        let head = serde_json::to_vec(&Request { number: 7, ask: Operation::Run(program) }).expect("JSON");
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("short").to_le_bytes();
        [&length(&head)[..], &length(b"input"), &head, b"input"].concat()
    }

    /// Reads frames until the stream ends or is refused. It always ends, because the other side has closed.
    async fn read_all<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> usize {
        let (one, other) = UnixStream::pair().expect("a pair");
        let mut sent = 0;
        while sent < bytes.len() {
            one.writable().await.expect("open");
            sent += one.try_write(&bytes[sent..]).unwrap_or_default();
        }
        drop(one);
        let mut frames = 0;
        while let Ok(Some(_)) = receive::<T>(&other).await {
            frames += 1;
        }
        frames
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

        #[test]
        fn whatever_comes_is_read_or_refused(
            noise in proptest::collection::vec(any::<u8>(), 0..64),
            changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..4),
            cut in any::<Index>(),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let mut frames = [request(), request()].concat();
            for (place, byte) in changes {
                let place = place.index(frames.len());
                frames[place] = byte;
            }
            frames.truncate(cut.index(frames.len() + 1));
            frames.extend(noise);
            runtime.block_on(async {
                assert!(read_all::<Request>(&frames).await <= 3);
                read_all::<SupervisorMessage>(&frames).await;
            });
        }
    }

    #[tokio::test]
    async fn a_torn_or_huge_frame_is_an_error() {
        for bytes in [&[1, 0][..], &[2, 0, 0, 0, 0, 0, 0, 0, b'"'], &[0xff; 8]] {
            let (one, other) = UnixStream::pair().expect("a pair");
            one.try_write(bytes).expect("written");
            drop(one);
            assert!(receive::<String>(&other).await.is_err(), "{bytes:?}");
        }
    }
}
