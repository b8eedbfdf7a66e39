//! The cycle: the teacher works on training tasks and pulls from the book as it stands, its traces are worked
//! in; then the student rehearses with the book, so that its own counters fill. In plan order throughout: cut
//! off anywhere and begun again, it ends with the same book.

use std::collections::BTreeMap;

use apprentice_protocol::{PortFuture, SkillId, TaskId, Trajectory, Verdict};
use apprentice_skills::book::{Gateway, Snapshot};
use apprentice_skills::manage::Outcome;
use apprentice_skills::prove::note_trial;
use apprentice_skills::reflect::{Conversation, Fallback, ReflectMode};
use apprentice_skills::{DigestError, LearnOptions, Lesson, Staff, clean_book, digest};
use futures_util::future::join_all;
use jiff::Timestamp;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use serde::Serialize;

use crate::split::{SplitError, SplitLock};
use apprentice_results::arm::Arm;
use apprentice_results::row::{Role, TrialRow};

/// An attempt that the cycle asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Teacher or student.
    pub role: Role,
    /// The task.
    pub task: TaskId,
    /// The world's variation: another one in each epoch.
    pub seed: u32,
    /// What help it gets.
    pub arm: Arm,
}

/// An attempt as it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempted {
    /// Its line.
    pub row: TrialRow,
    /// What learning sees of it; none when it is void.
    pub seen: Option<(Trajectory, Timestamp)>,
    /// What was said, if it was kept.
    pub said: Option<Conversation>,
}

/// Runs attempts, or finds those that were run before: asked twice, it answers the same.
pub trait Attempts: Sync {
    /// Runs one attempt with the book as it stands. Several may run side by side.
    fn attempt<'a>(
        &'a self,
        wanted: &'a Wanted,
        book: &'a Snapshot,
    ) -> PortFuture<'a, Result<Attempted, String>>;
}

/// How the cycle goes.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    /// How often the teacher goes through the training tasks.
    pub epochs: u32,
    /// Attempts side by side over one state of the book; 1 is online.
    pub batch: usize,
    /// Whether the student rehearses.
    pub rehearse: bool,
    /// What the order of the tasks is shuffled by; as they are given, if absent.
    pub order: Option<u64>,
    /// The first epoch's variation of the worlds; each later one takes the next.
    pub first_seed: u32,
    /// Of each trajectory.
    pub learn: LearnOptions,
}

impl Default for CycleOptions {
    fn default() -> Self {
        Self {
            epochs: 2,
            batch: 1,
            rehearse: true,
            order: None,
            first_seed: 0,
            learn: LearnOptions::default(),
        }
    }
}

/// Which part of the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The teacher works; epochs count from 0.
    Teach {
        /// Which.
        epoch: u32,
    },
    /// The student works with the book.
    Rehearse,
    /// An attempt of an earlier run.
    Recorded,
}

/// What one attempt came to, for the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worked {
    /// Which part of the cycle.
    pub phase: Phase,
    /// The task.
    pub task: TaskId,
    /// The arm.
    pub arm: String,
    /// How it was judged.
    pub verdict: Verdict,
    /// Whether it had been worked in before.
    pub known_before: bool,
    /// How it was reviewed; none if that had been done before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<ReflectMode>,
    /// Why not in its own conversation, where that had been asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// Skills received.
    pub received: usize,
    /// Reviews counted.
    pub reviews: usize,
    /// How many of each kind.
    pub review_kinds: BTreeMap<String, u32>,
    /// Learnings found.
    pub learnings: usize,
    /// Decisions: the item, and the tool that wrote or nothing.
    pub decisions: Vec<(String, Option<String>)>,
    /// Writes that were refused, as `code: why`.
    pub refusals: Vec<String>,
    /// Skills that are new or have a new text.
    pub changed: Vec<SkillId>,
    /// Skills in the book afterwards.
    pub skills: usize,
}

