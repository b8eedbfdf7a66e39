//! The worker of background learning: finds the turns that wait for a review, reads them from their traces, and has them
//! reviewed. It runs where somebody starts it, after the answer was given; what it does not get done waits for the next.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use apprentice_learning::background::{
    PendingTurn, ReviewError, ReviewLock, ReviewRequest, ReviewSummary, SessionRecord, pending_turns,
    read_session, review_sessions,
};
use apprentice_learning::foreground::{Budgets, Gate, Journal, Limits, budgets, counters, gate};
use apprentice_protocol::Clock;
use apprentice_runs::layout::EVENTS_FILE;
use apprentice_skillbook::BookError;
use apprentice_trace::Trace;

const SESSION_LOCK: &str = "session.lock";
/// Sessions of one review, the oldest. The others wait.
const SESSIONS: usize = 10;

/// Whether a review is due, and what it would read.
pub enum ReviewState {
    /// Nothing calls for a review.
    NotDue,
    /// Something does, but not now, for this reason.
    HeldBack(String),
    /// It may begin.
    Due(DueReview),
}

/// A review that may begin. It holds the lock of reviews.
pub struct DueReview {
    lock: ReviewLock,
    sessions: Vec<SessionRecord>,
    unreadable: Vec<String>,
    /// US dollars that it may cost.
    pub budget_usd: f64,
}

/// Locks a session for as long as the file stays open. A review leaves the turns of a locked session alone: the
/// conversation may still correct them.
pub fn lock_session(folder: &Path) -> io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let file = apprentice_files::open_lock(folder.join(SESSION_LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Returns whether the process of a session still holds its lock.
fn is_going_on(folder: &Path) -> io::Result<bool> {
    match apprentice_files::open(folder.join(SESSION_LOCK)) {
        Ok(file) => match file.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Decides whether a review is due. With `at_once`, turns alone are reason enough; the caps hold all the same.
pub fn prepare(
    book: &Path,
    limits: &Limits,
    clock: &dyn Clock,
    at_once: bool,
) -> Result<ReviewState, BookError> {
    let Some(lock) = ReviewLock::try_take(book)? else {
        return Ok(ReviewState::HeldBack("a review is running".to_owned()));
    };
    let (lines, now) = (Journal::beside(book).read()?, clock.now());
    let used = Budgets { running: false, ..budgets(&lines, now) };
    let mut counted = counters(&lines);
    let waiting = pending_turns(&lines);
    if at_once && !waiting.is_empty() {
        // Whoever asks for a review is a trigger; the reasons that hold one back stay.
        counted.turns_since_review = counted.turns_since_review.max(limits.turns);
    }
    match gate(&counted, limits, &used, now) {
        Gate::NotDue => return Ok(ReviewState::NotDue),
        Gate::HeldBack(why) => return Ok(ReviewState::HeldBack(why.to_owned())),
        Gate::Run(..) => {}
    }
    let mut loaded = load(&waiting);
    if loaded.sessions.is_empty() && loaded.unreadable.is_empty() {
        let why = match loaded.going_on {
            0 => "no turn has a trace to read",
            _ => "the sessions are still going on",
        };
        return Ok(ReviewState::HeldBack(why.to_owned()));
    }
    loaded.sessions.truncate(SESSIONS);
    let budget_usd = limits.review_usd.min(limits.day_usd - used.spent_today_usd);
    let Loaded { sessions, unreadable, .. } = loaded;
    Ok(ReviewState::Due(DueReview { lock, sessions, unreadable, budget_usd }))
}

impl DueReview {
    /// Runs the review.
    pub async fn run(self, request: &ReviewRequest<'_>) -> Result<ReviewSummary, ReviewError> {
        review_sessions(&self.lock, request, &self.sessions, self.unreadable).await
    }
}

#[derive(Default)]
struct Loaded {
    sessions: Vec<SessionRecord>,
    /// Journal lines of turns that cannot be read.
    unreadable: Vec<String>,
    /// Sessions that are locked.
    going_on: usize,
}

/// Reads the sessions of waiting turns, in the order of their first waiting turn.
fn load(waiting: &[PendingTurn]) -> Loaded {
    let mut order: Vec<&PathBuf> = Vec::new();
    let mut by_trace: BTreeMap<&PathBuf, Vec<&PendingTurn>> = BTreeMap::new();
    for turn in waiting {
        let Some(trace) = &turn.place.trace else { continue };
        if !by_trace.contains_key(trace) {
            order.push(trace);
        }
        by_trace.entry(trace).or_default().push(turn);
    }
    let mut loaded = Loaded::default();
    for trace in order {
        let turns = by_trace.get(trace).map(Vec::as_slice).unwrap_or_default();
        match is_going_on(trace) {
            Ok(false) => read(trace, turns, &mut loaded),
            Ok(true) => loaded.going_on += 1,
            Err(error) => {
                tracing::warn!(%error, "the lock of a session cannot be read; its turns wait");
                loaded.going_on += 1;
            }
        }
    }
    loaded
}

fn read(folder: &Path, turns: &[&PendingTurn], loaded: &mut Loaded) {
    let run = turns.first().map(|turn| turn.run.as_str()).unwrap_or_default();
    let trace = Trace::read(&folder.join(EVENTS_FILE));
    let session = trace.ok().and_then(|trace| read_session(run, &trace.events));
    let Some(mut session) = session else {
        loaded.unreadable.extend(turns.iter().map(|turn| turn.line.clone()));
        return;
    };
    for turn in turns {
        let number = turn.place.turn.unwrap_or(1);
        match session.turns.iter().any(|known| known.number == number) {
            true => session.set_pending(number, &turn.line),
            false => loaded.unreadable.push(turn.line.clone()),
        }
    }
    loaded.sessions.push(session);
}
