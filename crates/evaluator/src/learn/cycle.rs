//! The learning cycle: the teacher works on training tasks with the current book, and its trajectories are learned
//! from; then the student rehearses with the book, so that its skill statistics fill up. Everything happens in plan
//! order: a cycle that is interrupted and resumed ends with the same book.

use std::collections::BTreeMap;
use std::path::PathBuf;

use apprentice_learning::learn_trajectory;
use apprentice_learning::manage::ItemOutcome;
use apprentice_learning::note_trial;
use apprentice_learning::reflect::{Conversation, ReviewerLimits, StepPicture};
use apprentice_learning::{
    FigureSource, LearnError, LearnOptions, LearnResult, LearnerModels, LearningInput, Refusal,
    UnreadReflection, clean_book,
};
use apprentice_protocol::{BoxFuture, JudgedBy, SkillId, TaskId, Trajectory, Verdict};
use apprentice_skillbook::review::{Fallback, ReflectMode};
use apprentice_skillbook::{Gateway, Snapshot};
use futures_util::future::join_all;
use jiff::Timestamp;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use schemars::JsonSchema;
use serde::Serialize;

use super::figure_cut::TraceFigures;
use super::function_calls::{function_calls, note_calls};
use super::step_pictures::{PictureError, TraceFiles, step_pictures};
use crate::split::{SplitError, SplitLock, TrainTrajectory};
use apprentice_results::arm::Arm;
use apprentice_runs::row::{Role, TrialRow};

/// An attempt requested by the cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRequest {
    /// Teacher or student.
    pub role: Role,
    /// The task.
    pub task: TaskId,
    /// The environment's seed; each epoch uses another one.
    pub seed: u32,
    /// The arm, which decides the guidance.
    pub arm: Arm,
}

/// A finished attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptOutcome {
    /// The attempt's row.
    pub row: TrialRow,
    /// The trajectory for learning and the time it ended; `None` for a void attempt.
    pub trajectory: Option<(Trajectory, Timestamp)>,
    /// The model's conversation, if it was kept.
    pub conversation: Option<Conversation>,
    /// Where its trace and pictures are; `None` if the attempt is not stored.
    pub files: Option<TraceFiles>,
}

/// Runs attempts, or returns those that ran before: the same request always gives the same result.
pub trait AttemptSource: Sync {
    /// Runs one attempt with the current book. Several may run in parallel.
    fn attempt<'a>(
        &'a self,
        wanted: &'a AttemptRequest,
        book: &'a Snapshot,
    ) -> BoxFuture<'a, Result<AttemptOutcome, String>>;

    /// Called between attempts and learning, while neither run nor skillbook is being written. The error ends the cycle.
    fn between(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Options of the learning cycle.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    /// Passes of the teacher over the training tasks.
    pub epochs: u32,
    /// The number of attempts that run in parallel on the same state of the book; 1 learns after every attempt.
    pub batch: usize,
    /// Whether the student rehearses.
    pub rehearse: bool,
    /// Seed of the shuffle that orders the tasks; `None` keeps the given order.
    pub order: Option<u64>,
    /// Seed of the first epoch; each later epoch uses the next one.
    pub first_seed: u32,
    /// Options of learning from each trajectory.
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

/// The phase of the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The teacher works.
    Teach {
        /// The epoch, counted from 0.
        epoch: u32,
    },
    /// The student works with the book.
    Rehearse,
    /// An attempt from an earlier run.
    Recorded,
    /// An attempt at an instruction of the user's own.
    Own,
    /// The trace of another program.
    Foreign,
}

/// The learning record of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LearningRecord {
    /// The phase of the cycle.
    pub phase: Phase,
    /// The task.
    pub task: TaskId,
    /// The arm.
    pub arm: String,
    /// The verdict of the attempt. `None` if nobody judged it.
    pub verdict: Option<Verdict>,
    /// Who judged, if not the checks of a task.
    #[serde(skip_serializing_if = "JudgedBy::is_checks")]
    pub judged_by: JudgedBy,
    /// Whether it had been learned from before.
    pub known_before: bool,
    /// How it was reviewed; `None` if it had been reviewed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<ReflectMode>,
    /// The reason for falling back to a separate reviewer, if in-context review was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// The reason why no review could be read. The attempt stays unlearned, and the next call asks again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<UnreadReview>,
    /// Number of skills received.
    pub received: usize,
    /// Number of reviews.
    pub reviews: usize,
    /// Number of reviews by kind.
    pub review_kinds: BTreeMap<String, u32>,
    /// Number of learnings found.
    pub learnings: usize,
    /// Decisions, as (item, tool that wrote); `None` if nothing was written.
    pub decisions: Vec<(String, Option<String>)>,
    /// Calls of the manager that were refused, as `code: reason`. It was told, and could put them otherwise.
    pub refusals: Vec<String>,
    /// Other writes that were refused, as `code: reason`, such as figures: nobody could put them otherwise, and what they would
    /// have added is lost.
    pub not_written: Vec<String>,
    /// New skills and skills with a new text.
    pub changed: Vec<SkillId>,
    /// Number of skills in the book afterwards.
    pub skills: usize,
}