/// Why the cycle stopped. The book holds what was learned so far.
#[derive(Debug, thiserror::Error)]
pub enum CycleError {
    /// An attempt could not be run.
    #[error("task {task} could not be attempted: {why}")]
    Attempt {
        /// Which task.
        task: TaskId,
        /// Why.
        why: String,
    },
    /// An attempt must not be learned from.
    #[error("an attempt is not admitted to learning")]
    Split(#[from] SplitError),
    /// A trajectory could not be worked in.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

/// What the cycle works on and with.
pub struct Classroom<'a> {
    /// Admits attempts.
    pub lock: &'a SplitLock,
    /// Training tasks, in plan order.
    pub tasks: &'a [TaskId],
    /// Runs attempts.
    pub attempts: &'a dyn Attempts,
    /// Reviews and decides.
    pub staff: &'a Staff,
}

/// Goes through the cycle. `tell` hears of every attempt as it is worked in.
pub async fn cycle(
    gateway: &mut Gateway,
    room: &Classroom<'_>,
    options: &CycleOptions,
    tell: &mut (dyn FnMut(&Worked) + Send),
) -> Result<Vec<Worked>, CycleError> {
    let mut worked = Vec::new();
    let mut last: Option<(Trajectory, Timestamp)> = None;
    for (phase, batch) in batches(room.tasks, options) {
        let book = gateway.snapshot();
        let attempts = join_all(batch.iter().map(|wanted| room.attempts.attempt(wanted, &book))).await;
        for (wanted, attempted) in batch.iter().zip(attempts) {
            let why = |why| CycleError::Attempt { task: wanted.task.clone(), why };
            let attempted = attempted.map_err(why)?;
            let name = (phase, wanted.task.clone(), wanted.arm.to_string());
            let (one, seen) = work(gateway, (room.lock, room.staff), name, attempted, &options.learn).await?;
            tell(&one);
            worked.push(one);
            last = seen.or(last);
        }
    }
    // What the rehearsal showed is cleaned up before the book is frozen.
    if let Some((trajectory, time)) = last.filter(|_| gateway.state().learned_since_cleaning > 0) {
        let lesson = Lesson::new(&trajectory, time);
        clean_book(gateway, room.staff, &lesson, &options.learn).await?;
    }
    Ok(worked)
}

/// Every attempt that the cycle will ask for, in order.
pub fn wanted(tasks: &[TaskId], options: &CycleOptions) -> Vec<Wanted> {
    batches(tasks, options).into_iter().flat_map(|(_, batch)| batch).collect()
}

/// The batches, in order. The very first one has no book yet; all others pull.
fn batches(tasks: &[TaskId], options: &CycleOptions) -> Vec<(Phase, Vec<Wanted>)> {
    let mut tasks = tasks.to_vec();
    if let Some(order) = options.order {
        tasks.shuffle(&mut ChaCha12Rng::seed_from_u64(order));
    }
    let first = options.first_seed;
    let mut batches = Vec::new();
    for epoch in 0..options.epochs {
        for (place, chunk) in tasks.chunks(options.batch.max(1)).enumerate() {
            let arm = if epoch == 0 && place == 0 { Arm::None } else { Arm::Pull };
            let seed = first + epoch;
            let wanted =
                chunk.iter().map(|task| Wanted { role: Role::Teacher, task: task.clone(), seed, arm });
            batches.push((Phase::Teach { epoch }, wanted.collect()));
        }
    }
    if options.rehearse {
        for chunk in tasks.chunks(options.batch.max(1)) {
            let wanted = chunk.iter().map(|task| Wanted {
                role: Role::Student,
                task: task.clone(),
                seed: first + options.epochs,
                arm: Arm::Pull,
            });
            batches.push((Phase::Rehearse, wanted.collect()));
        }
    }
    batches
}

/// Works an attempt of an earlier run into a book. Attempts come in plan order; one that was worked in before
/// changes nothing.
pub async fn learn_from(
    gateway: &mut Gateway,
    (lock, staff): (&SplitLock, &Staff),
    attempted: Attempted,
    options: &LearnOptions,
) -> Result<Worked, CycleError> {
    let name = (Phase::Recorded, attempted.row.task.clone(), attempted.row.arm.clone());
    Ok(work(gateway, (lock, staff), name, attempted, options).await?.0)
}

async fn work(
    gateway: &mut Gateway,
    (lock, staff): (&SplitLock, &Staff),
    (phase, task, arm): (Phase, TaskId, String),
    attempted: Attempted,
    options: &LearnOptions,
) -> Result<(Worked, Option<(Trajectory, Timestamp)>), CycleError> {
    let Attempted { row, seen, said } = attempted;
    let mut worked = Worked {
        phase,
        task,
        arm,
        verdict: row.verdict,
        known_before: false,
        reviewed: None,
        fallback: None,
        received: 0,
        reviews: 0,
        review_kinds: BTreeMap::new(),
        learnings: 0,
        decisions: Vec::new(),
        refusals: Vec::new(),
        changed: Vec::new(),
        skills: gateway.state().skills.len(),
    };
    let Some((trajectory, time)) = seen.filter(|_| row.verdict != Verdict::Void) else {
        return Ok((worked, None));
    };
    let trajectory = lock.admit(&row, trajectory)?;
    let before = versions(gateway);
    let lesson = Lesson { conversation: said.as_ref(), ..Lesson::new(trajectory.trajectory(), time) };
    note_trial(gateway, &lesson, trajectory.template()).map_err(DigestError::from)?;
    let digest = digest(gateway, staff, &lesson, options).await?;
    worked.known_before = digest.known_before;
    (worked.reviewed, worked.fallback) = match digest.reflected {
        Some((mode, fallback)) => (Some(mode), fallback),
        None => (None, None),
    };
    worked.received = trajectory.trajectory().skills.len();
    worked.reviews = digest.checked.reviews.len();
    for (_, review) in &digest.checked.reviews {
        *worked.review_kinds.entry(review.kind().to_owned()).or_default() += 1;
    }
    worked.learnings = digest.checked.learnings.len();
    let refused = digest.refusals.iter().chain(digest.decisions.iter().flat_map(|one| &one.refusals));
    worked.refusals = refused.map(|refusal| format!("{}: {}", refusal.code, refusal.why)).collect();
    worked.decisions = digest.decisions.into_iter().map(|one| (one.item, tool(one.outcome))).collect();
    let after = versions(gateway);
    worked.skills = after.len();
    worked.changed =
        after.into_iter().filter(|(id, version)| before.get(id) != Some(version)).map(|(id, _)| id).collect();
    Ok((worked, Some((trajectory.into_inner(), time))))
}

fn versions(gateway: &Gateway) -> BTreeMap<SkillId, u32> {
    gateway.state().skills.iter().map(|(id, skill)| (id.clone(), skill.version)).collect()
}

fn tool(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Wrote { tool, .. } => Some(tool),
        Outcome::Proposed { tool, .. } => Some(format!("{tool}, proposed")),
        Outcome::Nothing { .. } | Outcome::DecidedBefore { .. } => None,
    }
}
