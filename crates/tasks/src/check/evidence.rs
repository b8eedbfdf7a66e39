//! What a check looked at: typed values, and files by hash, so that a grade can be repeated offline.

use std::borrow::Cow;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::BlobHash;
use apprentice_trace::Redactor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use apprentice_trace::hex;

/// The name of the evidence format.
pub const EVIDENCE_SCHEMA: &str = "apprentice.evidence/1";
const INDEX: &str = "evidence.json";

/// Everything one check looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// [`EVIDENCE_SCHEMA`].
    pub schema: String,
    /// One piece per metric; empty when the metrics take none.
    pub results: Vec<Piece>,
    /// What was expected, one per metric, where something is.
    pub expected: Vec<Option<Piece>>,
}

/// What one getter found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// The getter.
    pub getter: String,
    /// The command or path it looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
}

/// The kinds of finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// Nothing is there (a missing file, say): what the world holds, not a fault.
    Absent {
        /// In words.
        why: String,
    },
    /// A value.
    Value {
        /// The value.
        value: Value,
    },
    /// Files; those that were not there are absent.
    Files {
        /// In the order that the metric gets them.
        files: Vec<Option<FileRef>>,
        /// Others that were fetched with them, which some metrics look up by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        beside: Vec<FileRef>,
    },
}

/// A file kept as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRef {
    /// Its name, as the task calls it.
    pub name: String,
    /// SHA-256 of its bytes, which is its name in the evidence folder.
    pub hash: BlobHash,
    /// Its bytes; read back by [`Evidence::load`].
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

/// Why evidence cannot be kept or read back.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A file of it cannot be written or read.
    #[error("evidence file {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Its index is not of this form.
    #[error("{} is not an evidence index", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A file's bytes are not those that were kept.
    #[error("evidence file {} was changed since it was kept", path.display())]
    Changed {
        /// Which.
        path: PathBuf,
    },
}

impl FileRef {
    /// A file's bytes under a name.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let hash = BlobHash::new(hex(&Sha256::digest(&bytes)));
        Self { name: name.into(), hash, bytes: bytes.into() }
    }

    /// Its bytes as text, broken ones replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Evidence {
    /// Takes known secrets out of values, commands and files that are text. It is done before anything is judged
    /// or kept, so that a grade is repeated from what it was made of. Files of any other kind stay as they are,
    /// byte for byte: a picture or an archive with a hole would be another one.
    pub fn redact(&mut self, redactor: &Redactor) {
        for piece in self.results.iter_mut().chain(self.expected.iter_mut().flatten()) {
            if let Some(command) = &mut piece.command {
                redact_text(command, redactor);
            }
            match &mut piece.found {
                Found::Absent { why } => redact_text(why, redactor),
                Found::Value { value } => redact_value(value, redactor),
                Found::Files { files, beside } => {
                    files.iter_mut().flatten().chain(beside).for_each(|file| redact_file(file, redactor));
                }
            }
        }
    }

    /// Writes the evidence into a folder and syncs it.
    pub fn save(&self, folder: &Path) -> Result<(), EvidenceError> {
        fs::create_dir_all(folder).map_err(|source| EvidenceError::Io { path: folder.to_owned(), source })?;
        for file in self.files() {
            keep(&folder.join(file.hash.as_str()), &file.bytes)?;
        }
        let path = folder.join(INDEX);
        let json = serde_json::to_vec_pretty(self)
            .map_err(|source| EvidenceError::Form { path: path.clone(), source })?;
        keep(&path, &json)?;
        let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|source| EvidenceError::Io { path: folder.to_owned(), source })
    }

    /// Reads evidence back, with its files.
    pub fn load(folder: &Path) -> Result<Self, EvidenceError> {
        let path = folder.join(INDEX);
        let json = fs::read(&path).map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
        let mut evidence: Self =
            serde_json::from_slice(&json).map_err(|source| EvidenceError::Form { path, source })?;
        let pieces = evidence.results.iter_mut().chain(evidence.expected.iter_mut().flatten());
        for piece in pieces {
            let Found::Files { files, beside } = &mut piece.found else { continue };
            for file in files.iter_mut().flatten().chain(beside) {
                let path = folder.join(file.hash.as_str());
                // Evidence may come from elsewhere: what is no hash may be a way to another place.
                if !file.hash.as_str().chars().all(|c| c.is_ascii_hexdigit()) {
                    return Err(EvidenceError::Changed { path });
                }
                let bytes =
                    fs::read(&path).map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
                let loaded = FileRef::new(file.name.clone(), bytes);
                if loaded.hash != file.hash {
                    return Err(EvidenceError::Changed { path });
                }
                *file = loaded;
            }
        }
        Ok(evidence)
    }

    /// All files of all pieces.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileRef> {
        let pieces = self.results.iter().chain(self.expected.iter().flatten());
        pieces.flat_map(|piece| piece.found.files().iter().flatten().chain(piece.found.beside()))
    }
}

impl Found {
    /// The files, if these are files.
    pub fn files(&self) -> &[Option<FileRef>] {
        match self {
            Self::Files { files, .. } => files,
            Self::Absent { .. } | Self::Value { .. } => &[],
        }
    }

    /// Files that lie beside them.
    fn beside(&self) -> &[FileRef] {
        match self {
            Self::Files { beside, .. } => beside,
            Self::Absent { .. } | Self::Value { .. } => &[],
        }
    }

    /// Files with none beside them.
    pub fn files_of(files: Vec<Option<FileRef>>) -> Self {
        Self::Files { files, beside: Vec::new() }
    }
}

/// Writes a file and waits until it is on disk.
fn redact_text(text: &mut String, redactor: &Redactor) {
    if let Cow::Owned(redacted) = redactor.apply_known(text) {
        *text = redacted;
    }
}

fn redact_value(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => redact_text(text, redactor),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(item, redactor)),
        Value::Object(fields) => {
            for (mut name, mut field) in std::mem::take(fields) {
                redact_text(&mut name, redactor);
                redact_value(&mut field, redactor);
                fields.insert(name, field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_file(file: &mut FileRef, redactor: &Redactor) {
    let Ok(text) = std::str::from_utf8(&file.bytes) else { return };
    if let Cow::Owned(redacted) = redactor.apply_known(text) {
        *file = FileRef::new(std::mem::take(&mut file.name), redacted.into_bytes());
    }
}

pub(super) fn keep(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let written = fs::File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|source| EvidenceError::Io { path: path.to_owned(), source })
}
