//! The input of a metric: the collected result, the expected side, and the options.

use apprentice_protocol::BlobHash;
use serde_json::{Map, Value};

use super::compat::CompatProbe;
use super::score::{MetricError, Score, task_error, upstream_error};
use crate::evidence::{AnswerJudgement, EvidenceValue, FileRef, Reading, ReadingContent, ReadingKind};

/// The input of a metric.
#[derive(Clone, Copy)]
pub struct MetricInput<'a> {
    /// The collected result.
    pub result: &'a EvidenceValue,
    /// The expected side; `None` for a metric without one.
    pub expected: Option<&'a EvidenceValue>,
    /// The options that the check gives the metric.
    pub options: &'a Map<String, Value>,
    /// The compatibility mode.
    pub reading: &'a CompatProbe,
    /// All files of the check, for metrics that look up companions of their arguments. Upstream keeps them in one
    /// folder.
    pub beside: &'a [&'a FileRef],
    /// What programs of others read from the files.
    pub readings: &'a [Reading],
    /// What a model said of answers.
    pub judgements: &'a [AnswerJudgement],
}

impl<'a> MetricInput<'a> {
    pub(crate) fn reproduces_bugs(&self) -> bool {
        self.reading.reproduces_bugs()
    }

    /// Returns the expected side as a value.
    pub(crate) fn rules(&self) -> Result<&'a Value, MetricError> {
        match self.expected {
            Some(EvidenceValue::Value { value }) => Ok(value),
            Some(EvidenceValue::Files { .. } | EvidenceValue::Absent { .. }) | None => {
                Err(task_error("`expected` must be a rule or another value"))
            }
        }
    }

    /// Returns one entry of the rules.
    pub(crate) fn rule(&self, name: &str) -> Result<&'a Value, MetricError> {
        self.rules()?.get(name).ok_or_else(|| task_error(format!("`expected` has no rule {name:?}")))
    }

    /// Returns one entry of the rules as a string.
    pub(crate) fn rule_str(&self, name: &str) -> Result<&'a str, MetricError> {
        self.rule(name)?.as_str().ok_or_else(|| task_error(format!("rule {name:?} must be a string")))
    }

    /// Returns whether an option is truthy in Python's sense.
    pub(crate) fn option(&self, name: &str, default: bool) -> bool {
        self.options.get(name).map_or(default, crate::scoring::is_truthy)
    }

    /// Returns the result as a value; upstream's `None` is `null`.
    pub(crate) fn found(&self) -> Result<&'a Value, MetricError> {
        match self.result {
            EvidenceValue::Value { value } => Ok(value),
            EvidenceValue::Absent { .. } => Ok(&Value::Null),
            EvidenceValue::Files { .. } => {
                Err(task_error("the metric takes a value, but the result is a file"))
            }
        }
    }

    /// Returns the result as a value, or the score of an absent one.
    pub(crate) fn value(&self) -> Result<Result<&'a Value, Score>, MetricError> {
        match (self.found()?, self.result) {
            (Value::Null, EvidenceValue::Absent { why }) => Ok(Err(Score::none(why.clone()))),
            (Value::Null, _) => Ok(Err(Score::none("there is no result"))),
            (value, _) => Ok(Ok(value)),
        }
    }

    /// Returns the result as a value, where upstream raises for an absent one.
    pub(crate) fn require_value(&self) -> Result<&'a Value, MetricError> {
        self.value()?.map_err(|mark| upstream_error(mark.explanation))
    }

    /// Returns the result as a string, where upstream raises for anything else.
    pub(crate) fn require_str(&self) -> Result<&'a str, MetricError> {
        self.require_value()?.as_str().ok_or_else(|| upstream_error("the result is not a string"))
    }

    /// Returns the result as one file, or the score of an absent one.
    pub(crate) fn file(&self) -> Result<Result<&'a FileRef, Score>, MetricError> {
        file(self.result)
    }

    /// Returns the result as one file, where upstream raises for an absent one.
    pub(crate) fn require_file(&self) -> Result<&'a FileRef, MetricError> {
        self.file()?.map_err(|mark| upstream_error(mark.explanation))
    }

    /// Returns what a program read from a file when the evidence was collected.
    pub(crate) fn reading(&self, kind: ReadingKind, of: &BlobHash) -> Result<ReadingContent, MetricError> {
        let taken = self.readings.iter().find(|reading| reading.kind == kind && reading.of == *of);
        let taken = taken
            .ok_or_else(|| task_error("the evidence does not hold what a program read from the file"))?;
        taken.read().map_err(|error| task_error(format!("a reading in the evidence is broken: {error}")))
    }

    /// Returns the expected side as one file.
    pub(crate) fn expected_file(&self) -> Result<&'a FileRef, MetricError> {
        let missing = || task_error("`expected` must be a file");
        file(self.expected.ok_or_else(missing)?)?.map_err(|_| missing())
    }
}

fn file(found: &EvidenceValue) -> Result<Result<&FileRef, Score>, MetricError> {
    match found {
        EvidenceValue::Files { files, .. } => match files.as_slice() {
            [Some(file)] => Ok(Ok(file)),
            [None] => Ok(Err(Score::none("the file does not exist"))),
            many => Err(task_error(format!("the metric takes one file, but got {}", many.len()))),
        },
        EvidenceValue::Absent { why } => Ok(Err(Score::none(why.clone()))),
        EvidenceValue::Value { value: Value::Null } => Ok(Err(Score::none("there is no file"))),
        EvidenceValue::Value { .. } => Err(task_error("the metric takes a file, but got a value")),
    }
}

/// Returns a list from the rules. A missing one is empty; a value of another type is an error of the task.
pub(crate) fn entries<'a>(rules: &'a Value, name: &str) -> Result<&'a [Value], MetricError> {
    let rules = rules.as_object().ok_or_else(|| task_error("`expected` must be an object of rules"))?;
    match rules.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(task_error(format!("rule {name:?} must be a list"))),
    }
}

/// Returns the entries of a required list of strings, so that no check passes because its rule is missing.
pub(crate) fn texts<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, MetricError> {
    if rules.get(name).is_none() {
        return Err(task_error(format!("`expected` has no rule {name:?}")));
    }
    optional_strings(rules, name)
}

/// Returns the entries of a list of strings; a missing list is empty.
pub(crate) fn optional_strings<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, MetricError> {
    let bad = || task_error(format!("rule {name:?} must be a list of strings"));
    entries(rules, name)?.iter().map(|item| item.as_str().ok_or_else(bad)).collect()
}
