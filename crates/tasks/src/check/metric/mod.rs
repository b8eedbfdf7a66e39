//! Metrics under OSWorld's names, with upstream's semantics. Each metric computes a score from evidence.
//!
//! Where upstream raises an exception instead of scoring, a metric returns [`MetricError::Raised`]. [`Compat`] decides
//! whether that counts as a score of zero or as no score.

mod app_settings;
mod archive;
mod attribute_limit;
mod browser;
mod difflib;
mod epub;
mod html;
mod image;
mod json;
mod list;
mod python;
mod python_regex;
mod registry;
mod selector;
mod sqlite_and_id3;
mod structure;
mod table;
mod text;
mod thunderbird;
mod tree;
mod url;
mod value;
mod vlc;
mod xml;
mod yaml;
mod zip_reader;

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use json::read as read_json;
pub use registry::{ArgumentKind, METRICS, Metric, MetricFamily, named};
pub(super) use table::last_row;
pub(crate) use url::same as same_url;

use super::evidence::{EvidenceValue, FileRef};

/// Handling of upstream's known bugs, which `docs/osworld.md` lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// Fixes them, so that the check tests what its task means.
    #[default]
    Fixed,
    /// Reproduces them exactly.
    Exact,
}

impl Compat {
    /// Returns the other mode.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Exact,
            Self::Exact => Self::Fixed,
        }
    }
}

/// A compatibility mode that records whether a metric consulted it. If not, the other mode gives the same score.
pub(super) struct CompatProbe {
    compat: Compat,
    consulted: Cell<bool>,
}

impl CompatProbe {
    pub(super) fn new(compat: Compat) -> Self {
        Self { compat, consulted: Cell::new(false) }
    }

    pub(super) fn reproduces_bugs(&self) -> bool {
        self.consulted.set(true);
        self.compat == Compat::Exact
    }

    /// Returns the other mode, if it could lead to another score.
    pub(super) fn other(&self) -> Option<Self> {
        self.consulted.get().then(|| Self::new(self.compat.other()))
    }
}

/// The input of a metric.
#[derive(Clone, Copy)]
pub(super) struct MetricInput<'a> {
    pub(super) result: &'a EvidenceValue,
    pub(super) expected: Option<&'a EvidenceValue>,
    pub(super) options: &'a Map<String, Value>,
    pub(super) reading: &'a CompatProbe,
    /// All files of the check, for metrics that look up companions of their arguments. Upstream keeps them in one
    /// folder.
    pub(super) beside: &'a [&'a FileRef],
}

/// A score and its explanation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Score {
    pub(super) score: f64,
    pub(super) explanation: String,
}

/// The reason why a metric has no score.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MetricError {
    /// An invalid task file, an unimplemented feature, or an exhausted budget: never the model's failure.
    Task(String),
    /// The result is malformed, so that upstream raises an exception.
    Raised(String),
}

impl Score {
    pub(super) fn of(passed: bool, explanation: impl Into<String>) -> Self {
        Self { score: f64::from(u8::from(passed)), explanation: explanation.into() }
    }

    fn none(explanation: impl Into<String>) -> Self {
        Self::of(false, explanation)
    }

    fn full(explanation: impl Into<String>) -> Self {
        Self::of(true, explanation)
    }

    /// Returns a full score if there are no complaints, else zero.
    fn unless(complaints: &[String], praise: &str) -> Self {
        match complaints {
            [] => Self::full(praise),
            complaints => Self::none(complaints.join("; ")),
        }
    }
}

impl MetricError {
    /// Returns the reason as text.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Task(story) | Self::Raised(story) => story,
        }
    }
}

/// Computes the metric of this name.
pub(super) fn mark(name: &str, case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let metric = named(name).ok_or_else(|| MetricError::Task(format!("unknown metric {name:?}")))?;
    match metric.run(case) {
        Err(MetricError::Raised(why)) if !case.reproduces_bugs() => Ok(Score::none(why)),
        marked => marked,
    }
}

fn upstream_error(why: impl Into<String>) -> MetricError {
    MetricError::Raised(why.into())
}

fn task_error(why: impl Into<String>) -> MetricError {
    MetricError::Task(why.into())
}

impl<'a> MetricInput<'a> {
    fn reproduces_bugs(&self) -> bool {
        self.reading.reproduces_bugs()
    }

