//! One background review: reads the turns that wait, derives candidates, has them decided, and keeps the journal.

use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::{ChatModel, Clock, ModelErrorKind, SkillEventKind};
use apprentice_skillbook::shipped::ShippedPart;
use apprentice_skillbook::{Actor, At, BookError, OpId, Snapshot, WriteMode};
use serde_json::{Value, json};

use super::candidate::{Candidate, Derived, Dropped, derive, needs_reading};
use super::decision::target;
use super::publish::{Published, Publisher, SkillChange};
use super::review_lock::ReviewLock;
use super::review_log::{cut_off, decided, next_name};
use super::reviewer::{Decision, ReviewError, Reviewer};
use super::session_reading::SessionReading;
use super::session_turn::SessionRecord;
use super::staging;
use crate::foreground::{Journal, JournalEntry, JournalLine, ReviewOutcome, ReviewRecord};

/// Candidates of one review. The rest waits for the next.
const MAX_CANDIDATES: usize = 3;
/// Journal lines about a skill that the reviewer gets, the newest.
const MAX_RECEIPT_LINES: usize = 20;

/// The parameters of a review, beside the sessions.
pub struct ReviewRequest<'a> {
    /// The book's folder.
    pub book: &'a Path,
    /// The reviewing model. Its budget is kept by whoever wraps it.
    pub model: &'a dyn ChatModel,
    /// Models that read each text before it is written.
    pub readers: &'a [Arc<dyn ChatModel>],
    /// Source of timestamps and pauses.
    pub clock: &'a dyn Clock,
    /// True if changes take effect at once.
    pub mode: WriteMode,
    /// Returns the US dollars that the model and the readers have cost so far.
    pub spent: &'a dyn Fn() -> f64,
}

/// The result of a review.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewSummary {
    /// Name of the review.
    pub review: String,
    /// Outcome of the review.
    pub outcome: ReviewOutcome,
    /// Changes, including those that an earlier review had decided and not written.
    pub changes: Vec<SkillChange>,
    /// Why candidates led to nothing, by key.
    pub left: Vec<(String, String)>,
    /// Why it ended early.
    pub error: Option<String>,
    /// Turns that count as reviewed now.
    pub reviewed: usize,
    /// Cost in US dollars.
    pub usd: f64,
}

/// The lines that a review writes.
struct ReviewJournal<'a> {
    journal: Journal,
    clock: &'a dyn Clock,
    review: String,
    at: OpId,
    usd: std::cell::Cell<f64>,
}

impl ReviewJournal<'_> {
    fn write(&self, entry: JournalEntry, change: Option<&SkillChange>, data: Value) -> Result<(), BookError> {
        self.journal.append(vec![JournalLine {
            v: 0,
            id: String::new(),
            time: self.clock.now(),
            run: self.review.clone(),
            step: None,
            actor: Actor::Background,
            entry,
            skill: change.map(|change| change.skill.clone()),
            version: change.map(|change| change.version),
            book_before: self.at,
            book_after: change.map_or(self.at, |change| change.operation),
            data,
        }])
    }

    fn event(&self, event: SkillEventKind, data: Value) -> Result<(), BookError> {
        self.write(JournalEntry::Event { event }, None, data)
    }

    /// Writes down what was spent since the last time, so that no process forgets it.
    fn book_cost(&self, total: f64) -> Result<(), BookError> {
        let usd = total - self.usd.replace(total);
        if usd <= 0.0 {
            return Ok(());
        }
        self.write(JournalEntry::Turn { tool_iters: 0, usd }, None, Value::Null)
    }

    fn changed(&self, change: &SkillChange) -> Result<(), BookError> {
        let event = match (change.proposed, change.created) {
            (true, _) => SkillEventKind::Proposed,
            (false, true) => SkillEventKind::Created,
            (false, false) => SkillEventKind::Updated,
        };
        self.write(JournalEntry::Event { event }, Some(change), Value::Null)
    }
}

