//! Attachments: the files of an imported package, stored below `.meta/attachments` under the SHA-256 of their content.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::hash::hash;
use crate::BookError;

const FOLDER: &str = ".meta/attachments";

/// The package that a skill was created from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedPackage {
    /// The name of the package's folder: one part of a path.
    #[serde(deserialize_with = "part")]
    pub name: String,
    /// The package's files, by path.
    pub files: Vec<AttachedFile>,
    /// Hash of the skill's view when the package was attached. The package represents the skill as long as this hash
    /// matches.
    pub view_hash: String,
    /// Tools that the skill brings, by server. An empty list means all tools of that server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Vec<String>>,
    /// Whether the skill is active from the start of a trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub active: bool,
}

/// One file of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedFile {
    /// Path within the package, with `/` as separator. It leads to no other place.
    #[serde(deserialize_with = "inner_path")]
    pub path: String,
    /// SHA-256 of the content.
    pub sha256: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// Returns whether a text is one part of a path, and leads to no other place.
pub fn is_part(text: &str) -> bool {
    !text.is_empty()
        && text != "."
        && text != ".."
        && !text.contains(['/', '\\'])
        && !text.chars().any(char::is_control)
}

fn part<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if is_part(&name) { Ok(name) } else { Err(D::Error::custom(format!("{name:?} is no name of a folder"))) }
}

fn inner_path<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let path = String::deserialize(from)?;
    if path.split('/').all(is_part) {
        Ok(path)
    } else {
        Err(D::Error::custom(format!("{path:?} leads out of its package")))
    }
}

/// Shortest run of printable characters in a binary file that is worth scanning.
const MIN_PRINTABLE_RUN: usize = 8;

/// The readable content of a package file.
pub enum FileText {
    /// A text file, decoded.
    Text(String),
    /// A binary file, reduced to the runs of printable characters in it.
    Binary(String),
}

/// Reads a file the way a person or model opening it would: as UTF-8, or as UTF-16 with a byte order mark. Returns the
/// printable strings of any other file.
pub fn reading(bytes: &[u8]) -> FileText {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => FileText::Text(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => FileText::Text(wide(rest, u16::from_be_bytes)),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => FileText::Text(text.to_owned()),
            Ok(_) | Err(_) => FileText::Binary(printable_strings(bytes)),
        },
    }
}

fn printable_strings(bytes: &[u8]) -> String {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let runs = bytes.split(|byte| !plain(byte)).filter(|run| run.len() >= MIN_PRINTABLE_RUN);
    runs.map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n")
}

/// Stores files under their hashes. Skips files that are already stored.
pub(crate) fn keep(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<AttachedFile>, BookError> {
    let attachments = folder.join(FOLDER);
    let mut kept = Vec::new();
    for (path, bytes) in files {
        let sha256 = hash(bytes);
        let target = attachments.join(&sha256);
        let failed = |source| BookError::Io { path: target.clone(), source };
        if !target.is_file() {
            fs::create_dir_all(&attachments).map_err(failed)?;
            let mut draft = tempfile::NamedTempFile::new_in(&attachments).map_err(failed)?;
            draft.write_all(bytes).map_err(failed)?;
            draft.as_file().sync_data().map_err(failed)?;
            draft.persist(&target).map_err(|error| failed(error.error))?;
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        kept.push(AttachedFile { path: path.clone(), sha256, bytes: length });
    }
    Ok(kept)
}

/// Reads a stored file. Returns `None` if its content no longer matches its hash.
pub(crate) fn read(folder: &Path, sha256: &str) -> Option<Vec<u8>> {
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = apprentice_files::read(folder.join(FOLDER).join(sha256)).ok()?;
    (hash(&bytes) == sha256).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{FileText, reading};

    #[test]
    fn text_is_decoded_and_of_other_files_runs_of_eight_characters_are_read() {
        let text = |bytes: &[u8]| match reading(bytes) {
            FileText::Text(text) => text,
            FileText::Binary(strings) => format!("binary: {strings}"),
        };
        assert_eq!(text(b"\xff\xfea\0b\0"), "ab");
        assert_eq!(text(b"\xfe\xff\0a\0b"), "ab");
        assert_eq!(text(b"\0password\0secrets\0"), "binary: password");
    }
}
