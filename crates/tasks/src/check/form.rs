//! Whether a check's lists fit each other. One whose lists do not is a broken task: it is void whatever was found and
//! however the attempt ended, and no metric is called with what was meant for another.

use serde_json::Value;

use super::evidence::Evidence;
use super::metric::Compat;
use crate::suite::task::{CheckSpec, OneOrMany};

/// When upstream comes upon it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// As the task is loaded: there is no score, not even for giving up.
    Loading(String),
    /// As it is graded, which giving up comes before.
    Grading(String),
}

/// What does not fit in a check, if anything.
pub(super) fn misfit(spec: &CheckSpec, evidence: &Evidence, compat: Compat) -> Option<Misfit> {
    let (results, expected) = (evidence.results.len(), evidence.expected.len());
    match &spec.func {
        OneOrMany::One(_) => single(spec, results),
        OneOrMany::Many(list) => several(spec, list.len(), (results, expected), compat),
    }
}

/// Nothing to get or to pass: upstream takes empty lists and objects for a field that is not there.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn single(spec: &CheckSpec, results: usize) -> Option<Misfit> {
    let lists =
        |field: &Option<OneOrMany<Value>>| matches!(field, Some(OneOrMany::Many(list)) if !list.is_empty());
    let why = if results == 0 {
        "it says no result to look at"
    } else if lists(&spec.result) {
        "result is a list, and func names one metric: let both be lists or neither"
    } else if lists(&spec.expected) {
        "expected is a list, and func names one metric: let both be lists or neither"
    } else if matches!(spec.options, Some(OneOrMany::Many(_))) {
        "options is a list, and func names one metric: let both be lists or neither"
    } else {
        return None;
    };
    Some(Misfit::Grading(why.into()))
}

fn several(
    spec: &CheckSpec,
    metrics: usize,
    (results, expected): (usize, usize),
    compat: Compat,
) -> Option<Misfit> {
    for (name, field, found) in [("result", &spec.result, results), ("expected", &spec.expected, expected)] {
        match field {
            Some(OneOrMany::One(one)) if !is_nothing(one) => {
                return Some(Misfit::Loading(format!("func is a list, and {name} is none")));
            }
            _ if found != 0 && found != metrics && !is_absent(field.as_ref()) => {
                return Some(Misfit::Loading(uneven(name, found, metrics)));
            }
            _ => {}
        }
    }
    match &spec.options {
        Some(OneOrMany::Many(list)) if list.len() != metrics => {
            return Some(Misfit::Loading(uneven("options", list.len(), metrics)));
        }
        // Upstream looks in the object for the metric's number; here it is meant for each.
        Some(OneOrMany::One(Value::Object(fields))) if compat == Compat::Exact => {
            let why = "func is a list, and options is none".to_owned();
            let misfit = if fields.len() == metrics { Misfit::Grading(why) } else { Misfit::Loading(why) };
            return Some(misfit);
        }
        Some(OneOrMany::Many(_) | OneOrMany::One(_)) | None => {}
    }
    if metrics == 0 || results == 0 {
        return Some(Misfit::Grading("it names no metric, or no result to look at".into()));
    }
    None
}

/// Whether upstream takes a field for one that is not there.
fn is_absent(field: Option<&OneOrMany<Value>>) -> bool {
    match field {
        None => false,
        Some(OneOrMany::One(one)) => is_nothing(one),
        Some(OneOrMany::Many(list)) => list.is_empty(),
    }
}

fn uneven(name: &str, found: usize, metrics: usize) -> String {
    format!(
        "{name} has {found} entries for {metrics} metrics: let each metric have one, null where it needs none"
    )
}