/// Reviews sessions whose waiting turns are marked. `unreadable` are journal lines of turns whose trace is gone: they
/// count as reviewed, and the journal says why. The lock keeps other reviews away.
pub async fn review_sessions(
    _lock: &ReviewLock,
    request: &ReviewRequest<'_>,
    sessions: &[SessionRecord],
    unreadable: Vec<String>,
) -> Result<ReviewSummary, ReviewError> {
    let journal = Journal::beside(request.book);
    let lines = journal.read()?;
    let review = next_name(&lines);
    let book = read_book(request.book)?;
    let log = ReviewJournal {
        journal,
        clock: request.clock,
        review: review.clone(),
        at: book.last(),
        usd: std::cell::Cell::new(0.0),
    };
    let mut work = Review {
        request,
        log: &log,
        lines: &lines,
        changes: Vec::new(),
        left: Vec::new(),
        record: ReviewRecord { unreadable, ..ReviewRecord::default() },
    };
    work.settle_cut_off().await?;
    let pending = sessions.iter().flat_map(|session| &session.turns).filter_map(|turn| turn.pending.clone());
    let pending: Vec<String> = pending.collect();
    log.event(SkillEventKind::ReviewStarted, json!({ "turns": pending }))?;
    let result = work.run(sessions).await;
    let (outcome, error) = match &result {
        Ok(()) if !work.changes.is_empty() => (ReviewOutcome::Learned, None),
        Ok(()) if work.record.decided.is_empty() => (ReviewOutcome::NoCandidate, None),
        Ok(()) => (ReviewOutcome::Nothing, None),
        Err(ReviewError::Model(error)) if error.fault == ModelErrorKind::Budget => {
            (ReviewOutcome::Budget, Some(error.message.clone()))
        }
        Err(error) => (ReviewOutcome::Failed, Some(error.to_string())),
    };
    work.finish(outcome, error, sessions)
}

/// A review on its way.
struct Review<'a> {
    request: &'a ReviewRequest<'a>,
    log: &'a ReviewJournal<'a>,
    lines: &'a [JournalLine],
    changes: Vec<SkillChange>,
    left: Vec<(String, String)>,
    record: ReviewRecord,
}

