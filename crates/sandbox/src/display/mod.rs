//! The thread that owns a cell's display: its keyboard map, held keys and buttons, and screenshots.
//!
//! The thread runs one job at a time. When the caller of a job drops its future, the job stops and releases the keys
//! and buttons that it held.

mod cursor;
mod drawn_areas;
mod first_drawing;
mod keyboard;
mod keyboard_map;
mod keysym;
mod last_click;
mod own_timers;
mod pointer;
mod popups;
mod programs;
mod screen;
mod screen_activity;
mod settle;
mod sole_window;
mod stacking;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use apprentice_protocol::Clock;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tokio::sync::oneshot;
use x11rb::connection::Connection;
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ConnectionExt, EventMask};
use x11rb::rust_connection::{DefaultStream, RustConnection};

pub use keyboard::Keys;
pub use pointer::Pointer;
pub use popups::{Popup, was_closed};
use programs::Programs;
pub use screen::Screen;
pub use sole_window::SoleWindow;
pub use stacking::Hit;

/// A job that has made no step for this long waits for a display that does not answer.
const STUCK: Duration = Duration::from_secs(15);

/// Why a job on the display failed.
#[derive(Debug, thiserror::Error)]
pub enum DisplayError {
    /// The connection is gone, and the display with it.
    #[error("the display's connection broke: {0}")]
    Broken(String),
    /// The display's thread has ended.
    #[error("the display's thread has ended")]
    Ended,
    /// The caller dropped the job's future.
    #[error("the input was stopped")]
    Stopped,
    /// The screen's pixels could not be turned into a picture.
    #[error("no screenshot could be taken: {0}")]
    Picture(String),
    /// A program that carries the cell was stopped by a signal.
    #[error("{0} is stopped and answers nobody")]
    Frozen(&'static str),
    /// The display, or a program on it, did not react in time.
    #[error("{0} took too long")]
    Late(&'static str),
}

macro_rules! broken_by {
    ($($error:ty),*) => {
        $(impl From<$error> for DisplayError {
            fn from(error: $error) -> Self {
                Self::Broken(error.to_string())
            }
        })*
    };
}
broken_by!(ConnectError, ConnectionError, ReplyError, ReplyOrIdError, std::io::Error, rustix::io::Errno);

/// Cancellation token of a job.
#[derive(Clone, Debug)]
pub struct CancelToken {
    asked: Arc<AtomicBool>,
    bell: Arc<OwnedFd>,
}

impl CancelToken {
    fn new() -> Result<Self, DisplayError> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { asked: Arc::default(), bell: Arc::new(bell) })
    }

    fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // An error means that the counter is full, and a full counter wakes the job too.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// An error if the job is to stop.
    ///
    /// # Errors
    ///
    /// Returns [`DisplayError::Stopped`] if the job is to stop.
    pub fn check(&self) -> Result<(), DisplayError> {
        if self.asked.load(Ordering::Acquire) { Err(DisplayError::Stopped) } else { Ok(()) }
    }
}

/// Cancels the job when the caller's future is dropped.
struct StopOnDrop(Option<CancelToken>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(stop) = &self.0 {
            stop.ask();
        }
    }
}

/// The process table of a cell, as its supervisor sees it.
pub(super) struct ProcessFolder {
    pub(super) folder: OwnedFd,
    /// The supervisor's number in it.
    pub(super) supervisor: i32,
}

/// Counts the steps of a job, so that one that stands still can be told from a long one.
#[derive(Clone, Debug, Default)]
pub(super) struct Beats(Arc<AtomicU64>);

