//! Reads files of trial rows, from any producer, and finds the attempt that counts for each trial.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_protocol::{RunId, TrialId, Verdict, VoidCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::row::{ROW_SCHEMA, TrialRow};

/// The rows of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The finished attempts, in file order.
    pub rows: Vec<TrialRow>,
    /// An unterminated last line, from an attempt whose row was never completely written.
    pub torn: Option<TornLine>,
    /// Line numbers of complete lines that repeat an earlier one. Each such attempt is counted once.
    pub repeated: Vec<usize>,
}

/// An unterminated last line. It is not a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// Its line number, from 1.
    pub line: usize,
    /// Its length in bytes.
    pub bytes: usize,
}

/// The reason a file's rows cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A complete line is not a valid row.
    #[error("{path}, line {line}: not a trial row{}", place(field))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// Path of the field within the row.
        field: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A row has an unknown schema.
    #[error("{path}, line {line}: schema {schema:?}, expected {ROW_SCHEMA:?}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The row's schema.
        schema: String,
    },
    /// A score is out of range.
    #[error("{path}, line {line}: the score {score} is not between 0 and 1")]
    Score {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The row's score.
        score: f64,
    },
    /// Two different rows for the same attempt.
    #[error(
        "{path}, lines {first} and {line}: two different rows of attempt {} of trial {} of run {}; an attempt has one result",
        at.attempt, at.trial, at.run
    )]
    Conflict {
        /// The file.
        path: PathBuf,
        /// The line number of the later row, from 1.
        line: usize,
        /// The line number of the earlier one.
        first: usize,
        /// The attempt.
        at: TrialRef,
    },
}

/// Formats a field path in brackets; empty for the row as a whole.
fn place(field: &str) -> String {
    if field == "." { String::new() } else { format!(" (field {field})") }
}

/// Reads a `trials.jsonl` file. A line is complete when it ends with a line break; blank lines are skipped.
///
/// # Errors
///
/// Fails if the file cannot be read, or with the line that is no row of this version.
pub fn read(path: &Path) -> Result<Rows, RowsError> {
    let bytes =
        apprentice_files::read(path).map_err(|source| RowsError::Read { path: path.to_owned(), source })?;
    parse(&bytes, path)
}

/// Parses rows from memory; `path` is used in messages only.
///
/// # Errors
///
/// Returns the line that is no row of this version, and what is wrong with it.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Rows, RowsError> {
    let mut read = Rows::default();
    let mut seen: BTreeMap<TrialRef, (usize, usize)> = BTreeMap::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let Some(line) = line.strip_suffix(b"\n") else {
            read.torn = Some(TornLine { line: number, bytes: line.len() });
            break;
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        let row: TrialRow = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let field = error.path().to_string();
            RowsError::Line { path: path.to_owned(), line: number, field, source: error.into_inner() }
        })?;
        if row.schema != ROW_SCHEMA {
            return Err(RowsError::Schema { path: path.to_owned(), line: number, schema: row.schema });
        }
        if !(0.0..=1.0).contains(&row.score) {
            return Err(RowsError::Score { path: path.to_owned(), line: number, score: row.score });
        }
        let at = TrialRef::of(&row);
        match seen.get(&at) {
            // A repeated identical line, for example after files were joined, is one result.
            Some((_, place)) if read.rows[*place] == row => read.repeated.push(number),
            Some((first, _)) => {
                return Err(RowsError::Conflict { path: path.to_owned(), line: number, first: *first, at });
            }
            None => {
                seen.insert(at, (number, read.rows.len()));
                read.rows.push(row);
            }
        }
    }
    Ok(read)
}

/// The result of one trial: its last attempt, and the void attempts before it.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// The attempt that counts.
    pub last: &'a TrialRow,
    /// Earlier attempts, in order; under the rules of a run, all of them are void.
    pub earlier: Vec<&'a TrialRow>,
}

impl Trial<'_> {
    /// Returns whether the trial has no result.
    pub fn is_void(&self) -> bool {
        self.last.verdict == Verdict::Void
    }

    /// The reference of the attempt that counts.
    pub fn reference(&self) -> TrialRef {
        TrialRef::of(self.last)
    }
}

/// Identifies one attempt, so that a number can be traced to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct TrialRef {
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialId,
    /// The attempt, from 1.
    pub attempt: u32,
}

impl TrialRef {
    /// The reference of a row.
    pub fn of(row: &TrialRow) -> Self {
        Self { run: row.run.clone(), trial: row.trial.clone(), attempt: row.attempt }
    }
}

/// A void attempt and its cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct VoidAttempt {
    /// The attempt.
    #[serde(flatten)]
    pub at: TrialRef,
    /// The cause; `None` if the row has none.
    pub cause: Option<VoidCause>,
}

