//! Metrics of texts and single values.

use serde_json::Value;

use super::{Case, Fault, Mark, pattern, show, texts, value};

pub(super) fn exact_match(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted = case.rule("expected")?;
    let found = match case.value()? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let same = value::equal(found, wanted);
    let explanation = if same {
        format!("found {}", show(found))
    } else {
        format!("found {} instead of {}", show(found), show(wanted))
    };
    Ok(Mark::of(same, explanation))
}

pub(super) fn literal_match(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let wanted = case.rules()?;
    let fold = |value: &Value| match value.as_str().filter(|_| case.option("ignore_case", false)) {
        Some(text) => Value::from(text.to_lowercase()),
        None => value.clone(),
    };
    let same = match (found, wanted, case.options.get("type").and_then(Value::as_str)) {
        (Value::Array(a), Value::Array(b), Some("list")) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| value::equal(&fold(a), &fold(b)))
        }
        (_, _, Some("list")) => false,
        (found, wanted, Some("str") | None) => value::equal(&fold(found), &fold(wanted)),
        (_, _, Some(other)) => return Err(Fault(format!("option type {other:?} is neither str nor list"))),
    };
    Ok(Mark::of(same, format!("found {}, expected {}", show(found), show(wanted))))
}

pub(super) fn match_in_list(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let wanted = case.rule("expected")?;
    let list = wanted.as_array().ok_or_else(|| Fault("rule \"expected\" must be a list".into()))?;
    let same = list.iter().any(|one| value::equal(found, one));
    Ok(Mark::of(same, format!("found {}, expected one of {}", show(found), show(wanted))))
}

pub(super) fn is_in_list(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let wanted = case.rule("expected")?;
    let holds = match (found, wanted) {
        (Value::Array(list), wanted) => list.iter().any(|one| value::equal(one, wanted)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        _ => return Err(Fault("the result must be a list or a text".into())),
    };
    Ok(Mark::of(
        holds,
        format!("found {}, which {} {}", show(found), if holds { "holds" } else { "lacks" }, show(wanted)),
    ))
}

pub(super) fn include_exclude(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = case.rules()?;
    let (include, exclude) = (texts(rules, "include")?, texts(rules, "exclude")?);
    let found = match case.value()? {
        Ok(Value::String(text)) => text,
        Ok(_) => return Err(Fault("the result must be text".into())),
        Err(mark) => return Ok(mark),
    };
    let mut complaints = Vec::new();
    complaints.extend(
        include.iter().filter(|part| !found.contains(**part)).map(|part| format!("{part:?} is missing")),
    );
    complaints.extend(
        exclude.iter().filter(|part| found.contains(**part)).map(|part| format!("{part:?} is there")),
    );
    if !complaints.is_empty() {
        complaints.push(format!("in {}", show(&found.as_str().into())));
    }
    Ok(Mark::unless(&complaints, "holds what it must and nothing that it must not"))
}

pub(super) fn compare_text_file(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let wanted = case.expected_file()?.text();
    let fold = |text: String| {
        let text = if case.option("ignore_blanks", false) { blanks_joined(&text) } else { text };
        if case.option("ignore_case", false) { text.to_lowercase() } else { text }
    };
    let (found, wanted) = (fold(found), fold(wanted));
    let differs = found.lines().zip(wanted.lines()).position(|(a, b)| a != b);
    let explanation = match differs {
        _ if found == wanted => "the texts are equal".to_owned(),
        Some(line) => format!("the texts differ from line {}", line + 1),
        None => "one text is longer".to_owned(),
    };
    Ok(Mark::of(found == wanted, explanation))
}

fn blanks_joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn file_contains(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted = texts(case.rules()?, "expected")?;
    let found = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let missing: Vec<String> = wanted
        .iter()
        .filter(|part| !found.contains(**part))
        .map(|part| format!("{part:?} is missing"))
        .collect();
    Ok(Mark::unless(&missing, "the file holds all of it"))
}

/// Counts the lines that hold a time of day.
pub(super) fn line_number(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted = case.rule("expected")?;
    let found = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let time = pattern(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")?;
    let count = found.lines().filter(|line| time.is_match(line)).count();
    let wanted = wanted.as_u64().or_else(|| wanted.as_str()?.parse().ok());
    let wanted = wanted.ok_or_else(|| Fault("rule \"expected\" must be a number".into()))?;
    Ok(Mark::of(count as u64 == wanted, format!("{count} lines hold a time, {wanted} should")))
}

pub(super) fn is_extension_installed(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted =
        case.rule("expected")?.as_str().ok_or_else(|| Fault("rule \"expected\" must be text".into()))?;
    let found = match case.value()? {
        Ok(Value::String(text)) => text,
        Ok(_) => return Err(Fault("the result must be text".into())),
        Err(mark) => return Ok(mark),
    };
    let holds = found.contains(wanted);
    let passed = match case.rule("type")?.as_str() {
        Some("contain") => holds,
        Some("not_contain") => !holds,
        _ => return Err(Fault("rule \"type\" must be contain or not_contain".into())),
    };
    Ok(Mark::of(passed, format!("{wanted:?} is {}", if holds { "there" } else { "not there" })))
}

/// The arguments stand the other way round upstream: the rule is the result, the terminal the expected side.
pub(super) fn is_in_clipboard(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = match case.value()? {
        Ok(rules) => rules,
        Err(mark) => return Ok(mark),
    };
    let terminal = case.rules()?.as_str().ok_or_else(|| Fault("the expected side must be text".into()))?;
    let wanted = match &rules["expected"] {
        Value::String(one) => vec![one.as_str()],
        _ => texts(rules, "expected")?,
    };
    let missing: Vec<String> = wanted
        .iter()
        .filter(|part| !terminal.contains(**part))
        .map(|part| format!("{part:?} is missing"))
        .collect();
    Ok(Mark::unless(&missing, "the terminal shows all of it"))
}

pub(super) fn is_utc_0(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(Value::String(text)) => text.clone(),
        Ok(_) => return Err(Fault("the result must be text".into())),
        Err(_) => case.file()?.map(super::FileRef::text).unwrap_or_default(),
    };
    let line = found.split('\n').nth(3).unwrap_or_default();
    Ok(Mark::of(line.ends_with("+0000)"), format!("the fourth line is {line:?}")))
}
