//! Learns from attempts at instructions of the user's own, and from traces of other programs. Their verdicts come from a person,
//! from a model or from nobody, or stand in the trace, and the log says from whom.

use apprentice_learning::{LearnError, LearnOptions, LearnerModels};
use apprentice_protocol::{TaskId, Trajectory};
use apprentice_screening::leak::HeldOutIndex;
use apprentice_skillbook::{Actor, Cause, Change, Gateway, Judgement, Stage, WriteRequest};
use jiff::Timestamp;

use super::cycle::{AdmittedAttempt, CycleError, LearningRecord, Phase, empty_record, learn_admitted};
use super::foreign_trace::ForeignTrace;
use super::own_attempt::OwnAttempt;
use super::step_pictures::TraceFiles;
use crate::split::TrainTrajectory;

/// The arm of an attempt that is part of no comparison.
const OWN_ARM: &str = "own";

/// An attempt at an instruction of the user's own, with the verdict that somebody gave.
#[derive(Clone, Copy, Debug)]
pub struct JudgedAttempt<'a> {
    /// The attempt.
    pub attempt: &'a OwnAttempt,
    /// The verdict, and who gave it.
    pub judgement: &'a Judgement,
}

/// Learns from an attempt at an instruction of the user's own. `held_out` is what
/// is known of the held-out tasks of the suites that the book is locked to. One that was already learned from changes
/// nothing but its verdict: a person's word replaces a model's.
pub async fn learn_from_own(
    gateway: &mut Gateway,
    held_out: &dyn HeldOutIndex,
    learners: &LearnerModels,
    judged: JudgedAttempt<'_>,
    options: &LearnOptions,
) -> Result<LearningRecord, CycleError> {
    let JudgedAttempt { attempt, judgement } = judged;
    let (trajectory, time) = attempt.judged(judgement);
    let told = Told { phase: Phase::Own, trajectory, judgement, time, files: Some(attempt.files()) };
    learn_told(gateway, held_out, learners, told, options).await
}

/// Learns from a trace of another program. An interrupted command is repeated as a whole: one that was already learned from changes
/// nothing.
pub async fn learn_from_foreign(
    gateway: &mut Gateway,
    held_out: &dyn HeldOutIndex,
    learners: &LearnerModels,
    trace: &ForeignTrace,
    options: &LearnOptions,
) -> Result<LearningRecord, CycleError> {
    let trajectory = trace.trajectory().clone();
    let (judgement, time) = (trace.judgement(), trace.time());
    let told = Told { phase: Phase::Foreign, trajectory, judgement, time, files: None };
    learn_told(gateway, held_out, learners, told, options).await
}

/// An attempt of no suite, with its verdict.
struct Told<'a> {
    phase: Phase,
    trajectory: Trajectory,
    judgement: &'a Judgement,
    time: Timestamp,
    files: Option<TraceFiles>,
}

async fn learn_told(
    gateway: &mut Gateway,
    held_out: &dyn HeldOutIndex,
    learners: &LearnerModels,
    told: Told<'_>,
    options: &LearnOptions,
) -> Result<LearningRecord, CycleError> {
    let Told { phase, trajectory, judgement, time, files } = told;
    let own = TaskId::new(trajectory.id.split('/').next().unwrap_or_default());
    let admitted = TrainTrajectory::of_own(trajectory, held_out)?;
    note_judgement(gateway, &admitted, judgement, time)?;
    let (verdict, judged_by) = (admitted.trajectory().told_verdict(), admitted.trajectory().judged_by);
    let record = empty_record(gateway, phase, own, OWN_ARM.to_owned());
    let record = LearningRecord { verdict, judged_by, ..record };
    let admitted = AdmittedAttempt { trajectory: admitted, time, conversation: None, files };
    Ok(learn_admitted(gateway, learners, admitted, record, options).await?.0)
}

/// Records who judged an attempt, once for each judge.
fn note_judgement(
    gateway: &mut Gateway,
    admitted: &TrainTrajectory,
    judgement: &Judgement,
    time: Timestamp,
) -> Result<(), LearnError> {
    let mut judgement = judgement.clone();
    if gateway.check_text(&judgement.why).is_some() {
        judgement.why = "[left out: it may hold a secret or an instruction to an agent]".to_owned();
    }
    let item = format!("judged:{}", serde_json::to_value(judgement.by)?.as_str().unwrap_or_default());
    let cause = Cause { trajectory: admitted.trajectory().id.clone(), item, stage: Stage::Handle };
    let request = WriteRequest::of(Actor::Learner, time, Change::AttemptJudged(judgement));
    gateway.apply(WriteRequest { cause: Some(cause), ..request })?;
    Ok(())
}
