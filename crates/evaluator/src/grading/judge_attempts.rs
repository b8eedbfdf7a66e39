//! Has a model compare the answers of a finished run that none has compared, and adds what it says to their evidence. The
//! rows stay as they are.

use std::path::{Path, PathBuf};

use apprentice_runs::layout::{EVENTS_FILE, EVIDENCE_FOLDER, ROWS_FILE};
use apprentice_runs::row::{JudgeUse, TrialRow};
use apprentice_runs::rows;
use apprentice_tasks::check::{
    AnswerJudgement, AnswerOutcome, Evidence, EvidenceError, JudgeInput, open_question,
};
use apprentice_tasks::suite::Suite;
use apprentice_trace::{Redactor, Trace};

use crate::grading::answer_judge::{AnswerJudge, judge_use};
use crate::grading::grade::{GradeError, checked};

/// An attempt whose answer a model must compare.
pub struct OpenAttempt {
    folder: PathBuf,
    /// The instruction that the agent got.
    task: String,
    asked: JudgeInput,
    /// The evidence that is graded, without judgements that decided nothing.
    evidence: Evidence,
    /// Number of questions, at most.
    pub questions: usize,
}

/// Returns the attempts of the run in `folder` whose answers no model has compared. With a suite, its current checks count.
pub fn open_attempts(folder: &Path, suite: Option<&Suite>) -> Result<Vec<OpenAttempt>, GradeError> {
    let rows = rows::read(&folder.join(ROWS_FILE))?.rows;
    let mut open = Vec::new();
    for row in &rows {
        open.extend(open_attempt(folder, row, suite)?);
    }
    Ok(open)
}

fn open_attempt(
    folder: &Path,
    row: &TrialRow,
    suite: Option<&Suite>,
) -> Result<Option<OpenAttempt>, GradeError> {
    // An attempt that cannot be graded is named by the grade itself.
    let Some(Ok((asked, mut evidence))) = checked(folder, row, suite)? else { return Ok(None) };
    evidence.judgements.retain(|one| matches!(one.outcome, AnswerOutcome::Decided { .. }));
    let Some(first) = open_question(&asked.spec, &evidence, &asked.ending, asked.compat) else {
        return Ok(None);
    };
    let folder = folder.join(&row.trace);
    let trace = Trace::read(&folder.join(EVENTS_FILE))?;
    let header = trace.header().ok_or_else(|| GradeError::NoHeader(folder.clone()))?;
    let task = header.brief.instruction.clone();
    let questions = 1 + first.others.len();
    Ok(Some(OpenAttempt { folder: folder.join(EVIDENCE_FOLDER), task, asked, evidence, questions }))
}

/// Has a model compare the answers of these attempts, and adds each judgement to the evidence on disk before the next is
/// asked for. Returns what they took; `None` if there was nothing to ask.
pub async fn judge_attempts(
    judge: &AnswerJudge,
    attempts: Vec<OpenAttempt>,
    redactor: &Redactor,
) -> Result<Option<JudgeUse>, EvidenceError> {
    let mut all: Vec<AnswerJudgement> = Vec::new();
    for OpenAttempt { folder, task, asked, mut evidence, .. } in attempts {
        let known = evidence.judgements.len();
        judge.complete(&task, &asked, &mut evidence).await;
        let new = evidence.judgements.split_off(known);
        let mut stored = Evidence::load(&folder)?;
        stored.judgements.extend(new.iter().cloned());
        stored.redact(redactor);
        stored.save(&folder)?;
        all.extend(new);
    }
    Ok(judge_use(&all))
}