/// Groups attempts into trials, ordered by run and trial regardless of the rows' order. If several rows have the same
/// attempt, the last one wins.
pub fn trials<'a>(rows: impl IntoIterator<Item = &'a TrialRow>) -> Vec<Trial<'a>> {
    let mut grouped: BTreeMap<(&RunId, &TrialId), BTreeMap<u32, &TrialRow>> = BTreeMap::new();
    for row in rows {
        grouped.entry((&row.run, &row.trial)).or_default().insert(row.attempt, row);
    }
    grouped
        .into_values()
        .filter_map(|attempts| {
            let mut earlier: Vec<&TrialRow> = attempts.into_values().collect();
            let last = earlier.pop()?;
            Some(Trial { last, earlier })
        })
        .collect()
}

/// Lists the void attempts of trials, including last attempts, with their causes.
pub fn voids(trials: &[Trial<'_>]) -> Vec<VoidAttempt> {
    let attempts = trials.iter().flat_map(|trial| trial.earlier.iter().copied().chain([trial.last]));
    attempts
        .filter(|row| row.verdict == Verdict::Void)
        .map(|row| VoidAttempt { at: TrialRef::of(row), cause: row.void_cause })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use apprentice_protocol::Verdict;

    use super::{TornLine, parse, trials, voids};
    use crate::row::TrialRow;

    fn line(arm: &str, attempt: u32, verdict: Verdict) -> String {
        let row = serde_json::json!({
            "schema": "apprentice.trial/1", "run": "20261120T101500Z-x7k2", "trial": format!("{arm}-save-1-0"),
            "suite": "starter", "role": "student", "task": "save-1", "template": "save-as", "suite_hash": "5uite",
            "arm": arm, "seed": 0, "attempt": attempt, "model": "builtin/novice", "verdict": verdict,
            "score": if verdict == Verdict::Pass { 1.0 } else { 0.0 }, "world_steps": 6, "turns": 8,
            "tokens": { "input": 9000, "output": 400, "cached": 0 }, "delivered_tokens": 0, "cost_usd": null,
            "wall_s": 4.5, "working_s": 4.0, "stop_reason": null, "void_cause": null, "skills_viewed": [],
            "order": 0, "started_at": "1970-01-01T00:00:00Z", "prompt_hash": "pr0mpt", "isolation": "memory",
            "trace": format!("trials/save-1-{arm}/attempt-0{attempt}"),
        });
        let row: TrialRow = serde_json::from_value(row).expect("a row");
        serde_json::to_string(&row).expect("writes") + "\n"
    }

    #[test]
    fn a_torn_last_line_is_reported_and_never_a_result() {
        let whole = line("none", 1, Verdict::Pass);
        let torn = whole.clone() + whole.trim_end();
        let read = parse(torn.as_bytes(), Path::new("trials.jsonl")).expect("reads");
        assert_eq!(read.rows.len(), 1);
        assert_eq!(read.torn, Some(TornLine { line: 2, bytes: whole.len() - 1 }));
    }

    #[test]
    fn a_broken_line_is_named_with_its_field() {
        let bad =
            line("none", 1, Verdict::Pass) + &line("none", 1, Verdict::Fail).replace("\"fail\"", "\"lost\"");
        let error = parse(bad.as_bytes(), Path::new("trials.jsonl")).expect_err("a verdict of no kind");
        assert_eq!(error.to_string(), "trials.jsonl, line 2: not a trial row (field verdict)");
        let later = line("none", 1, Verdict::Pass).replace("apprentice.trial/1", "apprentice.trial/9");
        let error = parse(later.as_bytes(), Path::new("trials.jsonl")).expect_err("a later format");
        assert_eq!(
            error.to_string(),
            "trials.jsonl, line 1: schema \"apprentice.trial/9\", expected \"apprentice.trial/1\""
        );
    }

    #[test]
    fn an_attempt_has_one_result_and_a_score_is_a_share() {
        let passed = line("none", 1, Verdict::Pass);
        let said = |text: String| {
            parse(text.as_bytes(), Path::new("trials.jsonl")).map_err(|error| error.to_string())
        };
        let joined = said(passed.clone() + "\n" + &passed).expect("the same line twice");
        assert_eq!(joined.rows.len(), 1);
        let torn = said(passed.clone() + &line("none", 2, Verdict::Pass) + &line("none", 1, Verdict::Fail));
        let refusal = torn.expect_err("two results");
        assert!(
            refusal.starts_with("trials.jsonl, lines 1 and 3: two different rows of attempt 1"),
            "{refusal}"
        );
        let high = said(passed.replace("\"score\":1.0", "\"score\":7.5")).expect_err("no share");
        assert_eq!(high, "trials.jsonl, line 1: the score 7.5 is not between 0 and 1");
        let bare = said(passed.replace("\"template\":\"save-as\",", "")).expect_err("no template");
        assert_eq!(bare, "trials.jsonl, line 1: not a trial row");
    }

    #[test]
    fn the_last_attempt_counts_and_void_ones_are_kept() {
        let text = line("none", 2, Verdict::Pass) + &line("none", 1, Verdict::Void);
        let read = parse(text.as_bytes(), Path::new("trials.jsonl")).expect("reads");
        let trials = trials(&read.rows);
        let [trial] = trials.as_slice() else { panic!("one trial: {trials:?}") };
        assert_eq!((trial.last.verdict, trial.earlier.len()), (Verdict::Pass, 1));
        assert_eq!(voids(&trials).len(), 1);
    }
}
