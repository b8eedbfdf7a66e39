//! Metrics of archives, which compare member by member with the metric of the member's type.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use serde_json::{Map, Value};

use crate::evidence::{EvidenceValue, FileRef};
use crate::readers::zip_reader::Archive;
use crate::scoring::{MetricError, MetricInput, Score, task_error, upstream_error};

const TOTAL_LIMIT: u64 = 96 << 20;
const ENTRIES: usize = 20_000;
/// Least similarity of the texts of documents that count as equal.
const ALIKE: f64 = 0.95;

/// Members by path; `None` for a folder.
pub(super) type Members = BTreeMap<String, Option<Vec<u8>>>;

/// Evaluates the metric of a name.
pub(super) type RunMetric = fn(&str, &MetricInput<'_>) -> Result<Score, MetricError>;

/// Compares two archives member by member. `run` evaluates the metric that compares the members.
pub(super) fn compare(case: &MetricInput<'_>, run: RunMetric) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let folder = case.options.get("file_path").and_then(Value::as_str).unwrap_or_default();
    let kind = case.options.get("file_type").and_then(Value::as_str).unwrap_or("text");
    let metric = comparator(kind)?;
    let found = below(&unpack(file).map_err(upstream_error)?, folder)?;
    let wanted = below(&unpack(case.expected_file()?).map_err(task_error)?, folder)?;
    if !found.keys().eq(wanted.keys()) {
        let (found, wanted): (Vec<_>, Vec<_>) = (found.keys().collect(), wanted.keys().collect());
        return Ok(Score::none(format!("{folder:?} contains {found:?}, expected {wanted:?}")));
    }
    if found.is_empty() {
        return Err(upstream_error("both archives are empty"));
    }
    let mut options: Map<String, Value> = case.options.clone();
    options.retain(|name, _| name != "file_path" && name != "file_type");
    let (mut sum, mut told) = (0.0, Vec::new());
    for ((name, found), wanted) in found.iter().zip(wanted.values()) {
        let side = |bytes: &Option<Vec<u8>>| {
            let bytes = bytes.clone().ok_or_else(|| upstream_error(format!("{name} is a folder")))?;
            Ok(EvidenceValue::files_of(vec![Some(FileRef::new(name.clone(), bytes))]))
        };
        let (found, wanted) = (side(found)?, side(wanted)?);
        let inner = MetricInput { result: &found, expected: Some(&wanted), options: &options, ..*case };
        let mark = run(metric, &inner)?;
        if mark.score < 1.0 {
            told.push(format!("{name}: {}", mark.explanation));
        }
        sum += mark.score;
    }
    let score = sum / f64::from(u32::try_from(found.len()).unwrap_or(u32::MAX));
    let explanation = if told.is_empty() { "all members are equal".to_owned() } else { told.join("; ") };
    Ok(Score { score, explanation })
}

/// Returns the name of the metric that compares members of a type.
pub(super) fn comparator(kind: &str) -> Result<&'static str, MetricError> {
    Ok(match kind {
        "text" => "compare_text_file",
        "pdf" => "compare_pdfs",
        "docx" => "compare_docx_files",
        "ppt" => "compare_pptx_files",
        "image" => "compare_images",
        "csv" => "compare_csv",
        "table" => "compare_table",
        "audio" => "compare_audios",
        "video" => "compare_videos",
        other => return Err(task_error(format!("members of type {other:?} cannot be compared"))),
    })
}

/// Returns the direct children of a folder.
pub(super) fn below(members: &Members, folder: &str) -> Result<Members, MetricError> {
    let folder = folder.trim_matches('/');
    let prefix = if folder.is_empty() || folder == "." { String::new() } else { format!("{folder}/") };
    let mut found = Members::new();
    let mut exists = prefix.is_empty();
    for (path, bytes) in members {
        let Some(rest) = path.strip_prefix(prefix.as_str()) else { continue };
        exists = true;
        match rest.split_once('/') {
            _ if rest.is_empty() => {}
            Some((name, _)) => {
                found.entry(name.to_owned()).or_insert(None);
            }
            None => {
                found.insert(rest.to_owned(), bytes.clone());
            }
        }
    }
    if exists { Ok(found) } else { Err(upstream_error(format!("the archive has no folder {folder:?}"))) }
}

/// Unpacks an archive whose format follows from its file name, as upstream does.
pub(super) fn unpack(file: &FileRef) -> Result<Members, String> {
    let name = file.name.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let failed = |error: String| format!("{}: {error}", file.name);
    if ends(&[".zip"]) {
        unzip(&file.bytes).map_err(failed)
    } else if ends(&[".tar.gz", ".tgz"]) {
        untar(flate2::read::MultiGzDecoder::new(Cursor::new(&file.bytes[..]))).map_err(failed)
    } else if ends(&[".tar"]) {
        untar(Cursor::new(&file.bytes[..])).map_err(failed)
    } else {
        Err(format!("{} has no archive extension (zip, tar, tar.gz, tgz)", file.name))
    }
}

