//! Metrics of JSON and YAML.

use serde_json::{Map, Value};

use super::text;
use crate::comparison::value;
use crate::evidence::FileRef;
use crate::python;
use crate::readers::{json, yaml};
use crate::scoring::{MetricError, MetricInput, Score, entries, show, task_error, upstream_error};

/// The placeholder in OSWorld's tasks for a value that could not be computed from a live site.
const EVALUATION_FAILED: &str = "__EVALUATION_FAILED__";
const ANY_ORDER: &str = "ignore_list_order";

pub(super) fn direct_json_object(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let wanted = rules.get("expected").and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| task_error("rule \"expected\" must be an object"))?;
    let found = match case.value()? {
        Ok(Value::String(text)) => json::read(text.trim().replace('\'', "\"").as_bytes())
            .map_err(|error| upstream_error(format!("the result is not JSON: {error}")))?,
        Ok(found) => found.clone(),
        Err(mark) => return Ok(mark),
    };
    if wanted.values().any(|value| value == EVALUATION_FAILED) {
        return Ok(Score::none("the expected value could not be computed"));
    }
    let Some(found) = found.as_object() else { return Ok(Score::none("the result is not an object")) };
    if rules.get("expect_in_result").is_some_and(crate::scoring::is_truthy) {
        return Ok(all_inside(found, wanted));
    }
    let any_order = wanted.get(ANY_ORDER).is_some_and(crate::scoring::is_truthy);
    let mut complaints = Vec::new();
    // Upstream treats the flag as an expected entry, which no result can satisfy.
    for (key, wanted) in wanted.iter().filter(|(key, _)| case.reproduces_bugs() || *key != ANY_ORDER) {
        let found = found.get(key).unwrap_or(&Value::Null);
        let same = if any_order { same_sorted(found, wanted) } else { value::equal(found, wanted) };
        if !same {
            complaints.push(format!("{key} is {} instead of {}", show(found), show(wanted)));
        }
    }
    Ok(Score::unless(&complaints, "every expected entry is there"))
}

fn same_sorted(found: &Value, wanted: &Value) -> bool {
    let sorted = |value: &Value| {
        let mut list = value.as_array()?.clone();
        list.sort_by(|a, b| value::order(a, b).unwrap_or(std::cmp::Ordering::Equal));
        Some(Value::Array(list))
    };
    sorted(found).zip(sorted(wanted)).is_some_and(|(found, wanted)| value::equal(&found, &wanted))
}

fn all_inside(found: &Map<String, Value>, wanted: &Map<String, Value>) -> Score {
    let mut complaints = Vec::new();
    for (key, wanted) in wanted {
        let found = found.get(key).unwrap_or(&Value::Null);
        let inside = match (found, wanted) {
            (Value::Array(_), Value::Array(any)) => any.iter().any(|one| text::holds(found, one) == Ok(true)),
            (Value::String(_), Value::Array(any)) => any.iter().any(|one| value::equal(one, found)),
            (found, Value::String(_)) => text::holds(found, wanted) == Ok(true),
            _ => false,
        };
        if !inside {
            complaints.push(format!("{key} is {}, which contains none of {}", show(found), show(wanted)));
        }
    }
    Score::unless(&complaints, "every expected entry is there")
}

pub(super) fn check_json(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let read = if case.option("is_yaml", false) {
        python::text(file)
            .map_err(|fault| fault.message().to_owned())
            .and_then(|text| yaml::read(text.trim_start_matches('\u{feff}')))
    } else {
        json::read(&file.bytes)
    };
    let found = match read {
        Ok(found) => found,
        Err(error) => return Ok(Score::none(format!("{} cannot be parsed: {error}", file.name))),
    };
    if found.is_null() && case.option("is_yaml", false) {
        return Ok(Score::none(format!("{} is empty", file.name)));
    }
    let wanted = entries(rules, "expect")?.iter().map(|rule| (rule, true));
    let barred = entries(rules, "unexpect")?.iter().map(|rule| (rule, false));
    let mut complaints = Vec::new();
    for (rule, wanted) in wanted.chain(barred) {
        let path = rule.get("key").and_then(Value::as_array);
        let path = path.ok_or_else(|| task_error("a rule needs the list \"key\""))?;
        let at = value::at(&found, path);
        let (fits, told) = match at {
            Some(value) => (value::fits(value, rule), show(value)),
            None if wanted => (Ok(false), "missing".to_owned()),
            // Upstream raises on a list that is too short, even if the rule says that the value must be absent.
            None if case.reproduces_bugs() && value::index_out_of_range(&found, path) => {
                (Err(upstream_error("the list is too short")), "missing".to_owned())
            }
            None => (value::fits(&Value::Null, rule), "missing".to_owned()),
        };
        let right = match fits {
            Ok(fits) => fits == wanted,
            // An impossible comparison fails the check upstream, for `expect` and `unexpect` alike.
            Err(MetricError::Raised(_)) => false,
            // So does an unknown method, although that is an error of the task.
            Err(MetricError::Task(_)) if case.reproduces_bugs() => false,
            Err(fault) => return Err(fault),
        };
        if !right {
            let not = if wanted { "" } else { "not " };
            let rule = format!("{} {}", rule["method"].as_str().unwrap_or_default(), show(&rule["ref"]));
            complaints.push(format!("{} is {told}, but should {not}be {rule}", show(&path.clone().into())));
        }
    }
    Ok(Score::unless(&complaints, "every rule holds"))
}

