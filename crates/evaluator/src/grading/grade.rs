//! Re-grades a finished run from its stored evidence, without a world, a network or a model.

use std::path::{Path, PathBuf};

use apprentice_protocol::{RunId, TaskId, Verdict, VoidCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use apprentice_runs::layout::{EVIDENCE_FOLDER, ROWS_FILE};
use apprentice_runs::row::{JudgeUse, TrialRow};
use apprentice_runs::rows::{self, RowsError, TrialRef};
use apprentice_tasks::check::{
    Evidence, EvidenceError, EvidenceItem, EvidenceValue, JudgeInput, judge_with_compat,
};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::{CheckSpec, OneOrMany};
use apprentice_tasks::variation::vary;
use apprentice_trace::TraceError;

/// The schema name of the report.
pub const GRADE_SCHEMA: &str = "apprentice.grade/1";

/// The result of re-grading a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradeReport {
    /// [`GRADE_SCHEMA`].
    pub schema: String,
    /// The run; `None` when it has no attempts.
    pub run: Option<RunId>,
    /// Attempts whose verdict and score match the recorded ones.
    pub same: u64,
    /// Attempts whose verdict or score differs from the recorded one.
    pub differs: u64,
    /// Attempts that were judged but whose evidence is missing or changed.
    pub missing: u64,
    /// Void attempts that never reached a check.
    pub unjudged: u64,
    /// What a model took that compared answers for this grade; absent if none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeUse>,
    /// One entry per attempt, in row order.
    pub attempts: Vec<Regraded>,
}

/// One re-graded attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regraded {
    /// The attempt.
    #[serde(flatten)]
    pub at: TrialRef,
    /// The attempt's task.
    pub task: TaskId,
    /// How the two grades compare.
    pub outcome: GradeComparison,
    /// The grade in the recorded row.
    pub recorded: Grade,
    /// The grade from the evidence; `None` when the evidence cannot be read.
    pub graded: Option<Grade>,
    /// The check's explanation, or what is missing.
    pub explanation: String,
}

/// A verdict and a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grade {
    /// Whether the attempt passed, failed or is void.
    pub verdict: Verdict,
    /// From 0 to 1; 0 when void.
    pub score: f64,
}

/// How a re-grade compares with the recorded grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GradeComparison {
    /// Verdict and score are equal.
    Same,
    /// Verdict or score differs.
    Differs,
    /// Evidence is missing or was changed.
    Missing,
    /// The attempt is void for a reason other than its check, so no check ever ran.
    Unjudged,
}

/// The reason a run cannot be re-graded at all.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// The run's rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// An attempt's trace cannot be read, in which the instruction of its agent stands.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace has no header.
    #[error("the trace in {} does not begin with a header", .0.display())]
    NoHeader(PathBuf),
    /// The suite does not contain a task of the run.
    #[error("suite {suite:?} has no task {task}, but the run contains it")]
    NoTask {
        /// The suite's name.
        suite: String,
        /// The task's id.
        task: TaskId,
    },
    /// The variation recorded in the run cannot be generated from the suite's task.
    #[error("task {task}, variation {seed}")]
    Vary {
        /// The task's id.
        task: TaskId,
        /// The index of the variation.
        seed: u32,
        /// The cause.
        #[source]
        source: apprentice_tasks::variation::VariationError,
    },
}

/// Re-grades every attempt of the run in `folder`. With a suite, its current checks run on the evidence collected
/// by the recorded ones; without a suite, the recorded checks run.
pub fn grade(folder: &Path, suite: Option<&Suite>) -> Result<GradeReport, GradeError> {
    let rows = rows::read(&folder.join(ROWS_FILE))?.rows;
    let mut report = GradeReport {
        schema: GRADE_SCHEMA.into(),
        run: rows.first().map(|row| row.run.clone()),
        same: 0,
        differs: 0,
        missing: 0,
        unjudged: 0,
        judge: None,
        attempts: Vec::with_capacity(rows.len()),
    };
    for row in &rows {
        let regraded = regrade(folder, row, suite)?;
        *match regraded.outcome {
            GradeComparison::Same => &mut report.same,
            GradeComparison::Differs => &mut report.differs,
            GradeComparison::Missing => &mut report.missing,
            GradeComparison::Unjudged => &mut report.unjudged,
        } += 1;
        report.attempts.push(regraded);
    }
    Ok(report)
}