/// An attempt whose review could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadReview {
    /// The attempt, as `<run>/<trial>/<attempt>`.
    pub attempt: String,
    /// The reason.
    pub why: String,
    /// The file with the raw answers; `None` if the attempt is not stored.
    pub answers: Option<PathBuf>,
}

/// The reason the cycle stopped. The book keeps what was learned so far.
#[derive(Debug, thiserror::Error)]
pub enum CycleError {
    /// An attempt could not be run.
    #[error("task {task} could not be attempted: {why}")]
    Attempt {
        /// The task.
        task: TaskId,
        /// The reason.
        why: String,
    },
    /// The cycle may not go on here.
    #[error("learning may not go on here: {0}")]
    Stopped(String),
    /// The attempt is not eligible for learning.
    #[error("an attempt is not eligible for learning")]
    Split(#[from] SplitError),
    /// A trajectory could not be learned from.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A picture for the reviewer could not be prepared.
    #[error("the pictures of an attempt cannot be shown to the reviewer (0 pictures ask for none)")]
    Pictures(#[from] PictureError),
    /// The answers that could not be read cannot be kept.
    #[error("cannot write {path}")]
    Keep {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: std::io::Error,
    },
}

/// The context of a learning cycle.
pub struct CycleContext<'a> {
    /// The split lock, which decides which attempts are eligible for learning.
    pub lock: &'a SplitLock,
    /// Training tasks, in plan order.
    pub tasks: &'a [TaskId],
    /// Runs attempts.
    pub attempts: &'a dyn AttemptSource,
    /// The models that review attempts and manage the book.
    pub learners: &'a LearnerModels,
}

/// Runs the cycle. Calls `on_record` after every attempt that was learned from.
pub async fn cycle(
    gateway: &mut Gateway,
    context: &CycleContext<'_>,
    options: &CycleOptions,
    on_record: &mut (dyn FnMut(&LearningRecord) + Send),
) -> Result<Vec<LearningRecord>, CycleError> {
    let mut records = Vec::new();
    let mut last: Option<(Trajectory, Timestamp)> = None;
    for (phase, batch) in batches(context.tasks, options) {
        let book = gateway.snapshot();
        context.attempts.between().await.map_err(CycleError::Stopped)?;
        let attempts = join_all(batch.iter().map(|wanted| context.attempts.attempt(wanted, &book))).await;
        context.attempts.between().await.map_err(CycleError::Stopped)?;
        for (wanted, attempted) in batch.iter().zip(attempts) {
            let why = |why| CycleError::Attempt { task: wanted.task.clone(), why };
            let attempted = attempted.map_err(why)?;
            let record = trial_record(gateway, phase, &attempted.row);
            let admitted = admit(context.lock, attempted)?;
            let (record, seen) =
                learn_one(gateway, context.learners, admitted, record, &options.learn).await?;
            on_record(&record);
            records.push(record);
            last = seen.or(last);
        }
    }
    // Skills flagged by the rehearsal are cleaned up before the book is frozen.
    if let Some((trajectory, time)) = last.filter(|_| gateway.state().learned_since_cleaning > 0) {
        let input = LearningInput::new(&trajectory, time);
        clean_book(gateway, context.learners, &input, &options.learn).await?;
    }
    Ok(records)
}

/// Lists every attempt that the cycle will request, in order.
pub fn attempt_requests(tasks: &[TaskId], options: &CycleOptions) -> Vec<AttemptRequest> {
    batches(tasks, options).into_iter().flat_map(|(_, batch)| batch).collect()
}

/// Lists the batches in order. The very first batch has no book yet; all others use the arm `pull`.
fn batches(tasks: &[TaskId], options: &CycleOptions) -> Vec<(Phase, Vec<AttemptRequest>)> {
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
            let wanted = chunk.iter().map(|task| AttemptRequest {
                role: Role::Teacher,
                task: task.clone(),
                seed,
                arm,
            });
            batches.push((Phase::Teach { epoch }, wanted.collect()));
        }
    }
    if options.rehearse {
        for chunk in tasks.chunks(options.batch.max(1)) {
            let wanted = chunk.iter().map(|task| AttemptRequest {
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

/// Learns from an attempt of an earlier run. The attempts come in plan order; one that was already learned from changes
/// nothing.
pub async fn learn_from(
    gateway: &mut Gateway,
    lock: &SplitLock,
    learners: &LearnerModels,
    attempted: AttemptOutcome,
    options: &LearnOptions,
) -> Result<LearningRecord, CycleError> {
    let record = trial_record(gateway, Phase::Recorded, &attempted.row);
    let admitted = admit(lock, attempted)?;
    Ok(learn_one(gateway, learners, admitted, record, options).await?.0)
}

/// Returns the record of a trial's attempt before anything is learned from it.
fn trial_record(gateway: &Gateway, phase: Phase, row: &TrialRow) -> LearningRecord {
    let record = empty_record(gateway, phase, row.task.clone(), row.arm.clone());
    LearningRecord { verdict: Some(row.verdict), ..record }
}

/// Returns the record of an attempt before anything is learned from it.
pub(super) fn empty_record(gateway: &Gateway, phase: Phase, task: TaskId, arm: String) -> LearningRecord {
    LearningRecord {
        phase,
        task,
        arm,
        verdict: None,
        judged_by: JudgedBy::Checks,
        known_before: false,
        reviewed: None,
        fallback: None,
        unread: None,
        received: 0,
        reviews: 0,
        review_kinds: BTreeMap::new(),
        learnings: 0,
        decisions: Vec::new(),
        refusals: Vec::new(),
        not_written: Vec::new(),
        changed: Vec::new(),
        skills: gateway.state().skills.len(),
    }
}

/// An attempt that is eligible for learning.
pub(super) struct AdmittedAttempt {
    pub(super) trajectory: TrainTrajectory,
    /// When it ended.
    pub(super) time: Timestamp,
    pub(super) conversation: Option<Conversation>,
    pub(super) files: Option<TraceFiles>,
}

/// Returns an attempt if the split lock admits it; `None` if it is void, also because a person acted in it: what the person did
/// would be learned as the model's.
pub(super) fn admit(
    lock: &SplitLock,
    attempted: AttemptOutcome,
) -> Result<Option<AdmittedAttempt>, CycleError> {
    let AttemptOutcome { row, trajectory, conversation, files } = attempted;
    let Some((trajectory, time)) = trajectory.filter(|_| row.measured().verdict != Verdict::Void) else {
        return Ok(None);
    };
    let trajectory = lock.admit(&row, trajectory)?;
    Ok(Some(AdmittedAttempt { trajectory, time, conversation, files }))
}

async fn learn_one(
    gateway: &mut Gateway,
    learners: &LearnerModels,
    admitted: Option<AdmittedAttempt>,
    record: LearningRecord,
    options: &LearnOptions,
) -> Result<(LearningRecord, Option<(Trajectory, Timestamp)>), CycleError> {
    let Some(admitted) = admitted else { return Ok((record, None)) };
    let time = admitted.time;
    let (record, trajectory) = learn_admitted(gateway, learners, admitted, record, options).await?;
    Ok((record, Some((trajectory, time))))
}

pub(super) async fn learn_admitted(
    gateway: &mut Gateway,
    learners: &LearnerModels,
    admitted: AdmittedAttempt,
    mut record: LearningRecord,
    options: &LearnOptions,
) -> Result<(LearningRecord, Trajectory), CycleError> {
    let before = versions(gateway);
    let AdmittedAttempt { trajectory, time, conversation, files } = admitted;
    let files = files.as_ref();
    let is_known = gateway.state().reflections.contains_key(&trajectory.trajectory().id);
    let pictures = pictures(files.filter(|_| !is_known), learners, options)?;
    let figures = files.map(TraceFigures);
    let input = LearningInput {
        conversation: conversation.as_ref(),
        pictures: &pictures,
        figures: figures.as_ref().map(|figures| figures as &dyn FigureSource),
        ..LearningInput::new(trajectory.trajectory(), time)
    };
    note_trial(gateway, &input, trajectory.template()).map_err(LearnError::from)?;
    let calls = function_calls(files)?;
    note_calls(gateway, input.trajectory, &calls, time).map_err(LearnError::from)?;
    let result = learn_trajectory(gateway, learners, &input, options).await?;
    record.received = trajectory.trajectory().skills.len();
    if let Some(unread) = &result.unread {
        record.unread = Some(keep_unread(unread, &trajectory.trajectory().id, files)?);
    }
    add_result(&mut record, result);
    let after = versions(gateway);
    record.skills = after.len();
    record.changed =
        after.into_iter().filter(|(id, version)| before.get(id) != Some(version)).map(|(id, _)| id).collect();
    Ok((record, trajectory.into_inner()))
}

/// Adds what was learned from an attempt to its record.
fn add_result(record: &mut LearningRecord, result: LearnResult) {
    record.known_before = result.known_before;
    (record.reviewed, record.fallback) = match result.reflected {
        Some(route) => (Some(route.mode), route.fallback),
        None => (None, None),
    };
    record.reviews = result.checked.reviews.len();
    for (_, review) in &result.checked.reviews {
        *record.review_kinds.entry(review.kind().to_owned()).or_default() += 1;
    }
    record.learnings = result.checked.learnings.len();
    let told = |refusal: &Refusal| format!("{}: {}", refusal.code, refusal.why);
    record.not_written = result.refusals.iter().map(told).collect();
    record.refusals = result.decisions.iter().flat_map(|one| &one.refusals).map(told).collect();
    record.decisions = result.decisions.into_iter().map(|one| (one.item, tool(one.outcome))).collect();
}

/// Prepares the pictures of an attempt, if the reviewer sees.
pub(super) fn pictures(
    files: Option<&TraceFiles>,
    learners: &LearnerModels,
    options: &LearnOptions,
) -> Result<Vec<StepPicture>, PictureError> {
    let Some(files) = files else { return Ok(Vec::new()) };
    let limits = ReviewerLimits::of(learners.reflector.profile(), options.reflect.pictures);
    match options.reflect.mode {
        ReflectMode::Fresh | ReflectMode::InContext => step_pictures(files, limits.pictures),
        ReflectMode::Given => Ok(Vec::new()),
    }
}

/// Keeps the answers that could not be read beside the run's other learning records.
fn keep_unread(
    unread: &UnreadReflection,
    attempt: &str,
    files: Option<&TraceFiles>,
) -> Result<UnreadReview, CycleError> {
    let review = |answers| UnreadReview { attempt: attempt.to_owned(), why: unread.why.clone(), answers };
    let Some(files) = files else { return Ok(review(None)) };
    let path = files.learning_file("unread");
    let content = serde_json::json!({"attempt": attempt, "unread": unread});
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(&path, format!("{content:#}\n")))
        .map_err(|source| CycleError::Keep { path: path.clone(), source })?;
    Ok(review(Some(path)))
}

fn versions(gateway: &Gateway) -> BTreeMap<SkillId, u32> {
    gateway.state().skills.iter().map(|(id, skill)| (id.clone(), skill.version)).collect()
}

fn tool(outcome: ItemOutcome) -> Option<String> {
    match outcome {
        ItemOutcome::Wrote { tool, .. } => Some(tool),
        ItemOutcome::Proposed { tool, .. } => Some(format!("{tool}, proposed")),
        ItemOutcome::Nothing { .. } | ItemOutcome::DecidedBefore { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use apprentice_learning::manage::{Decision, ItemOutcome};
    use apprentice_learning::{LearnResult, Refusal};
    use apprentice_protocol::TaskId;
    use apprentice_skillbook::{Gateway, GatewayOptions};
    use tempfile::TempDir;

    use super::{Phase, add_result, empty_record};

    #[test]
    fn a_refused_call_and_a_lost_write_are_told_apart() {
        let refusal = |code: &str| Refusal { skill: None, code: code.to_owned(), why: "why".to_owned() };
        let decision = Decision {
            item: "learning:0".to_owned(),
            outcome: ItemOutcome::Nothing { words: String::new(), reason: None },
            input_type: None,
            refusals: vec![refusal("look_first")],
            calls: Vec::new(),
        };
        let result = LearnResult {
            decisions: vec![decision],
            refusals: vec![refusal("no_picture")],
            ..LearnResult::default()
        };
        let folder = TempDir::new().expect("a folder");
        let (gateway, _) =
            Gateway::open(folder.path(), GatewayOptions::at(jiff::Timestamp::UNIX_EPOCH)).expect("opens");
        let mut record = empty_record(&gateway, Phase::Own, TaskId::new("a"), "none".to_owned());
        add_result(&mut record, result);
        assert_eq!(record.refusals, ["look_first: why"]);
        assert_eq!(record.not_written, ["no_picture: why"]);
    }
}
