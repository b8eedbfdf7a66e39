//! Grades a finished run again from its stored evidence: no world, no network, no model.

use std::path::Path;

use apprentice_protocol::{RunId, TaskId, Verdict, VoidCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use apprentice_results::row::TrialRow;
use apprentice_results::rows::{self, RowsError, TrialRef};
use apprentice_tasks::check::{Asked, Evidence, EvidenceError, Found, Piece, judge_as};
use apprentice_tasks::seed::vary;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::task::{CheckSpec, OneOrMany};

/// The name of the report's format.
pub const GRADE_SCHEMA: &str = "apprentice.grade/1";

/// What grading a run again gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradeReport {
    /// [`GRADE_SCHEMA`].
    pub schema: String,
    /// The run, if it has any attempts.
    pub run: Option<RunId>,
    /// Attempts whose score is as recorded.
    pub same: u64,
    /// Attempts whose verdict or score differs from the recorded one.
    pub differs: u64,
    /// Attempts that were judged and cannot be judged again.
    pub missing: u64,
    /// Void attempts that never came to a check.
    pub unjudged: u64,
    /// One entry per attempt, in the order of the rows.
    pub attempts: Vec<Regraded>,
}

/// One attempt, graded again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regraded {
    /// Which attempt.
    #[serde(flatten)]
    pub at: TrialRef,
    /// Its task.
    pub task: TaskId,
    /// How the two grades compare.
    pub outcome: Outcome,
    /// What the row says.
    pub recorded: Grade,
    /// What the evidence says, if it can be read.
    pub graded: Option<Grade>,
    /// Why, in words: the check's explanation, or what is missing.
    pub explanation: String,
}

/// A verdict and a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grade {
    /// The verdict.
    pub verdict: Verdict,
    /// From 0 to 1; 0 when void.
    pub score: f64,
}

/// How a repeated grade compares with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The same verdict and score.
    Same,
    /// Another verdict or score.
    Differs,
    /// Evidence is missing or was changed.
    Missing,
    /// There never was a check: the attempt is void for another reason.
    Unjudged,
}

/// Why a run cannot be graded again at all.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// Its rows do not read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The suite has no such task.
    #[error("suite {suite:?} has no task {task}, which the run has")]
    NoTask {
        /// The suite.
        suite: String,
        /// The task.
        task: TaskId,
    },
    /// The suite's task cannot be varied as it was.
    #[error("task {task}, variation {seed}")]
    Vary {
        /// The task.
        task: TaskId,
        /// The variation.
        seed: u32,
        /// Why.
        #[source]
        source: apprentice_tasks::seed::VaryError,
    },
}

/// Grades every attempt of the run in `folder` again. With a suite, its present checks are asked, on the
/// evidence that the recorded ones collected; without one, the checks that were asked then.
pub fn grade(folder: &Path, suite: Option<&Suite>) -> Result<GradeReport, GradeError> {
    let rows = rows::read(&folder.join("trials.jsonl"))?.rows;
    let mut report = GradeReport {
        schema: GRADE_SCHEMA.into(),
        run: rows.first().map(|row| row.run.clone()),
        same: 0,
        differs: 0,
        missing: 0,
        unjudged: 0,
        attempts: Vec::with_capacity(rows.len()),
    };
    for row in &rows {
        let regraded = regrade(folder, row, suite)?;
        *match regraded.outcome {
            Outcome::Same => &mut report.same,
            Outcome::Differs => &mut report.differs,
            Outcome::Missing => &mut report.missing,
            Outcome::Unjudged => &mut report.unjudged,
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
    if row.verdict == Verdict::Void && row.void_cause != Some(VoidCause::CheckCrashed) {
        let cause = row.void_cause.map_or_else(String::new, |cause| format!(" ({cause:?})"));
        return Ok(entry(Outcome::Unjudged, None, format!("void before it was judged{cause}")));
    }
    let (mut asked, mut evidence) = match stored(&folder.join(&row.trace).join("evidence")) {
        Ok(stored) => stored,
        Err(error) => return Ok(entry(Outcome::Missing, None, story(&error))),
    };
    if let Some(suite) = suite {
        let no_task = || GradeError::NoTask { suite: suite.name.clone(), task: row.task.clone() };
        let task = suite.task(row.task.as_str()).ok_or_else(no_task)?;
        let varied = vary(task, &suite.name, row.seed).map_err(|source| GradeError::Vary {
            task: row.task.clone(),
            seed: row.seed,
            source,
        })?;
        asked.spec = varied.task.evaluator;
        restate_rules(&mut evidence, &asked.spec);
    }
    let judged = judge_as(&asked.spec, &evidence, &asked.ending, asked.compat);
    let graded = Grade { verdict: judged.verdict, score: judged.score };
    let same = graded.verdict == recorded.verdict && (graded.score - recorded.score).abs() < 1e-9;
    let outcome = if same { Outcome::Same } else { Outcome::Differs };
    Ok(entry(outcome, Some(graded), judged.explanation))
}

fn stored(folder: &Path) -> Result<(Asked, Evidence), EvidenceError> {
    Ok((Asked::load(folder)?, Evidence::load(folder)?))
}

/// Rules are written in the check itself, so those of another check need no world to be collected from.
fn restate_rules(evidence: &mut Evidence, spec: &CheckSpec) {
    let expected = spec.expected.iter().flat_map(OneOrMany::iter);
    for (at, getter) in expected.enumerate().filter(|(_, getter)| getter["type"] == "rule") {
        let value = getter.get("rules").cloned().unwrap_or(Value::Null);
        let getter = "rule".to_owned();
        let piece = Piece { getter, command: None, code: None, took_ms: 0, found: Found::Value { value } };
        if evidence.expected.len() <= at {
            evidence.expected.resize(at + 1, None);
        }
        evidence.expected[at] = Some(piece);
    }
}

/// An error with its causes in one line.
fn story(error: &EvidenceError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    format!("{error}{cause}")
}
