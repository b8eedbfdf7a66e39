//! Metrics of text and scalar values.

use serde_json::Value;

use crate::comparison::{difflib, value};
use crate::evidence::EvidenceValue;
use crate::python::{self, Pattern};
use crate::scoring::{
    MetricError, MetricInput, Score, difference, entries, quote, show, task_error, texts, upstream_error,
};

pub(super) fn exact_match(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("expected")?;
    let found = case.found()?;
    let same = value::equal(found, wanted);
    let explanation = if same { format!("found {}", show(found)) } else { difference(found, wanted) };
    Ok(Score::of(same, explanation))
}

/// Passes if the answer is truthy and equals the expected one.
pub(super) fn compare_answer(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("expected")?;
    let found = case.found()?;
    let same = crate::scoring::is_truthy(found) && value::equal(found, wanted);
    Ok(Score::of(same, format!("found {}, expected {}", show(found), show(wanted))))
}

pub(super) fn literal_match(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (found, wanted) = (case.found()?, case.rules()?);
    let fold = |value: &Value| {
        let text = python::str(value);
        if case.option("ignore_case", false) { text.to_lowercase() } else { text }
    };
    let same = match (case.options.get("type").and_then(Value::as_str), found, wanted) {
        (None | Some("str"), _, _) => fold(found) == fold(wanted),
        (Some("list"), Value::Array(a), Value::Array(b)) => {
            a.iter().map(fold).collect::<Vec<_>>() == b.iter().map(fold).collect::<Vec<_>>()
        }
        (Some("list"), _, _) => false,
        (Some(other), _, _) => {
            return Err(task_error(format!("option type {other:?} is neither str nor list")));
        }
    };
    Ok(Score::of(same, format!("found {}, expected {}", show(found), show(wanted))))
}

pub(super) fn match_in_list(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (found, wanted) = (case.found()?, case.rule("expected")?);
    let same = holds(wanted, found)?;
    Ok(Score::of(same, format!("found {}, expected one of {}", show(found), show(wanted))))
}

pub(super) fn is_in_list(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (found, wanted) = (case.require_value()?, case.rule("expected")?);
    let inside = holds(found, wanted)?;
    let word = if inside { "contains" } else { "lacks" };
    Ok(Score::of(inside, format!("found {}, which {word} {}", show(found), show(wanted))))
}

/// Evaluates Python's operator `in`: an element of a list, a part of a string, or a key of an object.
pub(super) fn holds(whole: &Value, part: &Value) -> Result<bool, MetricError> {
    match (whole, part) {
        (Value::Array(list), part) => Ok(list.iter().any(|one| value::equal(one, part))),
        (Value::String(text), Value::String(part)) => Ok(text.contains(part.as_str())),
        (Value::Object(map), Value::String(key)) => Ok(map.contains_key(key)),
        (Value::Object(_), Value::Null | Value::Bool(_) | Value::Number(_)) => Ok(false),
        _ => Err(upstream_error(format!("{} cannot be searched in {}", show(part), show(whole)))),
    }
}

pub(super) fn fuzzy_match(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule_str("expected")?;
    let found = case.found()?.as_str().unwrap_or_default();
    let score = difflib::edit_similarity(found, wanted) / 100.0;
    Ok(Score { score, explanation: format!("{} and {}: similarity {score:.3}", quote(found), quote(wanted)) })
}

pub(super) fn include_exclude(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let found = match case.value()? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let mut complaints = Vec::new();
    for part in entries(rules, "include")? {
        if !holds(found, part)? {
            complaints.push(format!("{part} is missing"));
        }
    }
    for part in entries(rules, "exclude")? {
        if holds(found, part)? {
            complaints.push(format!("{part} is unexpected"));
        }
    }
    if !complaints.is_empty() {
        complaints.push(format!("in {}", show(found)));
    }
    Ok(Score::unless(&complaints, "contains everything in include and nothing in exclude"))
}

pub(super) fn compare_text_file(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let wanted = python::text(case.expected_file()?)?;
    let fold = |text: String| {
        let text = if case.option("ignore_blanks", false) { blanks_joined(&text) } else { text };
        if case.option("ignore_case", false) { text.to_lowercase() } else { text }
    };
    Ok(compared(&fold(found), &fold(wanted)))
}

