//! Compares the blobs of a run with their names, and finds those that its traces name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use apprentice_protocol::EventKind;
use apprentice_runs::bundle::{Manifest, hash_of};
use apprentice_runs::layout::BLOBS_FOLDER;
use apprentice_trace::Trace;
use serde_json::Value;

use super::finding::{Claim, Findings};
use super::plan::within;

/// Fields of an event's data that name blobs by their hash.
const FIELDS: [&str; 7] = ["screenshot", "outline", "shown", "request", "messages", "raw", "hash"];
/// Characters of a hash.
const HASH_CHARS: usize = 64;

/// Compares each blob's content with its name. `list` has the hashes of a bundle's files, which were compared with the files.
pub(super) fn compare(name: &str, run: &Path, list: Option<&Manifest>, found: &mut Findings) {
    let entries = fs::read_dir(run.join(BLOBS_FOLDER)).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    for path in paths {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // What a killed process was writing; nothing names it.
        if file.starts_with('.') {
            continue;
        }
        found.count(Claim::Blobs, 1);
        let inside = format!("{BLOBS_FOLDER}/{file}");
        let place = within(name, &inside);
        let listed = if name.is_empty() { inside } else { format!("{name}/{inside}") };
        let known = list.and_then(|list| list.files.get(&listed).cloned());
        match known.map_or_else(|| hash_of(&path), Ok) {
            Ok(hash) if file.split('.').next() == Some(hash.as_str()) => {}
            Ok(_) => found.add(Claim::Blobs, &place, "its content has another hash than its name says"),
            Err(error) => found.add(Claim::Blobs, &place, format!("it cannot be read: {error}")),
        }
    }
}

/// Finds the blobs that traces name; each comes with the attempt that names it. A bundle names the pictures that it goes without.
pub(super) fn find(
    name: &str,
    run: &Path,
    named: BTreeSet<(String, String)>,
    list: Option<&Manifest>,
    found: &mut Findings,
) {
    let entries = fs::read_dir(run.join(BLOBS_FOLDER)).into_iter().flatten().flatten();
    let stem = |name: String| name.split('.').next().unwrap_or_default().to_owned();
    let there: BTreeSet<String> =
        entries.map(|entry| stem(entry.file_name().to_string_lossy().into_owned())).collect();
    let blobs = if name.is_empty() { BLOBS_FOLDER.to_owned() } else { format!("{name}/{BLOBS_FOLDER}") };
    let of_run = |path: &String| Some(stem(path.strip_prefix(blobs.as_str())?.strip_prefix('/')?.to_owned()));
    let left_out: BTreeSet<String> =
        list.map(|list| list.pictures_left_out.iter().filter_map(of_run).collect()).unwrap_or_default();
    if !left_out.is_empty() {
        found.leave("pictures of screens: the bundle goes without them");
    }
    for (hash, place) in
        named.into_iter().filter(|(hash, _)| !there.contains(hash) && !left_out.contains(hash))
    {
        found.add(Claim::Blobs, &place, format!("its trace names the blob {hash}, which is missing"));
    }
}

/// The hashes of the blobs that a trace names.
pub(super) fn named(trace: &Trace) -> BTreeSet<String> {
    let mut hashes = BTreeSet::new();
    for event in &trace.events {
        // The first event has hashes of other things.
        if !matches!(event.kind, EventKind::Started(_))
            && let Ok(data) = serde_json::to_value(&event.kind)
        {
            collect(&data, false, &mut hashes);
        }
    }
    hashes
}

fn collect(value: &Value, is_named: bool, hashes: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let is_hash = text.len() == HASH_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_named && is_hash {
                hashes.insert(text.clone());
            }
        }
        Value::Array(list) => list.iter().for_each(|one| collect(one, is_named, hashes)),
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, FIELDS.contains(&name.as_str()), hashes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
