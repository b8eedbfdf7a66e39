//! Equality, ordering and rules of JSON values with Python's semantics.

use std::cmp::Ordering;

use serde_json::Value;

use crate::python::pattern::Flags;
use crate::python::{self, Pattern};
use crate::readers::cell_ref::Ranges;
use crate::scoring::{MetricError, show, task_error, upstream_error};

/// Returns whether two values are equal; `1`, `1.0` and `true` are the same.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        (Some(_), None) | (None, Some(_)) => false,
        (None, None) => match (a, b) {
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
            }
            (a, b) => a == b,
        },
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Number(number) => number.as_f64(),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the value at a path of keys and indices; negative indices count from the end.
pub(crate) fn at<'a>(value: &'a Value, path: &[Value]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match (key, value) {
        (Value::String(name), value) => value.get(name),
        (Value::Number(index), Value::Array(list)) => {
            let index = index.as_i64()?;
            let place = if index < 0 { index + i64::try_from(list.len()).ok()? } else { index };
            list.get(usize::try_from(place).ok()?)
        }
        _ => None,
    })
}

/// Returns whether a path fails at a list index that is out of range.
pub(crate) fn index_out_of_range(value: &Value, path: &[Value]) -> bool {
    let ends = |long: usize| {
        let list = at(value, &path[..long]).is_some_and(Value::is_array);
        list && path[long].is_number() && at(value, &path[..=long]).is_none()
    };
    (0..path.len()).any(ends)
}

/// Orders two values; `None` if they cannot be compared.
pub(crate) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Array(a), Value::Array(b)) => {
            let differs = a.iter().zip(b).find(|(a, b)| !equal(a, b));
            differs.map_or(Some(a.len().cmp(&b.len())), |(a, b)| order(a, b))
        }
        _ => number(a)?.partial_cmp(&number(b)?),
    }
}

/// Returns whether a value satisfies a rule `{method, ref}`.
pub(crate) fn fits(value: &Value, rule: &Value) -> Result<bool, MetricError> {
    let method = rule.get("method").and_then(Value::as_str);
    let method = method.ok_or_else(|| task_error(format!("rule {} has no method", show(rule))))?;
    let reference = rule.get("ref").unwrap_or(&Value::Null);
    if let Some(flags) = method.strip_prefix("re") {
        return fits_pattern(value, reference, flags);
    }
    if let Some(tolerance) = method.strip_prefix("approx:") {
        let tolerance =
            python::float(tolerance).ok_or_else(|| task_error(format!("{method:?} has no number")))?;
        let wanted =
            number(reference).ok_or_else(|| task_error(format!("{} is not a number", show(reference))))?;
        let found = number(value).or_else(|| python::float(value.as_str()?));
        return Ok(found.is_some_and(|found| (found - wanted).abs() <= tolerance));
    }
    if let Some(bounds) = method.strip_prefix("range.") {
        return fits_range(value, reference, bounds);
    }
    let ordered = || {
        order(value, reference).ok_or_else(|| {
            upstream_error(format!("{} and {} cannot be compared", show(value), show(reference)))
        })
    };
    Ok(match method {
        "eq" => equal(value, reference),
        "ne" => !equal(value, reference),
        "le" => ordered()?.is_le(),
        "lt" => ordered()?.is_lt(),
        "ge" => ordered()?.is_ge(),
        "gt" => ordered()?.is_gt(),
        "str_list_eq" | "str_set_eq" => same_words(value, reference, method)?,
        "spreadsheet_range" => within_ranges(value, reference)?,
        other => return Err(task_error(format!("unknown rule method {other:?}"))),
    })
}

fn fits_pattern(value: &Value, reference: &Value, flags: &str) -> Result<bool, MetricError> {
    let text = value.as_str().ok_or_else(|| upstream_error(format!("{} is not a string", show(value))))?;
    let source = reference
        .as_str()
        .ok_or_else(|| task_error(format!("pattern {} is not a string", show(reference))))?;
    let mut chosen = Flags::default();
    for flag in flags.split(['.', '|']).filter(|flag| !flag.is_empty()) {
        match flag {
            "I" | "IGNORECASE" => chosen.ignore_case = true,
            "M" | "MULTILINE" => chosen.multi_line = true,
            "S" | "DOTALL" => chosen.dot_all = true,
            "X" | "VERBOSE" => chosen.verbose = true,
            "U" | "UNICODE" | "A" | "ASCII" | "FLAGS" => {}
            other => return Err(task_error(format!("unknown pattern flag {other:?}"))),
        }
    }
    Pattern::with(source, chosen)?.is_in(text)
}

fn fits_range(value: &Value, reference: &Value, bounds: &str) -> Result<bool, MetricError> {
    let bad =
        || task_error(format!("range.{bounds} needs two limits, and bounds e (inclusive) or t (exclusive)"));
    let limits = reference.as_array().filter(|list| list.len() == 2).ok_or_else(bad)?;
    let within = |kind: Option<char>, low: &Value, high: &Value| -> Result<bool, MetricError> {
        let incomparable = || upstream_error(format!("{} and {} cannot be compared", show(low), show(high)));
        let order = order(low, high).ok_or_else(incomparable)?;
        match kind {
            Some('e') => Ok(order.is_le()),
            Some('t') => Ok(order.is_lt()),
            _ => Err(bad()),
        }
    };
    let mut bounds = bounds.chars();
    Ok(within(bounds.next(), &limits[0], value)? && within(bounds.next(), value, &limits[1])?)
}

fn same_words(value: &Value, reference: &Value, method: &str) -> Result<bool, MetricError> {
    let text = value.as_str().ok_or_else(|| upstream_error(format!("{} is not a string", show(value))))?;
    let mut words: Vec<&str> = text.trim_matches(['"', '\'']).split(',').collect();
    let mut wanted: Vec<&str> =
        reference.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if method == "str_set_eq" {
        for list in [&mut words, &mut wanted] {
            list.sort_unstable();
            list.dedup();
        }
    }
    Ok(words == wanted)
}

/// Returns whether a set of cells contains the rule's first range and lies within the second.
fn within_ranges(value: &Value, reference: &Value) -> Result<bool, MetricError> {
    let bad = || task_error(format!("{} is not a pair of ranges", show(reference)));
    let ranges = |value: Option<&Value>| value.and_then(Value::as_str).and_then(Ranges::parse);
    let (low, high) = (ranges(reference.get(0)).ok_or_else(bad)?, ranges(reference.get(1)).ok_or_else(bad)?);
    let found =
        ranges(Some(value)).ok_or_else(|| upstream_error(format!("{} is not a range", show(value))))?;
    Ok(found.holds(&low) && high.holds(&found))
}