pub(super) fn json_settings(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("expected")?.as_object();
    let wanted = wanted.ok_or_else(|| task_error("rule \"expected\" must be an object"))?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let found: Value = match json::read(&file.bytes) {
        Ok(found) => found,
        Err(error) => return Ok(Score::none(format!("{} is not JSON: {error}", file.name))),
    };
    Ok(has_entries(&found, wanted))
}

fn has_entries(found: &Value, wanted: &Map<String, Value>) -> Score {
    let complaints: Vec<String> = wanted
        .iter()
        .filter(|(key, wanted)| !found.get(*key).is_some_and(|found| value::equal(found, wanted)))
        .map(|(key, wanted)| match found.get(key) {
            Some(found) => format!("{key} is {} instead of {}", show(found), show(wanted)),
            None => format!("{key} is absent instead of {}", show(wanted)),
        })
        .collect();
    Score::unless(&complaints, "every expected entry is there")
}

/// Passes if the expected file contains every entry of the result file. As upstream, the first argument is the
/// standard.
pub(super) fn includes_all(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let standard = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let read = |file: &FileRef| -> Result<Value, MetricError> {
        json::read(&file.bytes).map_err(|error| upstream_error(format!("{} is not JSON: {error}", file.name)))
    };
    let (standard, found) = (read(standard)?, read(case.expected_file()?)?);
    let standard = standard.as_object().ok_or_else(|| upstream_error("the standard is not an object"))?;
    Ok(has_entries(&found, standard))
}

/// Passes if a list of key bindings, possibly below a comment line, contains the expected one.
pub(super) fn json_keybindings(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("expected")?;
    let text = match case.file()?.map(python::text) {
        Ok(Ok(text)) => text,
        Ok(Err(fault)) => return Ok(Score::none(fault.message())),
        Err(mark) => return Ok(mark),
    };
    let below = text.split_once('\n').map_or("", |(_, below)| below);
    let list: Option<Vec<Value>> = json::read(text.as_bytes()).or_else(|_| json::read(below.as_bytes())).ok();
    let Some(list) = list else { return Ok(Score::none("the file is not a JSON list")) };
    let holds = list.iter().any(|one| value::equal(one, wanted));
    Ok(Score::of(holds, format!("binding {} is {}", show(wanted), if holds { "there" } else { "missing" })))
}

/// Passes if the file equals the expected text. The fixed mode follows upstream since 2026: the expected text may also
/// be contained in the object or text, unless `containment_ok` is off.
pub(super) fn compare_config(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule_str("expected")?;
    let found = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let read = |text: &str| json::read::<Value>(text.as_bytes()).ok();
    let passed = match (read(&found).zip(read(wanted)), case.option("containment_ok", true)) {
        _ if found == wanted => true,
        _ if case.reproduces_bugs() => false,
        (Some((found, wanted)), true) => is_part(&wanted, &found),
        (Some((found, wanted)), false) => value::equal(&found, &wanted),
        (None, true) => found.contains(wanted),
        (None, false) => false,
    };
    let word = if passed { "is as" } else { "is not as" };
    Ok(Score::of(passed, format!("the configuration {word} expected: {}", show(&wanted.into()))))
}

fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| is_part(part, whole)))
        }
        (part, whole) => value::equal(part, whole),
    }
}