impl Review<'_> {
    /// Ends a review that was cut off: the journal says so, and what it had decided and not written is written now.
    async fn settle_cut_off(&mut self) -> Result<(), ReviewError> {
        if let Some(review) = cut_off(self.lines) {
            let record =
                ReviewRecord { outcome: Some(ReviewOutcome::Interrupted), ..ReviewRecord::default() };
            let earlier = ReviewJournal {
                journal: Journal::beside(self.request.book),
                clock: self.request.clock,
                review,
                at: self.log.at,
                usd: std::cell::Cell::new(0.0),
            };
            earlier.event(SkillEventKind::ReviewFinished, serde_json::to_value(record)?)?;
        }
        if let Some(staged) = staging::staged(self.request.book)? {
            match publisher(self.request).write(&staged).await? {
                Published::Done(change) => self.note_change(staged.key, change)?,
                // The book has changed meanwhile, so the candidate is decided anew.
                Published::Refused(code, why) => self.left.push((staged.key, format!("{code}: {why}"))),
            }
        }
        Ok(())
    }

    fn note_change(&mut self, key: String, change: SkillChange) -> Result<(), BookError> {
        self.log.changed(&change)?;
        self.record.decided.push(key);
        self.changes.push(change);
        Ok(())
    }

    async fn run(&mut self, sessions: &[SessionRecord]) -> Result<(), ReviewError> {
        let (log, request) = (self.log, self.request);
        let book_cost = || log.book_cost((request.spent)());
        let publisher = publisher(request);
        let reviewer =
            Reviewer { model: request.model, book_cost: &book_cost, publisher, review: &log.review };
        let mut decided_before = decided(self.lines);
        decided_before.extend(self.record.decided.iter().cloned());
        let mut waiting: Vec<(&SessionRecord, Candidate)> = Vec::new();
        for session in sessions {
            let reading = if needs_reading(session) {
                reviewer.read(session).await?
            } else {
                SessionReading::default()
            };
            let Derived { candidates, dropped } = derive(session, &reading);
            self.drop_candidates(dropped);
            let new = candidates.into_iter().filter(|candidate| !decided_before.contains(&candidate.key));
            waiting.extend(new.map(|candidate| (session, candidate)));
        }
        for (index, (session, candidate)) in waiting.into_iter().enumerate() {
            if index >= MAX_CANDIDATES {
                self.record.left_for_later.push(candidate.key);
                continue;
            }
            // The book may have changed with the candidate before.
            let book = read_book(self.request.book)?;
            let receipts = receipts(self.lines, &candidate, &book);
            match reviewer.decide(session, &candidate, &book, &receipts).await? {
                Decision::Changed(change) => self.note_change(candidate.key, change)?,
                Decision::Left(why) => {
                    self.left.push((candidate.key.clone(), why));
                    self.record.decided.push(candidate.key);
                }
            }
        }
        Ok(())
    }

    fn drop_candidates(&mut self, dropped: Vec<Dropped>) {
        for Dropped { key, code } in dropped {
            self.left.push((key.clone(), code));
            self.record.decided.push(key);
        }
    }

    /// Writes the end of the review. Turns with a candidate that still waits are not reviewed yet; after a failure none is.
    fn finish(
        mut self,
        outcome: ReviewOutcome,
        error: Option<String>,
        sessions: &[SessionRecord],
    ) -> Result<ReviewSummary, ReviewError> {
        if outcome.is_complete() {
            for session in sessions {
                let waits = |number: u32| {
                    let head = format!("{}#{number}:", session.run);
                    self.record.left_for_later.iter().any(|key| key.starts_with(&head))
                };
                let done = session.turns.iter().filter(|turn| !waits(turn.number));
                self.record.turns.extend(done.filter_map(|turn| turn.pending.clone()));
            }
            self.record.turns.extend(self.record.unreadable.iter().cloned());
        }
        self.record.outcome = Some(outcome);
        self.record.usd = self.log.usd.get();
        self.record.why.clone_from(&error);
        self.log.event(SkillEventKind::ReviewFinished, serde_json::to_value(&self.record)?)?;
        Ok(ReviewSummary {
            review: self.log.review.clone(),
            outcome,
            changes: self.changes,
            left: self.left,
            error,
            reviewed: self.record.turns.len(),
            usd: self.log.usd.get(),
        })
    }
}

fn publisher<'a>(request: &ReviewRequest<'a>) -> Publisher<'a> {
    let ReviewRequest { book, readers, clock, mode, .. } = *request;
    Publisher { book, clock, mode, readers }
}

/// Returns what the journal says about the use of the candidate's skill.
fn receipts(lines: &[JournalLine], candidate: &Candidate, book: &Snapshot) -> Vec<Value> {
    let Some(skill) = target(candidate, book) else { return Vec::new() };
    let about = lines.iter().rev().filter(|line| line.skill.as_ref() == Some(&skill.id));
    let mut found: Vec<Value> = about
        .take(MAX_RECEIPT_LINES)
        .map(|line| {
            json!({ "time": line.time, "run": line.run, "event": line.entry, "version": line.version,
                "data": line.data })
        })
        .collect();
    found.reverse();
    found
}

fn read_book(folder: &Path) -> Result<Snapshot, BookError> {
    match Snapshot::open(folder, At::Now) {
        Ok(book) => Ok(book.with_shipped(ShippedPart::All)),
        Err(BookError::Missing(_)) => Ok(Snapshot::empty().with_shipped(ShippedPart::All)),
        Err(error) => Err(error),
    }
}