/// Trims whitespace and replaces each inner run of it by one space.
fn blanks_joined(text: &str) -> String {
    text.split(python::is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Compares two texts and reports the first line that differs.
fn compared(found: &str, wanted: &str) -> Score {
    if found == wanted {
        return Score::full("the texts are equal");
    }
    let mut lines = found.lines().zip(wanted.lines()).enumerate();
    Score::none(match lines.find(|(_, (found, wanted))| found != wanted) {
        Some((at, (found, wanted))) => {
            format!("line {}: found {}, expected {}", at + 1, quote(found), quote(wanted))
        }
        None => format!("found {} lines, expected {}", found.lines().count(), wanted.lines().count()),
    })
}

pub(super) fn terminal_and_file(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let terminal = match case.expected {
        None | Some(EvidenceValue::Absent { .. }) => "",
        Some(_) => case.rules()?.as_str().unwrap_or_default(),
    };
    let file = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    if terminal.is_empty() {
        Ok(Score::none("the terminal shows nothing"))
    } else {
        Ok(compared(&file, terminal))
    }
}

pub(super) fn pure_python(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    match (python::text(found), python::text(case.expected_file()?)) {
        (Ok(found), Ok(wanted)) => Ok(compared(&normalized_code(&found), &normalized_code(&wanted))),
        _ => Ok(Score::none("one of the files is not text")),
    }
}

/// Normalizes code: without leading metadata lines, empty lines and trailing whitespace, and with tabs expanded.
fn normalized_code(text: &str) -> String {
    let metadata = ["#!", "# -*- coding:", "# coding:", "# coding="];
    let lines = python::split_lines(text);
    let is_metadata = |line: &&&str| metadata.iter().any(|start| line.trim().starts_with(start));
    let skipped = lines.iter().take(3).take_while(is_metadata).count();
    let kept = lines[skipped..].iter().filter(|line| !line.trim().is_empty());
    kept.map(|line| expand_tabs(line).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn expand_tabs(line: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for c in line.chars() {
        if c == '\t' {
            let wide = 4 - column % 4;
            out.extend(std::iter::repeat_n(' ', wide));
            column += wide;
        } else {
            out.push(c);
            column += 1;
        }
    }
    out
}

/// Passes for equal contents. An expected number may also be part of a longer text, or differ by less than 0.0001.
pub(super) fn result_files(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let wanted = python::text(case.expected_file()?)?;
    let (found, wanted) = (python::strip(&found), python::strip(&wanted));
    let near = |wanted: f64| python::float(found).map(|found| (found - wanted).abs() < 1e-4);
    let same = match python::float(wanted) {
        Some(_) if found.contains(wanted) => true,
        Some(number) => near(number).unwrap_or(found == wanted),
        None => found == wanted,
    };
    Ok(Score::of(same, format!("found {}, expected {}", quote(found), quote(wanted))))
}

pub(super) fn diff_text_file(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let wanted = python::text(case.expected_file()?)?;
    let score = difflib::ratio(&python::split_lines(&found), &python::split_lines(&wanted))?;
    let told = compared(&found, &wanted).explanation;
    Ok(Score { score, explanation: format!("line similarity {score:.3}; {told}") })
}

pub(super) fn file_contains(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = match case.rule("expected")? {
        // Upstream iterates over a string character by character.
        Value::String(text) => text.chars().map(String::from).collect(),
        _ => texts(case.rules()?, "expected")?.into_iter().map(str::to_owned).collect::<Vec<String>>(),
    };
    let found = match case.file()?.map(python::text) {
        Ok(Ok(text)) => text,
        Ok(Err(fault)) => return Ok(Score::none(fault.message())),
        Err(mark) => return Ok(mark),
    };
    let missing: Vec<String> = wanted
        .iter()
        .filter(|part| !found.contains(part.as_str()))
        .map(|part| format!("{} is missing", quote(part)))
        .collect();
    Ok(Score::unless(&missing, "the file contains every expected text"))
}

/// Passes if the expected number of lines contain a time of day.
pub(super) fn line_number(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("expected")?;
    let found = match case.file()?.map(python::text) {
        Ok(Ok(text)) => text,
        Ok(Err(fault)) => return Ok(Score::none(fault.message())),
        Err(mark) => return Ok(mark),
    };
    let time = Pattern::new(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")?;
    let mut count = 0_u64;
    for line in python::file_lines(&found) {
        count += u64::from(time.is_in(line)?);
    }
    let wanted = wanted.as_u64().or_else(|| wanted.as_str()?.trim().parse().ok());
    let wanted = wanted.ok_or_else(|| task_error("rule \"expected\" must be a number"))?;
    Ok(Score::of(count == wanted, format!("{count} lines contain a time, expected {wanted}")))
}

pub(super) fn is_extension_installed(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("expected")?;
    let inside = holds(case.require_value()?, wanted)?;
    let passed = match case.rule("type")?.as_str() {
        Some("contain") => inside,
        Some("not_contain") => !inside,
        _ => return Err(task_error("rule \"type\" must be contain or not_contain")),
    };
    Ok(Score::of(passed, format!("{wanted} is {}", if inside { "there" } else { "not there" })))
}

/// Passes if the terminal shows all expected texts. Upstream swaps the arguments: the rule is the result, and the
/// terminal is the expected side.
pub(super) fn is_in_clipboard(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.require_value()?;
    if let Some(EvidenceValue::Absent { why }) = case.expected {
        return Err(upstream_error(why.clone()));
    }
    let terminal = case.rules()?;
    let wanted = rules.get("expected").ok_or_else(|| task_error("the rule has no \"expected\""))?;
    let all = wanted.as_array().map_or(std::slice::from_ref(wanted), Vec::as_slice);
    let mut missing = Vec::new();
    for part in all {
        if !holds(terminal, part)? {
            missing.push(format!("{part} is missing"));
        }
    }
    Ok(Score::unless(&missing, "the terminal shows every expected text"))
}

pub(super) fn is_utc_0(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.result {
        EvidenceValue::Files { .. } => python::text(case.require_file()?)?,
        _ => case.require_str()?.to_owned(),
    };
    let line = found
        .split('\n')
        .nth(3)
        .ok_or_else(|| upstream_error("the time settings have fewer than four lines"))?;
    Ok(Score::of(line.ends_with("+0000)"), format!("the fourth line is {}", quote(line))))
}

pub(super) fn is_enlarged(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = case.require_value()?;
    let factor = found.as_f64().or_else(|| python::float(found.as_str()?));
    let factor = factor.ok_or_else(|| upstream_error(format!("{} is not a number", show(found))))?;
    Ok(Score::of(factor > 1.0, format!("the scaling factor is {factor}")))
}
