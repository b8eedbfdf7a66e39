//! Holds what is stored against what it says: files against the list, grades against evidence, the report
//! against the rows. No world, no model and no network is needed, and no suite.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::archive::{files, hash, unpack};
use super::{BundleError, Caps, Difference, VERIFY_SCHEMA, Verification, failed, stays_inside};
use crate::experiment::{self, Definition, ExperimentError};
use crate::grade::{GradeReport, grade};
use apprentice_results::compare::Mixed;
use apprentice_results::rows;

/// Where a report's notes stand.
const NOTES: &str = "/notes";
/// Characters of a value that are shown where it differs.
const SHOWN: usize = 80;

/// Examines a bundle: unpacks it into `scratch`, and holds every file, grade and number against what it says.
pub fn verify(bundle: &Path, scratch: &Path, caps: Caps) -> Result<Verification, BundleError> {
    let list = unpack(bundle, scratch, caps)?;
    let there = files(scratch)?;
    let stray = there.iter().filter(|path| !list.files.contains_key(*path));
    let mut changed: Vec<String> = stray.map(|path| format!("{path} is not on the list")).collect();
    let mut whole = 0;
    for (path, expected) in &list.files {
        match stays_inside(Path::new(path)).then(|| hash(&scratch.join(path))) {
            Some(Ok(found)) if found == *expected => whole += 1,
            Some(Ok(_)) => changed.push(format!("{path} was changed")),
            Some(Err(_)) | None => changed.push(format!("{path} is missing")),
        }
    }
    let mut found = examine(scratch)?;
    found.packed_by = Some(list.program);
    found.files = whole;
    found.holds &= changed.is_empty();
    found.changed = changed;
    Ok(found)
}

/// Examines the folder of a run or an experiment: repeats every grade, and computes its report again.
pub fn examine(folder: &Path) -> Result<Verification, BundleError> {
    let mut runs = BTreeMap::new();
    for path in files(folder)? {
        let below = match path.as_str() {
            "run.json" => "",
            path => match path.strip_suffix("/run.json") {
                Some(below) => below,
                None => continue,
            },
        };
        let run = folder.join(below);
        if run.join("trials.jsonl").is_file() {
            runs.insert(below.to_owned(), graded(&run)?);
        }
    }
    if runs.is_empty() {
        return Err(BundleError::Nothing(folder.to_owned()));
    }
    let stored = folder.join("report.json");
    let report_differs = stored.is_file().then(|| recomputed(folder, &stored)).transpose()?;
    let held = runs.values().all(|run| run.differs == 0 && run.missing == 0);
    Ok(Verification {
        schema: VERIFY_SCHEMA.into(),
        packed_by: None,
        files: 0,
        changed: Vec::new(),
        holds: held && report_differs.as_ref().is_none_or(|places| places.iter().all(|one| one.wording)),
        runs,
        report_differs,
    })
}

/// A run graded again, once it is sure that its rows name no place outside it.
fn graded(run: &Path) -> Result<GradeReport, BundleError> {
    let rows = rows::read(&run.join("trials.jsonl"))?.rows;
    match rows.into_iter().find(|row| !stays_inside(Path::new(&row.trace))) {
        Some(row) => Err(BundleError::Astray { run: run.to_owned(), trace: row.trace }),
        None => Ok(grade(run, None)?),
    }
}

fn recomputed(folder: &Path, stored: &Path) -> Result<Vec<Difference>, BundleError> {
    let text = fs::read_to_string(stored).map_err(failed(stored))?;
    let wrong = |error: serde_json::Error| BundleError::Form { path: stored.into(), why: error.to_string() };
    let stored: Value = serde_json::from_str(&text).map_err(wrong)?;
    let again = match Definition::read(folder).map_err(ExperimentError::from)? {
        Some(_) => experiment::report(folder)?,
        None => experiment::runs(&[PathBuf::from(folder)], folder, Mixed::Refuse)?,
    };
    // Through text, as the stored one went: a number and what is read back of it are compared alike.
    let again = serde_json::to_string(&again).and_then(|text| serde_json::from_str::<Value>(&text));
    let mut differs = Vec::new();
    compare("", (Some(&stored), Some(&again.map_err(wrong)?)), &mut differs);
    Ok(differs)
}

/// The places in which two documents differ.
fn compare(at: &str, sides: (Option<&Value>, Option<&Value>), differs: &mut Vec<Difference>) {
    match sides {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            // What an older report does not say cannot be wrong.
            for key in one.keys() {
                let name = key.replace('~', "~0").replace('/', "~1");
                compare(&format!("{at}/{name}"), (one.get(key), other.get(key)), differs);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if at == NOTES => notes(one, other, differs),
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                compare(&format!("{at}/{index}"), (one.get(index), other.get(index)), differs);
            }
        }
        (one, other) if one == other => {}
        (one, other) => {
            let wording = is_prose(at) && numbers(one) == numbers(other);
            let (stored, computed) = (shown(one), shown(other));
            differs.push(Difference { at: at.to_owned(), stored, computed, wording });
        }
    }
}

/// Notes stand in any order, and a newer version may have more to say: each stored one must be among those that
/// follow from the rows.
fn notes(stored: &[Value], computed: &[Value], differs: &mut Vec<Difference>) {
    for (index, one) in stored.iter().enumerate().filter(|(_, one)| !computed.contains(one)) {
        let like = computed.iter().find(|other| numbers(Some(one)) == numbers(Some(other)));
        let (at, wording) = (format!("{NOTES}/{index}"), like.is_some());
        differs.push(Difference { at, stored: shown(Some(one)), computed: shown(like), wording });
    }
}

/// Whether a place holds a sentence, which another version of the program may word in another way.
fn is_prose(at: &str) -> bool {
    let sentences = ["/headline/title", "/headline/subject", "/headline/result"];
    at.ends_with("/sentence") || at.ends_with("/because") || sentences.contains(&at)
}

/// The numbers of a sentence, in order.
fn numbers(value: Option<&Value>) -> Option<Vec<String>> {
    let text = value?.as_str()?;
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let parts = parts.map(|part| part.trim_matches('.')).filter(|part| !part.is_empty());
    Some(parts.map(str::to_owned).collect())
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
