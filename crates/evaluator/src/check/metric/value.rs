//! Equality and rules between JSON values as the task format's birthplace has them.

use regex::RegexBuilder;
use serde_json::Value;

use super::{Fault, pattern, show};

/// Equality in which `1`, `1.0` and `true` are the same.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
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

/// The value at a path of keys and indices.
pub(super) fn at<'a>(value: &'a Value, path: &[Value]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match key {
        Value::String(name) => value.get(name),
        Value::Number(index) => value.get(usize::try_from(index.as_u64()?).ok()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

/// Whether a value fits a rule `{method, ref}`.
pub(super) fn fits(value: &Value, rule: &Value) -> Result<bool, Fault> {
    let method = rule.get("method").and_then(Value::as_str).unwrap_or_default();
    let reference = rule.get("ref").unwrap_or(&Value::Null);
    if let Some(flags) = method.strip_prefix("re") {
        return fits_pattern(value, reference, flags);
    }
    if let Some(tolerance) = method.strip_prefix("approx:") {
        let tolerance: f64 =
            tolerance.parse().map_err(|_| Fault(format!("method {method:?} has no number")))?;
        return Ok(both(value, reference).is_some_and(|(value, wanted)| (value - wanted).abs() <= tolerance));
    }
    if let Some(bounds) = method.strip_prefix("range.") {
        return fits_range(value, reference, bounds);
    }
    Ok(match method {
        "eq" => equal(value, reference),
        "ne" => !equal(value, reference),
        "le" | "lt" | "ge" | "gt" => ordered(value, reference).is_some_and(|order| match method {
            "le" => order.is_le(),
            "lt" => order.is_lt(),
            "ge" => order.is_ge(),
            _ => order.is_gt(),
        }),
        "str_list_eq" | "str_set_eq" => same_words(value, reference, method),
        other => return Err(Fault(format!("rule method {other:?} is not supported"))),
    })
}

fn both(value: &Value, reference: &Value) -> Option<(f64, f64)> {
    let read = |value: &Value| number(value).or_else(|| value.as_str()?.trim().parse().ok());
    Some((read(value)?, read(reference)?))
}

fn ordered(value: &Value, reference: &Value) -> Option<std::cmp::Ordering> {
    match (value, reference) {
        (Value::String(value), Value::String(reference)) => Some(value.cmp(reference)),
        _ => number(value)?.partial_cmp(&number(reference)?),
    }
}

fn fits_pattern(value: &Value, reference: &Value, flags: &str) -> Result<bool, Fault> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let source =
        reference.as_str().ok_or_else(|| Fault(format!("pattern {} is no text", show(reference))))?;
    pattern(source)?;
    let mut builder = RegexBuilder::new(source);
    for flag in flags.split(['.', '|']).filter(|flag| !flag.is_empty()) {
        match flag {
            "I" | "IGNORECASE" => builder.case_insensitive(true),
            "M" | "MULTILINE" => builder.multi_line(true),
            "S" | "DOTALL" => builder.dot_matches_new_line(true),
            "X" | "VERBOSE" => builder.ignore_whitespace(true),
            other => return Err(Fault(format!("pattern flag {other:?} is not supported"))),
        };
    }
    let built = builder.build().map_err(|error| Fault(error.to_string()))?;
    Ok(built.is_match(&text))
}

fn fits_range(value: &Value, reference: &Value, bounds: &str) -> Result<bool, Fault> {
    let wrong = || Fault(format!("range.{bounds} needs two numbers and bounds of e and t"));
    let limits = reference.as_array().filter(|list| list.len() == 2).ok_or_else(wrong)?;
    let (low, high) = (number(&limits[0]).ok_or_else(wrong)?, number(&limits[1]).ok_or_else(wrong)?);
    let Some((value, _)) = both(value, &limits[0]) else { return Ok(false) };
    let mut bounds = bounds.chars();
    let above = match bounds.next() {
        Some('e') => value >= low,
        Some('t') => value > low,
        _ => return Err(wrong()),
    };
    let below = match bounds.next() {
        Some('e') => value <= high,
        Some('t') => value < high,
        _ => return Err(wrong()),
    };
    Ok(above && below)
}

fn same_words(value: &Value, reference: &Value, method: &str) -> bool {
    let text = value.as_str().unwrap_or_default().trim_matches(['"', '\'']);
    let mut words: Vec<&str> = text.split(',').map(str::trim).collect();
    let mut wanted: Vec<&str> =
        reference.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if method == "str_set_eq" {
        for list in [&mut words, &mut wanted] {
            list.sort_unstable();
            list.dedup();
        }
    }
    words == wanted
}