pub(super) fn unzip(bytes: &[u8]) -> Result<Members, String> {
    let mut archive = Archive::open(bytes)?;
    let mut members = Members::new();
    for name in archive.names() {
        match name.strip_suffix('/') {
            Some(folder) => members.insert(folder.to_owned(), None),
            None => {
                let bytes = archive.read(&name)?;
                members.insert(name, bytes)
            }
        };
    }
    Ok(members)
}

fn untar(source: impl Read) -> Result<Members, String> {
    let mut archive = tar::Archive::new(source.take(TOTAL_LIMIT));
    let (mut members, mut left) = (Members::new(), TOTAL_LIMIT);
    for (at, entry) in archive.entries().map_err(|error| error.to_string())?.enumerate() {
        if at >= ENTRIES {
            return Err(format!("more than {ENTRIES} entries"));
        }
        let entry = entry.map_err(|error| format!("it cannot be unpacked: {error}"))?;
        let path = entry.path().map_err(|error| error.to_string())?.to_string_lossy().into_owned();
        let path = path.trim_start_matches("./").trim_end_matches('/').to_owned();
        let mut bytes = Vec::new();
        let folder = entry.header().entry_type().is_dir();
        if !folder {
            // A sparse file unpacks to more bytes than the archive holds.
            let read = entry.take(left + 1).read_to_end(&mut bytes);
            read.map_err(|error| format!("{path} cannot be unpacked: {error}"))?;
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| format!("{path} unpacks beyond the size limit: a bomb, or far too large"))?;
        }
        members.insert(path, (!folder).then_some(bytes));
    }
    Ok(members)
}

pub(super) fn is_document(name: &str) -> bool {
    name.to_lowercase().ends_with(".pdf")
}

/// Returns how alike the texts of two documents are, character by character.
fn document_likeness(case: &MetricInput<'_>, name: &str, sides: [Vec<u8>; 2]) -> Result<f64, MetricError> {
    let text = |bytes: Vec<u8>| {
        let file = FileRef::new(name, bytes);
        let pages = super::pdf::pages(case, &file)?.map_err(upstream_error)?;
        Ok::<Vec<char>, MetricError>(pages.concat().chars().collect())
    };
    let [found, wanted] = sides.map(text);
    crate::comparison::difflib::ratio(&found?, &wanted?)
}

pub(super) fn compare_zip(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let mut found = Archive::open(&file.bytes).map_err(upstream_error)?;
    let mut wanted = Archive::open(&case.expected_file()?.bytes).map_err(task_error)?;
    let (have, want) = (found.names(), wanted.names());
    let mut complaints: Vec<String> =
        want.difference(&have).map(|name| format!("{name} is missing")).collect();
    complaints.extend(have.difference(&want).map(|name| format!("{name} is unexpected")));
    if !complaints.is_empty() {
        return Ok(Score::unless(&complaints, ""));
    }
    for name in &have {
        if found.read(name).map_err(upstream_error)? == wanted.read(name).map_err(task_error)? {
            continue;
        }
        if is_document(name) {
            let files = [&mut found, &mut wanted].map(|archive| archive.read(name));
            let [Ok(Some(found)), Ok(Some(wanted))] = files else {
                return Err(upstream_error(format!("{name} cannot be unpacked")));
            };
            let likeness = document_likeness(case, name, [found, wanted])?;
            if likeness >= ALIKE {
                continue;
            }
            return Ok(Score::none(format!("the texts of {name} are only {:.1} % alike", likeness * 100.0)));
        }
        return Ok(Score::none(format!("{name} differs")));
    }
    Ok(Score::full(format!("all {} members are equal", have.len())))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::untar;

    /// One entry whose pax records come before it.
    fn packed(records: &[(&str, &str)], name: &str, content: &[u8]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let bytes = records.iter().map(|(key, value)| (*key, value.as_bytes()));
        builder.append_pax_extensions(bytes).expect("appends");
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, name, content).expect("appends");
        builder.into_inner().expect("whole")
    }

    /// As Python's `tarfile` takes them: a record stands above the header's field.
    #[test]
    fn a_name_in_a_pax_record_is_the_members_and_a_size_that_lies_gives_no_member() {
        let members =
            untar(Cursor::new(packed(&[("path", "real.txt")], "shown.txt", b"text"))).expect("unpacks");
        assert_eq!(
            members.into_iter().collect::<Vec<_>>(),
            [("real.txt".to_owned(), Some(b"text".to_vec()))]
        );
        for size in ["999999999999", "100000", "-1", "text"] {
            let found = untar(Cursor::new(packed(&[("size", size)], "a.txt", b"text")));
            let is_whole = |members: &super::Members| members.get("a.txt") == Some(&Some(b"text".to_vec()));
            assert!(found.as_ref().map_or(true, is_whole), "{size}: {found:?}");
        }
        // A name that leaves the folder is a name here: nothing is written to a disk.
        let members =
            untar(Cursor::new(packed(&[("path", "../../out")], "a.txt", b"text"))).expect("unpacks");
        assert!(members.contains_key("../../out"), "{members:?}");
    }
}
