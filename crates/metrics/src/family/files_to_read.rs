//! The files that programs have to read before a metric is computed: its own, or members of its archives.

use serde_json::{Map, Value};

use super::archive::{Members, below, comparator, is_document, unpack, unzip};
use super::registry::{Metric, named};
use crate::evidence::{EvidenceValue, FileRef, ReadingKind};

/// Members that programs read for one check.
const READ_MEMBERS: usize = 200;

/// Returns the files that programs have to read for a metric, each once: its own, or members of its archives.
pub fn files_to_read(
    metric: &Metric,
    sides: [Option<&EvidenceValue>; 2],
    options: Option<&Map<String, Value>>,
) -> Vec<(ReadingKind, FileRef)> {
    let mut wanted: Vec<(ReadingKind, FileRef)> = Vec::new();
    for file in sides.into_iter().flatten().flat_map(EvidenceValue::files).flatten() {
        let files = match metric.reading() {
            Some(kind) => vec![(kind, file.clone())],
            None => members_to_read(metric.name, file, options),
        };
        for (kind, file) in files {
            if !wanted.iter().any(|(known, one)| *known == kind && one.hash == file.hash) {
                wanted.push((kind, file));
            }
        }
    }
    wanted
}

/// Returns what a program has to read for a metric, of its files or of members of its archives.
pub fn kind_to_read(metric: &Metric, options: Option<&Map<String, Value>>) -> Option<ReadingKind> {
    let kind = options.and_then(|options| options.get("file_type")).and_then(Value::as_str);
    match metric.name {
        "compare_archive" => comparator(kind.unwrap_or("text")).ok().and_then(named)?.reading(),
        "compare_zip_files" => Some(ReadingKind::Pages),
        _ => metric.reading(),
    }
}

/// Returns the members of an archive that a program has to read for a metric of archives.
fn members_to_read(
    metric: &str,
    archive: &FileRef,
    options: Option<&Map<String, Value>>,
) -> Vec<(ReadingKind, FileRef)> {
    let option = |name: &str| options.and_then(|options| options.get(name)).and_then(Value::as_str);
    let chosen = |members: Members, kind: ReadingKind, wanted: &dyn Fn(&str) -> bool| {
        let file = |(name, bytes): (String, Option<Vec<u8>>)| Some((kind, FileRef::new(name, bytes?)));
        let members = members.into_iter().filter(|(name, _)| wanted(name));
        members.filter_map(file).take(READ_MEMBERS).collect()
    };
    match metric {
        "compare_archive" => {
            let inner = comparator(option("file_type").unwrap_or("text")).ok().and_then(named);
            let Some(kind) = inner.and_then(Metric::reading) else { return Vec::new() };
            let folder = option("file_path").unwrap_or_default();
            let members = unpack(archive).ok().and_then(|members| below(&members, folder).ok());
            members.map(|members| chosen(members, kind, &|_| true)).unwrap_or_default()
        }
        "compare_zip_files" => unzip(&archive.bytes)
            .map(|members| chosen(members, ReadingKind::Pages, &is_document))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}