impl Beats {
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

type Job = Box<dyn FnOnce(&mut Screen) + Send>;

/// A handle on the display's thread. Dropping it ends the thread.
pub(super) struct Display {
    jobs: Option<mpsc::Sender<Job>>,
    /// What its server is called in messages.
    server: &'static str,
    beats: Beats,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Display {
    /// Takes over the display behind a socket. Blocks until the connection is set up.
    pub(super) fn open(
        socket: OwnedFd,
        server: &'static str,
        processes: Option<ProcessFolder>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DisplayError> {
        let programs = processes.map(|found| Programs::new(found.folder, found.supervisor));
        let mut screen = Screen::open(connect(UnixStream::from(socket))?, programs, clock)?;
        let beats = screen.beats.clone();
        let (jobs, inbox) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("display".into()).spawn(move || {
            while let Ok(job) = inbox.recv() {
                job(&mut screen);
            }
        })?;
        Ok(Self { jobs: Some(jobs), server, beats, thread: Mutex::new(Some(thread)) })
    }

    /// Runs a job on the thread. Dropping the future stops the job, which then releases the keys and buttons it holds.
    pub(super) async fn run<R, F>(&self, job: F) -> Result<R, DisplayError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Screen, &CancelToken) -> Result<R, DisplayError> + Send + 'static,
    {
        let stop = CancelToken::new()?;
        let mut leash = StopOnDrop(Some(stop.clone()));
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |screen| {
            let done = stop.check().and_then(|()| job(screen, &stop));
            if stop.check().is_err() {
                screen.release_all();
            }
            // The caller may have dropped its future.
            let _ = answer.send(done);
        });
        let jobs = self.jobs.as_ref().ok_or(DisplayError::Ended)?;
        jobs.send(job).map_err(|_| DisplayError::Ended)?;
        let done = self.unless_stuck(answered).await?.map_err(|_| DisplayError::Ended)?;
        leash.0 = None;
        done
    }

    /// Awaits a job for as long as it makes progress. The display's thread waits for the X server's answers without a
    /// time limit of its own.
    async fn unless_stuck<T>(&self, job: impl Future<Output = T>) -> Result<T, DisplayError> {
        let mut job = std::pin::pin!(job);
        loop {
            let before = self.beats.count();
            match tokio::time::timeout(STUCK, &mut job).await {
                Ok(done) => return Ok(done),
                Err(_) if self.beats.count() == before => {
                    return Err(DisplayError::Late(self.server));
                }
                Err(_) => {}
            }
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.jobs = None;
        let thread = self.thread.lock().map_or(None, |mut thread| thread.take());
        if let Some(thread) = thread {
            // If the thread panicked, the panic has been reported by then.
            let _ = thread.join();
        }
    }
}

fn connect(stream: UnixStream) -> Result<RustConnection, DisplayError> {
    let (stream, _) = DefaultStream::from_unix_stream(stream)?;
    Ok(RustConnection::connect_to_stream(stream, 0)?)
}

/// Waits until the connection has data to read, the job is cancelled, or the time is over.
fn await_event(
    connection: &RustConnection,
    stop: Option<&CancelToken>,
    time: Duration,
) -> Result<(), DisplayError> {
    let timeout = Timespec::try_from(time).ok();
    let stream = connection.stream().as_fd();
    let mut watched = vec![PollFd::from_borrowed_fd(stream, PollFlags::IN)];
    watched.extend(stop.map(|stop| PollFd::new(&*stop.bell, PollFlags::IN)));
    match poll(&mut watched, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A display before a window manager runs on it.
pub(super) struct UnmanagedDisplay {
    connection: RustConnection,
    root: u32,
    check: u32,
}

impl UnmanagedDisplay {
    /// Connects, and frees the spare keys for typing.
    pub(super) fn open(stream: UnixStream) -> Result<Self, DisplayError> {
        let connection = connect(stream)?;
        let root = connection.setup().roots.first().ok_or(DisplayError::Late("a screen"))?.root;
        keyboard_map::clear_spare_keys(&connection)?;
        let check = connection.intern_atom(false, b"_NET_SUPPORTING_WM_CHECK")?.reply()?.atom;
        let watch = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        connection.change_window_attributes(root, &watch)?.check()?;
        Ok(Self { connection, root, check })
    }

    /// Waits until a window manager manages the screen.
    pub(super) fn await_manager(&self, deadline: Duration) -> Result<(), DisplayError> {
        loop {
            let found = self.connection.get_property(false, self.root, self.check, AtomEnum::WINDOW, 0, 1)?;
            if found.reply()?.value_len > 0 {
                return Ok(());
            }
            let mut changed = false;
            while !changed {
                match self.connection.poll_for_event()? {
                    Some(Event::PropertyNotify(event)) => changed = event.atom == self.check,
                    Some(_) => {}
                    None => {
                        await_event(&self.connection, None, deadline)?;
                        if let Some(Event::PropertyNotify(_)) = self.connection.poll_for_event()? {
                            changed = true;
                        } else {
                            return Err(DisplayError::Late("the window manager"));
                        }
                    }
                }
            }
        }
    }
}
