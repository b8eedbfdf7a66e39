//! Files that came with a package: kept below `.meta/attachments`, each under the hash of its content.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::BookError;
use super::state::hash;

const FOLDER: &str = ".meta/attachments";

/// A package that a skill was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The name of its folder.
    pub name: String,
    /// Its files, by path.
    pub files: Vec<AttachedFile>,
    /// The hash of the skill's view when it was made of the package: while it holds, the package is the skill.
    pub view_hash: String,
    /// Tools that the skill brings, by server; an empty list stands for all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Vec<String>>,
    /// Whether it is active from the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub active: bool,
}

/// One file of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedFile {
    /// Its path within the package, with `/`.
    pub path: String,
    /// The hash of its content.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// A run of plain characters in a binary file that is long enough to say something.
const SAYS: usize = 8;

/// What a file of a package says.
pub(crate) enum Reading {
    /// It is text.
    Text(String),
    /// It is none; these plain words stand in it.
    Binary(String),
}

/// Reads a file as whoever opens it would: UTF-8, or UTF-16 with a mark; of anything else, the plain words in it.
pub(crate) fn reading(bytes: &[u8]) -> Reading {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => Reading::Text(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Reading::Text(wide(rest, u16::from_be_bytes)),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Reading::Text(text.to_owned()),
            Ok(_) | Err(_) => Reading::Binary(plain_words(bytes)),
        },
    }
}

fn plain_words(bytes: &[u8]) -> String {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let runs = bytes.split(|byte| !plain(byte)).filter(|run| run.len() >= SAYS);
    runs.map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n")
}

/// Keeps files; one that is there already is not written again.
pub(super) fn keep(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<AttachedFile>, BookError> {
    let place = folder.join(FOLDER);
    let mut kept = Vec::new();
    for (path, bytes) in files {
        let sha256 = hash(bytes);
        let target = place.join(&sha256);
        let failed = |source| BookError::Io { path: target.clone(), source };
        if !target.is_file() {
            fs::create_dir_all(&place).map_err(failed)?;
            let mut draft = tempfile::NamedTempFile::new_in(&place).map_err(failed)?;
            draft.write_all(bytes).map_err(failed)?;
            draft.as_file().sync_data().map_err(failed)?;
            draft.persist(&target).map_err(|error| failed(error.error))?;
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        kept.push(AttachedFile { path: path.clone(), sha256, bytes: length });
    }
    Ok(kept)
}

/// A kept file whose content is still what its name says.
pub(super) fn read(folder: &Path, sha256: &str) -> Option<Vec<u8>> {
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = fs::read(folder.join(FOLDER).join(sha256)).ok()?;
    (hash(&bytes) == sha256).then_some(bytes)
}
