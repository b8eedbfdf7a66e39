//! Metrics of lines, records and sets.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::evidence::{EvidenceValue, FileRef};
use crate::python::{self, Pattern};
use crate::scoring::{
    MetricError, MetricInput, Score, entries, optional_strings, quote, show, task_error, texts,
    upstream_error,
};

pub(super) fn check_list(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let (expect, unexpect) = (optional_strings(rules, "expect")?, optional_strings(rules, "unexpect")?);
    let text = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let mut complaints = Vec::new();
    for source in expect {
        if find(&Pattern::new(source)?, &text)?.is_none() {
            complaints.push(format!("no line matches {source:?}"));
        }
    }
    for source in unexpect {
        if let Some((at, line)) = find(&Pattern::new(source)?, &text)? {
            complaints.push(format!("line {at}, {}, matches {source:?}", quote(line.trim_end())));
        }
    }
    Ok(Score::unless(&complaints, "every expected line is present, and no forbidden one"))
}

fn find<'t>(pattern: &Pattern, text: &'t str) -> Result<Option<(usize, &'t str)>, MetricError> {
    for (at, line) in python::file_lines(text).enumerate() {
        if pattern.is_in(line)? {
            return Ok(Some((at + 1, line)));
        }
    }
    Ok(None)
}

/// A search for expected and forbidden records. It is fed one record at a time, since there may be millions.
pub(super) struct RecordSearch<'r> {
    wanted: Vec<(&'r Value, bool)>,
    barred: Vec<(&'r Value, bool)>,
}

impl<'r> RecordSearch<'r> {
    pub(super) fn new(rules: &'r Value) -> Result<Self, MetricError> {
        let unseen = |name| Ok(entries(rules, name)?.iter().map(|pattern| (pattern, false)).collect());
        Ok(Self { wanted: unseen("expect")?, barred: unseen("unexpect")? })
    }

    /// Tests one record, given as a lookup by field name.
    pub(super) fn look<'v>(&mut self, value: impl Fn(&str) -> Option<Cow<'v, Value>>) {
        for (pattern, seen) in self.wanted.iter_mut().chain(&mut self.barred).filter(|(_, seen)| !seen) {
            let holds = |(key, wanted): (&String, &Value)| value(key).is_some_and(|found| *found == *wanted);
            *seen = pattern.as_object().is_some_and(|wanted| wanted.iter().all(holds));
        }
    }

    /// Passes if every expected record was seen and no forbidden one.
    pub(super) fn judge(&self, what: &str) -> Score {
        let lacking = self.wanted.iter().filter(|(_, seen)| !seen);
        let mut complaints: Vec<String> =
            lacking.map(|(pattern, _)| format!("no {what} matches {}", show(pattern))).collect();
        let barred = self.barred.iter().filter(|(_, seen)| *seen);
        complaints.extend(barred.map(|(pattern, _)| format!("a {what} matches {}", show(pattern))));
        Score::unless(&complaints, "every expected entry is present, and no forbidden one")
    }
}

pub(super) fn check_csv(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let mut search = RecordSearch::new(rules)?;
    let mut text = python::text(file)?;
    // Upstream keeps a byte order mark as part of the first column's name, and the CSV reader would drop it.
    if text.starts_with('\u{feff}') {
        text.insert(0, '\u{feff}');
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let broken = |error: csv::Error| upstream_error(format!("{} is not valid CSV: {error}", file.name));
    // Upstream's reader skips blank lines except before the header: the header is then empty, and no record matches.
    let nameless = text.starts_with(['\n', '\r']);
    // Among columns with the same name, the last one counts.
    let headers = reader.headers().map_err(broken)?.clone();
    let columns: HashMap<&str, usize> =
        headers.iter().enumerate().filter(|_| !nameless).map(|(at, name)| (name, at)).collect();
    let mut row = csv::StringRecord::new();
    while reader.read_record(&mut row).map_err(broken)? {
        search.look(|name| {
            let cell = columns.get(name).map(|at| row.get(*at));
            cell.map(|cell| Cow::Owned(cell.map_or(Value::Null, Value::from)))
        });
    }
    Ok(search.judge("record"))
}

/// Passes if the lines equal those of any expected file.
pub(super) fn compare_csv(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => decoded(file)?,
        Err(mark) => return Ok(mark),
    };
    let golds: Vec<&FileRef> = case.expected.into_iter().flat_map(EvidenceValue::files).flatten().collect();
    if golds.is_empty() {
        return Err(task_error("`expected` must be one file or several"));
    }
    let (strict, ignore_case) = (case.option("strict", true), case.option("ignore_case", false));
    let lines = |text: &str| -> Vec<String> {
        let fold = |line: &str| if ignore_case { line.to_lowercase() } else { line.to_owned() };
        let lines = python::split_lines(text).into_iter();
        lines.map(|line| fold(if strict { line } else { line.trim() })).collect()
    };
    let found = lines(&found);
    let mut messages = Vec::new();
    for gold in golds {
        let wanted = lines(&decoded(gold)?);
        if wanted == found {
            return Ok(Score::full(format!("all {} lines are as in {}", found.len(), gold.name)));
        }
        let differs = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        messages.push(match differs {
            Some(at) => {
                format!("line {} is {}, {} has {}", at + 1, quote(&found[at]), gold.name, quote(&wanted[at]))
            }
            None => format!("there are {} lines, {} has {}", found.len(), gold.name, wanted.len()),
        });
    }
    Ok(Score::none(messages.join("; ")))
}

/// Decodes a file as UTF-8, or else as Latin-1, which accepts every byte.
pub(super) fn decoded(file: &FileRef) -> Result<String, MetricError> {
    python::bounded(file)?;
    Ok(match std::str::from_utf8(&file.bytes) {
        Ok(text) => python::normalize_line_ends(text),
        Err(_) => {
            python::normalize_line_ends(&file.bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
        }
    })
}

/// Passes if a folder contains exactly the expected files, in any order.
pub(super) fn moved_files(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = texts(case.rules()?, "expected")?;
    let children = case.require_value()?.get("children").and_then(Value::as_array);
    let children = children.ok_or_else(|| upstream_error("the result is not a folder"))?;
    let found: Vec<&str> = children.iter().filter_map(|child| child.get("name")?.as_str()).collect();
    Ok(same_members(&found, &wanted, "the folder"))
}

/// Passes if the desktop's favourites, a list of quoted names, are exactly the expected ones.
pub(super) fn favourites(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = texts(case.rules()?, "expected")?;
    let text = case.require_str()?.trim();
    let text = text.strip_prefix("@as").unwrap_or(text).trim();
    let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let list = list.ok_or_else(|| upstream_error(format!("{} is not a list", quote(text))))?;
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let found: Vec<&str> = names.map(|name| name.trim_matches(['\'', '"'])).collect();
    Ok(same_members(&found, &wanted, "the list"))
}

/// Compares two lists by length and by their distinct members.
fn same_members(found: &[&str], wanted: &[&str], what: &str) -> Score {
    let set = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let (have, want) = (set(found), set(wanted));
    let mut complaints: Vec<String> =
        want.difference(&have).map(|name| format!("{} is missing", quote(name))).collect();
    complaints.extend(have.difference(&want).map(|name| format!("{} is unexpected", quote(name))));
    if complaints.is_empty() && found.len() != wanted.len() {
        complaints.push(format!("{what} has {} entries instead of {}", found.len(), wanted.len()));
    }
    Score::unless(&complaints, &format!("{what} contains exactly the expected entries"))
}
