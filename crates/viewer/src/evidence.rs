//! What the checks looked at, as it lies beside a trace.

use std::io::Read as _;
use std::path::Path;

use apprentice_runs::StoredRun;
use apprentice_runs::layout::{EVIDENCE_FILE, EVIDENCE_FOLDER};
use serde::Serialize;
use serde_json::Value;

use crate::act::cut;

/// The most bytes of an index of evidence, and of a file that is shown.
const INDEX_LIMIT: u64 = 8 << 20;
const FILE_LIMIT: u64 = 64 << 10;
/// The most characters of one value.
const VALUE: usize = 20_000;

/// One getter's finding.
#[derive(Debug, Serialize)]
pub(crate) struct CheckEvidence {
    /// `found` or `expected`.
    side: &'static str,
    /// Which of the metrics it is for, from 1.
    number: usize,
    getter: String,
    command: Option<String>,
    code: Option<i64>,
    took_ms: Option<u64>,
    /// The value, the reason of an absence, or the content of text files.
    texts: Vec<NamedText>,
}

/// A text and what it is.
#[derive(Debug, Serialize)]
struct NamedText {
    name: String,
    text: String,
}

/// Reads the evidence of an attempt; in words what could not be read. An attempt that was never judged has none.
pub(crate) fn read(run: &StoredRun, attempt: &str) -> (Vec<CheckEvidence>, Option<String>) {
    let Ok(folder) = run.inside(attempt).map(|attempt| attempt.join(EVIDENCE_FOLDER)) else {
        return (Vec::new(), None);
    };
    let index = folder.join(EVIDENCE_FILE);
    if !index.exists() {
        return (Vec::new(), None);
    }
    let inside = folder.canonicalize().ok().zip(run.folder.canonicalize().ok());
    if !inside.is_some_and(|(folder, run)| folder.starts_with(run)) {
        return (Vec::new(), Some("The evidence is not inside the run; it is left out.".to_owned()));
    }
    let value = match bounded(&index, INDEX_LIMIT).map(|bytes| serde_json::from_slice::<Value>(&bytes)) {
        Some(Ok(value)) => value,
        Some(Err(error)) => return (Vec::new(), Some(format!("The evidence cannot be read: {error}"))),
        None => {
            return (
                Vec::new(),
                Some("The evidence is too large to be shown, or cannot be read.".to_owned()),
            );
        }
    };
    let side = |name: &str, side: &'static str| -> Vec<CheckEvidence> {
        let items = value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let numbered = (1..).zip(items).filter(|(_, item)| !item.is_null());
        numbered.map(|(number, item)| one(side, number, &item, &folder)).collect()
    };
    let mut all = side("results", "found");
    all.extend(side("expected", "expected"));
    all.sort_by_key(|one| one.number);
    (all, None)
}

fn one(side: &'static str, number: usize, item: &Value, folder: &Path) -> CheckEvidence {
    let text = |field: &str| item.get(field).and_then(Value::as_str).map(|text| cut(text, VALUE));
    let mut texts = Vec::new();
    match item.get("found").and_then(Value::as_str) {
        Some("value") => {
            let value = item.get("value").cloned().unwrap_or_default();
            let shown = value.as_str().map_or_else(|| format!("{value:#}"), str::to_owned);
            texts.push(NamedText { name: "value".to_owned(), text: cut(&shown, VALUE) });
        }
        Some("absent") => {
            texts.push(NamedText { name: "absent".to_owned(), text: text("why").unwrap_or_default() });
        }
        _ => {
            let files = ["files", "beside"].map(|field| item.get(field).and_then(Value::as_array));
            texts.extend(files.into_iter().flatten().flatten().map(|reference| file(reference, folder)));
        }
    }
    CheckEvidence {
        side,
        number,
        getter: text("getter").unwrap_or_default(),
        command: text("command"),
        code: item.get("code").and_then(Value::as_i64),
        took_ms: item.get("took_ms").and_then(Value::as_u64),
        texts,
    }
}

fn file(reference: &Value, folder: &Path) -> NamedText {
    let Some(name) = reference.get("name").and_then(Value::as_str) else {
        return NamedText { name: "a file".to_owned(), text: "did not exist".to_owned() };
    };
    let hash = reference.get("hash").and_then(Value::as_str).unwrap_or_default();
    // A hash in somebody's evidence may be anything: only a real one becomes a file's name.
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bytes = is_hash.then(|| bounded(&folder.join(hash), FILE_LIMIT)).flatten();
    let text = match bytes.map(String::from_utf8) {
        Some(Ok(text)) => cut(&text, VALUE),
        Some(Err(binary)) => format!("{} bytes, no text; {hash}", binary.as_bytes().len()),
        None => format!("missing, or too large to be shown; {hash}"),
    };
    NamedText { name: name.to_owned(), text }
}

/// The bytes of a regular file within a limit.
fn bounded(path: &Path, limit: u64) -> Option<Vec<u8>> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    apprentice_files::open(path).ok()?.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}