fn regrade(folder: &Path, row: &TrialRow, suite: Option<&Suite>) -> Result<Regraded, GradeError> {
    let recorded = Grade { verdict: row.verdict, score: row.score };
    let entry = |outcome, graded, explanation| Regraded {
        at: TrialRef::of(row),
        task: row.task.clone(),
        outcome,
        recorded,
        graded,
        explanation,
    };
    let (asked, evidence) = match checked(folder, row, suite)? {
        Some(Ok(stored)) => stored,
        Some(Err(error)) => return Ok(entry(GradeComparison::Missing, None, with_cause(&error))),
        None => {
            let cause = row.void_cause.map_or_else(String::new, |cause| format!(" ({cause:?})"));
            return Ok(entry(GradeComparison::Unjudged, None, format!("void before it was judged{cause}")));
        }
    };
    let judged = judge_with_compat(&asked.spec, &evidence, &asked.ending, asked.compat);
    let graded = Grade { verdict: judged.verdict, score: judged.score };
    let same = graded.verdict == recorded.verdict && (graded.score - recorded.score).abs() < 1e-9;
    let outcome = if same { GradeComparison::Same } else { GradeComparison::Differs };
    Ok(entry(outcome, Some(graded), judged.explanation))
}

/// What an attempt is graded from: its check, which with a suite is the current one, and its evidence.
type Checked = Result<(JudgeInput, Evidence), EvidenceError>;

/// Returns what an attempt is graded from; `None` if it is void for a reason other than its check.
pub(crate) fn checked(
    folder: &Path,
    row: &TrialRow,
    suite: Option<&Suite>,
) -> Result<Option<Checked>, GradeError> {
    if row.verdict == Verdict::Void && row.void_cause != Some(VoidCause::CheckCrashed) {
        return Ok(None);
    }
    let (mut asked, mut evidence) = match stored(&folder.join(&row.trace).join(EVIDENCE_FOLDER)) {
        Ok(stored) => stored,
        Err(error) => return Ok(Some(Err(error))),
    };
    if let Some(suite) = suite {
        let no_task = || GradeError::NoTask { suite: suite.name.clone(), task: row.task.clone() };
        let task = suite.task(row.task.as_str()).ok_or_else(no_task)?;
        let varied = vary(task, &row.suite, row.seed).map_err(|source| GradeError::Vary {
            task: row.task.clone(),
            seed: row.seed,
            source,
        })?;
        asked.spec = varied.task.evaluator;
        replace_rules(&mut evidence, &asked.spec);
    }
    Ok(Some(Ok((asked, evidence))))
}

fn stored(folder: &Path) -> Result<(JudgeInput, Evidence), EvidenceError> {
    Ok((JudgeInput::load(folder)?, Evidence::load(folder)?))
}

/// Replaces the stored `rule` values with those of the new check. They are part of the check, so they need no
/// world.
fn replace_rules(evidence: &mut Evidence, spec: &CheckSpec) {
    let expected = spec.expected.iter().flat_map(OneOrMany::iter);
    for (at, getter) in expected.enumerate().filter(|(_, getter)| getter["type"] == "rule") {
        let value = getter.get("rules").cloned().unwrap_or(Value::Null);
        let getter = "rule".to_owned();
        let piece = EvidenceItem {
            getter,
            command: None,
            code: None,
            errors: None,
            took_ms: 0,
            found: EvidenceValue::Value { value },
        };
        if evidence.expected.len() <= at {
            evidence.expected.resize(at + 1, None);
        }
        evidence.expected[at] = Some(piece);
    }
}

/// Formats an error and its cause in one line.
fn with_cause(error: &EvidenceError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    format!("{error}{cause}")
}
