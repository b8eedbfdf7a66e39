//! Validates that the lists of a check (`func`, `result`, `expected`, `options`) match. A task with mismatched lists is
//! broken: its attempts are void for any evidence and ending, so that no metric gets another metric's arguments.

use apprentice_metrics::{Compat, Evidence};
use serde_json::Value;

use crate::task::{CheckSpec, OneOrMany};

/// A mismatch, by the moment at which upstream's evaluator fails on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShapeError {
    /// While the task is loaded: no attempt gets a score, not even one that gives up.
    AtLoading(String),
    /// While the attempt is graded: an attempt that gave up is scored before that.
    AtGrading(String),
}

/// Returns the first mismatch in a check, if any.
pub(super) fn shape_error(spec: &CheckSpec, evidence: &Evidence, compat: Compat) -> Option<ShapeError> {
    let (results, expected) = (evidence.results.len(), evidence.expected.len());
    match &spec.func {
        OneOrMany::One(_) => single(spec, results),
        OneOrMany::Many(list) => {
            several(spec, &ListLengths { metrics: list.len(), results, expected }, compat)
        }
    }
}

/// Returns whether a getter or options value is empty. Upstream treats empty objects as a missing field.
pub(super) fn is_empty_spec(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn single(spec: &CheckSpec, results: usize) -> Option<ShapeError> {
    let lists =
        |field: &Option<OneOrMany<Value>>| matches!(field, Some(OneOrMany::Many(list)) if !list.is_empty());
    let why = if results == 0 {
        "the check has no `result` getter"
    } else if lists(&spec.result) {
        "result is a list, but func names one metric: make both lists or neither"
    } else if lists(&spec.expected) {
        "expected is a list, but func names one metric: make both lists or neither"
    } else if matches!(spec.options, Some(OneOrMany::Many(_))) {
        "options is a list, but func names one metric: make both lists or neither"
    } else {
        return None;
    };
    Some(ShapeError::AtGrading(why.into()))
}

/// The lengths of the lists of a check with several metrics.
struct ListLengths {
    metrics: usize,
    results: usize,
    expected: usize,
}

fn several(spec: &CheckSpec, lengths: &ListLengths, compat: Compat) -> Option<ShapeError> {
    let ListLengths { metrics, results, expected } = *lengths;
    for (name, field, found) in [("result", &spec.result, results), ("expected", &spec.expected, expected)] {
        match field {
            Some(OneOrMany::One(one)) if !is_empty_spec(one) => {
                return Some(ShapeError::AtLoading(format!("func is a list, but {name} is not")));
            }
            _ if found != 0 && found != metrics && !is_absent(field.as_ref()) => {
                return Some(ShapeError::AtLoading(length_mismatch(name, found, metrics)));
            }
            _ => {}
        }
    }
    match &spec.options {
        Some(OneOrMany::Many(list)) if list.len() != metrics => {
            return Some(ShapeError::AtLoading(length_mismatch("options", list.len(), metrics)));
        }
        // Upstream indexes the object by the metric's number. HostCapabilities the one object applies to every metric.
        Some(OneOrMany::One(Value::Object(fields))) if compat == Compat::Exact => {
            let why = "func is a list, but options is not".to_owned();
            let misfit =
                if fields.len() == metrics { ShapeError::AtGrading(why) } else { ShapeError::AtLoading(why) };
            return Some(misfit);
        }
        Some(OneOrMany::Many(_) | OneOrMany::One(_)) | None => {}
    }
    if metrics == 0 || results == 0 {
        return Some(ShapeError::AtGrading("the check names no metric or has no `result` getter".into()));
    }
    None
}

/// Returns whether upstream treats a field as missing.
fn is_absent(field: Option<&OneOrMany<Value>>) -> bool {
    match field {
        None => false,
        Some(OneOrMany::One(one)) => is_empty_spec(one),
        Some(OneOrMany::Many(list)) => list.is_empty(),
    }
}

fn length_mismatch(name: &str, found: usize, metrics: usize) -> String {
    format!(
        "{name} has {found} entries for {metrics} metrics: give each metric one entry, null where it needs none"
    )
}
