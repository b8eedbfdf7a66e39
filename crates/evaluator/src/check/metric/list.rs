//! Metrics of lines, records and sets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Case, Fault, FileRef, Mark, pattern, show, texts};

pub(super) fn check_list(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = case.rules()?;
    let (expect, unexpect) = (texts(rules, "expect")?, texts(rules, "unexpect")?);
    let text = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let mut complaints = Vec::new();
    for source in expect {
        let wanted = pattern(source)?;
        if !text.lines().any(|line| wanted.is_match(line)) {
            complaints.push(format!("no line fits {source:?}"));
        }
    }
    for source in unexpect {
        let barred = pattern(source)?;
        if let Some(line) = text.lines().find(|line| barred.is_match(line)) {
            complaints.push(format!("line {line:?} fits {source:?}"));
        }
    }
    Ok(Mark::unless(&complaints, "all wanted lines are there and no others"))
}

pub(super) fn check_csv(case: &Case<'_>) -> Result<Mark, Fault> {
    let rules = case.rules()?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let rows = records(file)?;
    let list = |name: &str| rules.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let fits = |row: &BTreeMap<String, String>, wanted: &Value| {
        wanted.as_object().is_some_and(|wanted| {
            wanted.iter().all(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                row.get(key) == Some(&value)
            })
        })
    };
    let mut complaints = Vec::new();
    for wanted in list("expect") {
        if !rows.iter().any(|row| fits(row, wanted)) {
            complaints.push(format!("no record holds {}", show(wanted)));
        }
    }
    for barred in list("unexpect") {
        if rows.iter().any(|row| fits(row, barred)) {
            complaints.push(format!("a record holds {}", show(barred)));
        }
    }
    Ok(Mark::unless(&complaints, "all wanted records are there and no others"))
}

fn records(file: &FileRef) -> Result<Vec<BTreeMap<String, String>>, Fault> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&file.bytes[..]);
    let broken = |error: csv::Error| Fault(format!("{} is no CSV: {error}", file.name));
    let headers = reader.headers().map_err(broken)?.clone();
    reader
        .records()
        .map(|row| {
            let row = row.map_err(broken)?;
            Ok(headers
                .iter()
                .zip(row.iter())
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect())
        })
        .collect()
}

/// Passes when the lines equal those of any of the expected files.
pub(super) fn compare_csv(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.file()? {
        Ok(file) => file.text(),
        Err(mark) => return Ok(mark),
    };
    let golds: Vec<&FileRef> = case.expected.into_iter().flat_map(|found| found.files()).flatten().collect();
    if golds.is_empty() {
        return Err(Fault("`expected` must be one file or several".into()));
    }
    let (strict, ignore_case) = (case.option("strict", true), case.option("ignore_case", false));
    let lines = |text: &str| -> Vec<String> {
        let text = if ignore_case { text.to_lowercase() } else { text.to_owned() };
        text.lines().map(|line| if strict { line.to_owned() } else { line.trim().to_owned() }).collect()
    };
    let found = lines(&found);
    let same = golds.iter().any(|gold| lines(&gold.text()) == found);
    Ok(Mark::of(same, format!("{} lines, {} as expected", found.len(), if same { "all" } else { "not all" })))
}

/// The files of a listed folder are exactly the expected ones, in any order.
pub(super) fn moved_files(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted: BTreeSet<&str> = texts(case.rules()?, "expected")?.into_iter().collect();
    let tree = match case.value()? {
        Ok(tree) => tree,
        Err(mark) => return Ok(mark),
    };
    let children = tree.get("children").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let found: Vec<&str> = children.iter().filter_map(|child| child.get("name")?.as_str()).collect();
    let set: BTreeSet<&str> = found.iter().copied().collect();
    let mut complaints: Vec<String> =
        wanted.difference(&set).map(|name| format!("{name:?} is missing")).collect();
    complaints.extend(set.difference(&wanted).map(|name| format!("{name:?} should not be there")));
    Ok(Mark::unless(&complaints, "the folder holds exactly the expected files"))
}
