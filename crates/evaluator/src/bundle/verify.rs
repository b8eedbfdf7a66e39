//! Verifies stored results: files against the manifest, grades against the recorded evidence, and the report against
//! the rows. Needs no environment, model, network or suite.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::archive::{files, hash, unpack};
use super::{BundleError, Difference, UnpackLimits, VERIFY_SCHEMA, Verification, failed, stays_inside};
use crate::experiment::{self, Definition, ExperimentError};
use crate::grade::{GradeReport, grade};
use apprentice_results::compare::MixedVersions;
use apprentice_results::rows;

/// JSON pointer of a report's notes.
const NOTES: &str = "/notes";
/// Maximum characters of a differing value that are shown.
const MAX_SHOWN_CHARS: usize = 80;

/// Verifies a bundle: unpacks it into `scratch` and checks every file, grade and number.
pub fn verify(bundle: &Path, scratch: &Path, caps: UnpackLimits) -> Result<Verification, BundleError> {
    let list = unpack(bundle, scratch, caps)?;
    let there = files(scratch)?;
    let stray = there.iter().filter(|path| !list.files.contains_key(*path));
    let mut changed: Vec<String> = stray.map(|path| format!("{path} is not in the manifest")).collect();
    let mut whole = 0;
    for (path, expected) in &list.files {
        match stays_inside(Path::new(path)).then(|| hash(&scratch.join(path))) {
            Some(Ok(found)) if found == *expected => whole += 1,
            Some(Ok(_)) => changed.push(format!("{path} was changed")),
            Some(Err(_)) | None => changed.push(format!("{path} is missing")),
        }
    }
    let mut found = verify_folder(scratch)?;
    found.packed_by = Some(list.program);
    found.files = whole;
    found.holds &= changed.is_empty();
    found.changed = changed;
    Ok(found)
}

/// Verifies the folder of a run or an experiment: regrades every trial and recomputes the report.
pub fn verify_folder(folder: &Path) -> Result<Verification, BundleError> {
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

/// Regrades a run, after checking that its rows refer to no path outside it.
fn graded(run: &Path) -> Result<GradeReport, BundleError> {
    let rows = rows::read(&run.join("trials.jsonl"))?.rows;
    match rows.into_iter().find(|row| !stays_inside(Path::new(&row.trace))) {
        Some(row) => Err(BundleError::OutsideRun { run: run.to_owned(), trace: row.trace }),
        None => Ok(grade(run, None)?),
    }
}

fn recomputed(folder: &Path, stored: &Path) -> Result<Vec<Difference>, BundleError> {
    let text = fs::read_to_string(stored).map_err(failed(stored))?;
    let wrong = |error: serde_json::Error| BundleError::Form { path: stored.into(), why: error.to_string() };
    let stored: Value = serde_json::from_str(&text).map_err(wrong)?;
    let again = match Definition::read(folder).map_err(ExperimentError::from)? {
        Some(_) => experiment::report(folder)?,
        None => experiment::runs(&[PathBuf::from(folder)], folder, MixedVersions::Refuse)?,
    };
    // Serialized to text and parsed again, as the stored report was, so that numbers compare alike.
    let again = serde_json::to_string(&again).and_then(|text| serde_json::from_str::<Value>(&text));
    let mut differs = Vec::new();
    compare("", Some(&stored), Some(&again.map_err(wrong)?), &mut differs);
    Ok(differs)
}

/// Collects the places in which two JSON documents differ.
fn compare(at: &str, stored: Option<&Value>, computed: Option<&Value>, differs: &mut Vec<Difference>) {
    match (stored, computed) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            // Keys that an older report lacks are not compared.
            for key in one.keys() {
                let name = key.replace('~', "~0").replace('/', "~1");
                compare(&format!("{at}/{name}"), one.get(key), other.get(key), differs);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if at == NOTES => notes(one, other, differs),
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                compare(&format!("{at}/{index}"), one.get(index), other.get(index), differs);
            }
        }
        (one, other) if one == other => {}
        (one, other) => {
            let wording = is_sentence(at) && numbers(one) == numbers(other);
            let (stored, computed) = (shown(one), shown(other));
            differs.push(Difference { at: at.to_owned(), stored, computed, wording });
        }
    }
}

/// Compares notes regardless of order. A newer version may add notes, so only each stored note must follow from the
/// rows.
fn notes(stored: &[Value], computed: &[Value], differs: &mut Vec<Difference>) {
    for (index, one) in stored.iter().enumerate().filter(|(_, one)| !computed.contains(one)) {
        let like = computed.iter().find(|other| numbers(Some(one)) == numbers(Some(other)));
        let (at, wording) = (format!("{NOTES}/{index}"), like.is_some());
        differs.push(Difference { at, stored: shown(Some(one)), computed: shown(like), wording });
    }
}

/// Whether a place contains a sentence, whose wording may differ between versions of the program.
fn is_sentence(at: &str) -> bool {
    let sentences = ["/headline/title", "/headline/subject", "/headline/result"];
    at.ends_with("/sentence") || at.ends_with("/because") || sentences.contains(&at)
}

/// Extracts the numbers of a sentence, in order.
fn numbers(value: Option<&Value>) -> Option<Vec<String>> {
    let text = value?.as_str()?;
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let parts = parts.map(|part| part.trim_matches('.')).filter(|part| !part.is_empty());
    Some(parts.map(str::to_owned).collect())
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
