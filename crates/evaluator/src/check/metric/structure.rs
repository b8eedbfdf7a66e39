//! Metrics of JSON.

use serde_json::{Map, Value};

use super::{Case, Fault, FileRef, Mark, show, value};

/// The value that upstream's tasks put where a live site could not be read.
const EVALUATION_FAILED: &str = "__EVALUATION_FAILED__";

pub(super) fn direct_json_object(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = case.rules()?;
    let wanted = rules.get("expected").and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| Fault("rule \"expected\" must be an object".into()))?;
    let found = match case.value()? {
        Ok(Value::String(text)) => match serde_json::from_str::<Value>(&text.trim().replace('\'', "\"")) {
            Ok(found) => found,
            Err(error) => return Ok(Mark::none(format!("the result is not JSON: {error}"))),
        },
        Ok(found) => found.clone(),
        Err(mark) => return Ok(mark),
    };
    if wanted.values().any(|value| value == EVALUATION_FAILED) {
        return Ok(Mark::none("the expected value could not be computed"));
    }
    let inside = rules.get("expect_in_result").is_some_and(crate::setup::is_true);
    let any_order = wanted.get("ignore_list_order").is_some_and(crate::setup::is_true);
    let mut complaints = Vec::new();
    for (key, wanted) in wanted.iter().filter(|(key, _)| *key != "ignore_list_order") {
        let found = found.get(key).unwrap_or(&Value::Null);
        let fits = if inside { is_inside(found, wanted) } else { same(found, wanted, any_order) };
        if !fits {
            complaints.push(format!("{key} is {} instead of {}", show(found), show(wanted)));
        }
    }
    Ok(Mark::unless(&complaints, "every expected entry is there"))
}

fn same(found: &Value, wanted: &Value, any_order: bool) -> bool {
    match (found, wanted) {
        (Value::Array(found), Value::Array(wanted)) if any_order => {
            let sorted = |list: &[Value]| {
                let mut texts: Vec<String> = list.iter().map(Value::to_string).collect();
                texts.sort();
                texts
            };
            sorted(found) == sorted(wanted)
        }
        (found, wanted) => value::equal(found, wanted),
    }
}

fn is_inside(found: &Value, wanted: &Value) -> bool {
    let holds = |part: &Value| match found {
        Value::String(text) => part.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(list) => list.iter().any(|one| value::equal(one, part)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value::equal(found, part),
    };
    match wanted {
        Value::Array(parts) => parts.iter().any(holds),
        Value::String(_) => holds(wanted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

pub(super) fn check_json(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = case.rules()?;
    if case.option("is_yaml", false) {
        return Err(Fault("YAML is not supported".into()));
    }
    let found = match case.file()? {
        Ok(file) => match read(file) {
            Ok(found) => found,
            Err(mark) => return Ok(mark),
        },
        Err(mark) => return Ok(mark),
    };
    let list = |name: &str| rules.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut complaints = Vec::new();
    for (rule, wanted) in list("expect")
        .iter()
        .map(|rule| (rule, true))
        .chain(list("unexpect").iter().map(|rule| (rule, false)))
    {
        let path = rule.get("key").and_then(Value::as_array);
        let path = path.ok_or_else(|| Fault("a rule needs \"key\", a list".into()))?;
        let at = value::at(&found, path);
        let fits = at.map_or(Ok(false), |at| value::fits(at, rule))?;
        if fits != wanted {
            let found = at.map_or_else(|| "missing".to_owned(), show);
            let not = if wanted { "" } else { "not " };
            let rule = format!("{} {}", rule["method"].as_str().unwrap_or_default(), show(&rule["ref"]));
            complaints.push(format!("{} is {found}, should {not}be {rule}", show(&path.clone().into())));
        }
    }
    Ok(Mark::unless(&complaints, "every rule holds"))
}

pub(super) fn json_settings(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted = case.rule("expected")?.as_object();
    let wanted = wanted.ok_or_else(|| Fault("rule \"expected\" must be an object".into()))?;
    let found = match case.file()? {
        Ok(file) => match read(file) {
            Ok(found) => found,
            Err(mark) => return Ok(mark),
        },
        Err(mark) => return Ok(mark),
    };
    let complaints: Vec<String> = wanted
        .iter()
        .filter(|(key, wanted)| !found.get(*key).is_some_and(|found| value::equal(found, wanted)))
        .map(|(key, wanted)| format!("{key} is {} instead of {}", show(&found[key]), show(wanted)))
        .collect();
    Ok(Mark::unless(&complaints, "every expected setting is there"))
}

/// A list of key bindings, possibly below a line of comment.
pub(super) fn json_keybindings(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted = case.rule("expected")?;
    let text = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let below = text.split_once('\n').map_or("", |(_, below)| below);
    let list: Option<Vec<Value>> = serde_json::from_str(&text).or_else(|_| serde_json::from_str(below)).ok();
    let Some(list) = list else { return Ok(Mark::none("the file is no JSON list")) };
    let holds = list.iter().any(|one| value::equal(one, wanted));
    Ok(Mark::of(holds, format!("binding {} is {}", show(wanted), if holds { "there" } else { "missing" })))
}

pub(super) fn compare_config(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted =
        case.rule("expected")?.as_str().ok_or_else(|| Fault("rule \"expected\" must be text".into()))?;
    let found = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let both = json(&found).zip(json(wanted));
    let contained = case.option("containment_ok", true);
    let passed = match (&both, contained) {
        (Some((found, wanted)), true) => is_subset(wanted, found),
        (Some((found, wanted)), false) => found == wanted,
        (None, true) => found.contains(wanted),
        (None, false) => found == wanted,
    };
    let word = if passed { "holds" } else { "lacks" };
    Ok(Mark::of(passed, format!("the configuration {word} {}", show(&wanted.into()))))
}

fn is_subset(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => has_all(part, whole),
        (part, whole) => value::equal(part, whole),
    }
}

fn has_all(part: &Map<String, Value>, whole: &Map<String, Value>) -> bool {
    part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| is_subset(part, whole)))
}

/// A file that is not JSON is what the world holds: a mark of nothing, not a fault.
fn read(file: &FileRef) -> Result<Value, Mark> {
    serde_json::from_slice(&file.bytes)
        .map_err(|error| Mark::none(format!("{} is not JSON: {error}", file.name)))
}
