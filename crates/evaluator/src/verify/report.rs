//! Computes a stored report again from the rows, and names the values that differ.

use std::path::Path;

use apprentice_results::report::Report;
use apprentice_runs::bundle::BundleError;
use serde_json::Value;

use super::{Difference, VerifyError};

/// JSON pointer of a report's notes.
const NOTES: &str = "/notes";
/// Maximum characters of a differing value that are shown.
const MAX_SHOWN_CHARS: usize = 80;

/// Compares a stored report with the one that was computed again.
pub(super) fn differences(stored: &Path, again: &Report) -> Result<Vec<Difference>, VerifyError> {
    let failed = |source| BundleError::Io { path: stored.to_owned(), source };
    let text = apprentice_files::read_to_string(stored).map_err(failed)?;
    let wrong = |error: serde_json::Error| BundleError::Form { path: stored.into(), why: error.to_string() };
    let stored: Value = serde_json::from_str(&text).map_err(wrong)?;
    // Serialized to text and parsed again, as the stored report was, so that numbers compare alike.
    let again = serde_json::to_string(again).and_then(|text| serde_json::from_str::<Value>(&text));
    let mut differs = Vec::new();
    compare("", Some(&stored), Some(&again.map_err(wrong)?), &mut differs);
    Ok(differs)
}

/// The number of single values of a stored report.
pub(super) fn values(stored: &Path) -> usize {
    fn leaves(value: &Value) -> usize {
        match value {
            Value::Array(list) => list.iter().map(leaves).sum(),
            Value::Object(fields) => fields.values().map(leaves).sum(),
            _ => 1,
        }
    }
    let read =
        apprentice_files::read_to_string(stored).ok().and_then(|text| serde_json::from_str(&text).ok());
    read.as_ref().map_or(0, leaves)
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
