//! The outcome of a metric: a score with its explanation, or the reason for none.

use serde_json::Value;

use crate::evidence::AnswerQuestion;

/// Why a check is void whose answer no model has compared.
const NO_JUDGE: &str = "\"fuzzy_match\": a model must judge whether the answer means the reference: name one with --judge MODEL \
                        or in role.judge";

/// A score and its explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// From 0 to 1.
    pub score: f64,
    /// The differences found, or a note that there are none.
    pub explanation: String,
}

/// The reason why a metric has no score.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricError {
    /// An invalid task file, an unimplemented feature, or an exhausted budget: never the model's failure.
    Task(String),
    /// Only a model can tell, and none was asked.
    Unjudged(Box<AnswerQuestion>),
    /// The result is malformed, so that upstream raises an exception.
    Raised(String),
}

impl Score {
    /// Returns a full score or zero.
    pub fn of(passed: bool, explanation: impl Into<String>) -> Self {
        Self { score: f64::from(u8::from(passed)), explanation: explanation.into() }
    }

    pub(crate) fn none(explanation: impl Into<String>) -> Self {
        Self::of(false, explanation)
    }

    pub(crate) fn full(explanation: impl Into<String>) -> Self {
        Self::of(true, explanation)
    }

    /// Returns a full score if there are no complaints, else zero.
    pub(crate) fn unless(complaints: &[String], praise: &str) -> Self {
        match complaints {
            [] => Self::full(praise),
            complaints => Self::none(complaints.join("; ")),
        }
    }
}

impl MetricError {
    /// Returns the reason as text.
    pub fn message(&self) -> &str {
        match self {
            Self::Task(text) | Self::Raised(text) => text,
            Self::Unjudged(_) => NO_JUDGE,
        }
    }
}

/// Returns the error of a result for which upstream raises an exception.
pub(crate) fn upstream_error(why: impl Into<String>) -> MetricError {
    MetricError::Raised(why.into())
}

/// Returns the error of a task file that the metric cannot read.
pub(crate) fn task_error(why: impl Into<String>) -> MetricError {
    MetricError::Task(why.into())
}

/// Formats a value for an explanation, truncated to 160 characters.
pub(crate) fn show(value: &Value) -> String {
    cut(&value.to_string())
}

/// Quotes a text for an explanation, truncated to 160 characters.
pub(crate) fn quote(text: &str) -> String {
    cut(&format!("{text:?}"))
}

/// Says what was found instead of what was expected. Of long texts it shows where they part.
pub(crate) fn difference(found: &Value, wanted: &Value) -> String {
    let (found, wanted) = (found.to_string(), wanted.to_string());
    let alike = found.chars().zip(wanted.chars()).take_while(|(one, other)| one == other).count();
    if alike <= SHOWN / 2 || found.chars().count().max(wanted.chars().count()) <= SHOWN {
        return format!("found {} instead of {}", cut(&found), cut(&wanted));
    }
    let skipped = alike - BEFORE_DIFFERENCE;
    let from = |text: &str| cut(&text.chars().skip(skipped).collect::<String>());
    format!("after {alike} equal characters, found …{} instead of …{}", from(&found), from(&wanted))
}

/// The length of a value in an explanation, in characters.
const SHOWN: usize = 160;

/// What is shown of two long texts before they part, in characters.
const BEFORE_DIFFERENCE: usize = 20;

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        text.to_owned()
    } else {
        text.chars().take(SHOWN - 1).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::difference;

    #[test]
    fn long_texts_are_shown_where_they_part() {
        assert_eq!(difference(&json!("a"), &json!("b")), r#"found "a" instead of "b""#);
        let long = "0123456789".repeat(30);
        let told = difference(&json!(format!("{long}end")), &json!(format!("{long}other end")));
        assert_eq!(
            told,
            "after 301 equal characters, found …01234567890123456789end\" instead of …01234567890123456789other end\""
        );
        let early = difference(&json!(format!("x{long}")), &json!(format!("y{long}")));
        assert!(early.starts_with("found \"x0123") && early.contains(" instead of \"y0123"), "{early}");
    }
}
