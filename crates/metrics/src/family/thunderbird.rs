//! Metrics of Thunderbird's preferences, filters and folders.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::list::RecordSearch;
use crate::comparison::value;
use crate::evidence::{EvidenceValue, FileRef};
use crate::python;
use crate::scoring::{MetricError, MetricInput, Score, show, task_error, upstream_error};

type Fixed = LazyLock<Result<Regex, regex::Error>>;

static LINE: Fixed = LazyLock::new(|| Regex::new(r#"^user_pref\("((?:[^"]|\\")+)", (.+)\);$"#));
static CONDITION: Fixed = LazyLock::new(|| {
    Regex::new(r#"\b(?:AND|OR) \((?:[\w ]+),(?:[\w ']+),(?:"(?:(?:[^"]|")+)"|(?:[^)]+))\)|\bALL\b"#)
});
static BEGINS: Fixed = LazyLock::new(|| Regex::new(r"(?m)^(?:From - |FROM - )"));
static DELETED: Fixed = LazyLock::new(|| Regex::new(r"X-Mozilla-Status: 000[89]"));
static STATUS: Fixed = LazyLock::new(|| Regex::new(r"X-Mozilla-Status\d?:[\s\d]+"));
static KEYS: Fixed = LazyLock::new(|| Regex::new(r"X-Mozilla-Keys:[^\n]*?\n(MIME-Version)"));

fn fixed(pattern: &'static Fixed) -> Result<&'static Regex, MetricError> {
    pattern.as_ref().map_err(|error| task_error(error.to_string()))
}

pub(super) fn preferences(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let text = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let none = Map::new();
    let rules = rules.as_object().ok_or_else(|| task_error("`expected` must be an object of rules"))?;
    let of = |name: &str| match rules.get(name) {
        None => Ok(&none),
        Some(rules) => {
            rules.as_object().ok_or_else(|| task_error(format!("rule {name:?} must be an object")))
        }
    };
    let (expect, unexpect) = (of("expect")?, of("unexpect")?);
    let line_form = fixed(&LINE)?;
    let mut held: BTreeMap<&str, (bool, String)> = BTreeMap::new();
    let mut complaints = Vec::new();
    for line in python::file_lines(&text) {
        let Some(parts) = line_form.captures(line.trim()) else { continue };
        let (key, value) = (&parts[1], &parts[2]);
        let value: Value = serde_json::from_str(value)
            .map_err(|error| upstream_error(format!("the value of preference {key} is not JSON: {error}")))?;
        if let Some((key, rule)) = expect.get_key_value(key) {
            held.insert(key, (value::fits(&value, rule)?, show(&value)));
        } else if let Some(rule) = unexpect.get(key)
            && value::fits(&value, rule)?
        {
            complaints.push(format!("preference {key} is {}", show(&value)));
        }
    }
    for (key, rule) in expect {
        match held.get(key.as_str()) {
            Some((true, _)) => {}
            Some((false, found)) => {
                complaints.push(format!("preference {key} is {found}, expected {}", show(rule)));
            }
            None => complaints.push(format!("preference {key} is absent, expected {}", show(rule))),
        }
    }
    Ok(Score::unless(&complaints, "every preference is as expected"))
}

pub(super) fn filters(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let text = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let condition = fixed(&CONDITION)?;
    let mut search = RecordSearch::new(case.rules()?)?;
    // A filter counts once its condition has been read. Later fields still belong to it.
    let (mut open, mut counts): (Option<BTreeMap<String, Value>>, bool) = (None, false);
    let mut end = |filter: &BTreeMap<String, Value>| search.look(|name| filter.get(name).map(Cow::Borrowed));
    for line in python::file_lines(&text) {
        let Some((key, rest)) = line.split_once('=') else { continue };
        let value = rest.get(1..rest.len().saturating_sub(2)).unwrap_or_default();
        let value = value.replace("\\\"", "\"").replace("\\\\", "\\");
        match key {
            "name" => {
                open.iter().filter(|_| counts).for_each(&mut end);
                (open, counts) = (Some(BTreeMap::from([("name".to_owned(), value.into())])), false);
            }
            "enabled" | "type" | "action" | "actionValue" | "condition" => {
                let filter = open.as_mut().ok_or_else(|| upstream_error("a filter begins without a name"))?;
                let value = if key == "condition" {
                    counts = true;
                    condition.find_iter(&value).map(|found| Value::from(found.as_str())).collect()
                } else {
                    value.into()
                };
                filter.insert(key.to_owned(), value);
            }
            _ => {}
        }
    }
    open.iter().filter(|_| counts).for_each(&mut end);
    Ok(search.judge("filter"))
}

/// Compares the messages of mail folders. Upstream drops every message before it compares, so that any two folders
/// are equal.
pub(super) fn folder(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let absent = |found: &EvidenceValue| match found {
        EvidenceValue::Absent { why } => Some(why.clone()),
        EvidenceValue::Files { files, .. } if files.contains(&None) => Some("a folder is missing".to_owned()),
        EvidenceValue::Files { .. } | EvidenceValue::Value { .. } => None,
    };
    if let Some(why) = absent(case.result) {
        return Ok(Score::none(why));
    }
    let found: Vec<&FileRef> = case.result.files().iter().flatten().collect();
    let wanted: Vec<&FileRef> = case.expected.into_iter().flat_map(EvidenceValue::files).flatten().collect();
    for (found, wanted) in found.iter().zip(&wanted) {
        let (found_text, wanted_text) = (python::text(found)?, python::text(wanted)?);
        if case.reproduces_bugs() {
            if blanks(&found_text, case) != blanks(&wanted_text, case) {
                return Ok(Score::none("the folders have different numbers of empty messages"));
            }
            continue;
        }
        let (have, want) = (messages(&found_text, case)?, messages(&wanted_text, case)?);
        if have != want {
            let (have, want) = (have.len(), want.len());
            return Ok(Score::none(format!("{} has {have} messages, expected {want}", found.name)));
        }
    }
    Ok(Score::full("the folders have the same messages"))
}

/// Returns the number of empty messages, the only ones that upstream keeps.
fn blanks(text: &str, case: &MetricInput<'_>) -> usize {
    let count = text.trim().split("FROM - ").filter(|mail| mail.trim().is_empty()).count();
    if case.option("remove_duplicate", true) { count.min(1) } else { count }
}

fn messages(text: &str, case: &MetricInput<'_>) -> Result<Vec<String>, MetricError> {
    let begins = fixed(&BEGINS)?;
    let deleted = fixed(&DELETED)?;
    let status = fixed(&STATUS)?;
    let keys = fixed(&KEYS)?;
    let mut messages = Vec::new();
    for mail in begins.split(text.trim()).filter(|mail| !mail.trim().is_empty()) {
        if case.option("remove_deleted", true) && deleted.is_match(mail) {
            continue;
        }
        let mut mail = mail.to_owned();
        if case.option("ignore_status", false) {
            mail = status.replace_all(&mail, "").into_owned();
        }
        if case.option("ignore_keys", false) {
            mail = keys.replace_all(&mail, "$1").into_owned();
        }
        messages.push(mail.trim().to_owned());
    }
    if case.option("remove_duplicate", true) {
        messages = messages.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    }
    messages.sort_unstable();
    Ok(messages)
}
