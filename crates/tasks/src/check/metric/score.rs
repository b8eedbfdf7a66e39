//! The outcome of a metric: a score with its explanation, or the reason for none.

use serde_json::Value;

/// A score and its explanation.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::check) struct Score {
    pub(in crate::check) score: f64,
    pub(in crate::check) explanation: String,
}

/// The reason why a metric has no score.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::check) enum MetricError {
    /// An invalid task file, an unimplemented feature, or an exhausted budget: never the model's failure.
    Task(String),
    /// The result is malformed, so that upstream raises an exception.
    Raised(String),
}

impl Score {
    pub(in crate::check) fn of(passed: bool, explanation: impl Into<String>) -> Self {
        Self { score: f64::from(u8::from(passed)), explanation: explanation.into() }
    }

    pub(super) fn none(explanation: impl Into<String>) -> Self {
        Self::of(false, explanation)
    }

    pub(super) fn full(explanation: impl Into<String>) -> Self {
        Self::of(true, explanation)
    }

    /// Returns a full score if there are no complaints, else zero.
    pub(super) fn unless(complaints: &[String], praise: &str) -> Self {
        match complaints {
            [] => Self::full(praise),
            complaints => Self::none(complaints.join("; ")),
        }
    }
}

impl MetricError {
    /// Returns the reason as text.
    pub(in crate::check) fn message(&self) -> &str {
        match self {
            Self::Task(text) | Self::Raised(text) => text,
        }
    }
}

/// Returns the error of a result for which upstream raises an exception.
pub(super) fn upstream_error(why: impl Into<String>) -> MetricError {
    MetricError::Raised(why.into())
}

/// Returns the error of a task file that the metric cannot read.
pub(super) fn task_error(why: impl Into<String>) -> MetricError {
    MetricError::Task(why.into())
}

/// Formats a value for an explanation, truncated to 160 characters.
pub(super) fn show(value: &Value) -> String {
    cut(&value.to_string())
}

/// Quotes a text for an explanation, truncated to 160 characters.
pub(super) fn quote(text: &str) -> String {
    cut(&format!("{text:?}"))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= 160 {
        text.to_owned()
    } else {
        text.chars().take(159).chain(['…']).collect()
    }
}