    /// Returns the expected side as a value.
    fn rules(&self) -> Result<&'a Value, MetricError> {
        match self.expected {
            Some(EvidenceValue::Value { value }) => Ok(value),
            Some(EvidenceValue::Files { .. } | EvidenceValue::Absent { .. }) | None => {
                Err(task_error("`expected` must be a rule or another value"))
            }
        }
    }

    /// Returns one entry of the rules.
    fn rule(&self, name: &str) -> Result<&'a Value, MetricError> {
        self.rules()?.get(name).ok_or_else(|| task_error(format!("`expected` has no rule {name:?}")))
    }

    /// Returns one entry of the rules as a string.
    fn rule_str(&self, name: &str) -> Result<&'a str, MetricError> {
        self.rule(name)?.as_str().ok_or_else(|| task_error(format!("rule {name:?} must be a string")))
    }

    /// Returns whether an option is truthy in Python's sense.
    fn option(&self, name: &str, default: bool) -> bool {
        self.options.get(name).map_or(default, crate::setup::is_truthy)
    }

    /// Returns the result as a value; upstream's `None` is `null`.
    fn found(&self) -> Result<&'a Value, MetricError> {
        match self.result {
            EvidenceValue::Value { value } => Ok(value),
            EvidenceValue::Absent { .. } => Ok(&Value::Null),
            EvidenceValue::Files { .. } => {
                Err(task_error("the metric takes a value, but the result is a file"))
            }
        }
    }

    /// Returns the result as a value, or the score of an absent one.
    fn value(&self) -> Result<Result<&'a Value, Score>, MetricError> {
        match (self.found()?, self.result) {
            (Value::Null, EvidenceValue::Absent { why }) => Ok(Err(Score::none(why.clone()))),
            (Value::Null, _) => Ok(Err(Score::none("there is no result"))),
            (value, _) => Ok(Ok(value)),
        }
    }

    /// Returns the result as a value, where upstream raises for an absent one.
    fn require_value(&self) -> Result<&'a Value, MetricError> {
        self.value()?.map_err(|mark| upstream_error(mark.explanation))
    }

    /// Returns the result as a string, where upstream raises for anything else.
    fn require_str(&self) -> Result<&'a str, MetricError> {
        self.require_value()?.as_str().ok_or_else(|| upstream_error("the result is not a string"))
    }

    /// Returns the result as one file, or the score of an absent one.
    fn file(&self) -> Result<Result<&'a FileRef, Score>, MetricError> {
        file(self.result)
    }

    /// Returns the result as one file, where upstream raises for an absent one.
    fn require_file(&self) -> Result<&'a FileRef, MetricError> {
        self.file()?.map_err(|mark| upstream_error(mark.explanation))
    }

    /// Returns the expected side as one file.
    fn expected_file(&self) -> Result<&'a FileRef, MetricError> {
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

/// Formats a value for an explanation, truncated to 160 characters.
fn show(value: &Value) -> String {
    cut(&value.to_string())
}

/// Quotes a text for an explanation, truncated to 160 characters.
fn quote(text: &str) -> String {
    cut(&format!("{text:?}"))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= 160 {
        text.to_owned()
    } else {
        text.chars().take(159).chain(['…']).collect()
    }
}

/// Returns a list from the rules. A missing one is empty; a value of another type is an error of the task.
fn entries<'a>(rules: &'a Value, name: &str) -> Result<&'a [Value], MetricError> {
    let rules = rules.as_object().ok_or_else(|| task_error("`expected` must be an object of rules"))?;
    match rules.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(task_error(format!("rule {name:?} must be a list"))),
    }
}

/// Returns the entries of a required list of strings, so that no check passes because its rule is missing.
fn texts<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, MetricError> {
    if rules.get(name).is_none() {
        return Err(task_error(format!("`expected` has no rule {name:?}")));
    }
    optional_strings(rules, name)
}

/// Returns the entries of a list of strings; a missing list is empty.
fn optional_strings<'a>(rules: &'a Value, name: &str) -> Result<Vec<&'a str>, MetricError> {
    let bad = || task_error(format!("rule {name:?} must be a list of strings"));
    entries(rules, name)?.iter().map(|item| item.as_str().ok_or_else(bad)).collect()
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
