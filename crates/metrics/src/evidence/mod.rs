//! The evidence of a check: typed values, and files stored by hash, so that a grade can be recomputed offline.

mod answer_judgement;
mod reading_content;
mod test_subject;

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

pub use self::answer_judgement::{
    AnswerComparison, AnswerJudgement, AnswerOutcome, AnswerQuestion, AnswerVerdict,
};
pub use self::reading_content::{DOCUMENT_READER, MEDIA_READER, ReadingContent, ReadingKind, TEXT_READER};
pub use self::test_subject::{function as test_function, subject as test_subject};
use apprentice_runs::layout::EVIDENCE_FILE;
use apprentice_trace::hex;

/// Name and version of the evidence format.
pub const EVIDENCE_SCHEMA: &str = "apprentice.evidence/1";

/// All evidence of one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// [`EVIDENCE_SCHEMA`].
    pub schema: String,
    /// Results, one per metric; empty when the metrics take none.
    pub results: Vec<EvidenceItem>,
    /// Expected values, one per metric; `None` for a metric without one.
    pub expected: Vec<Option<EvidenceItem>>,
    /// What programs of others read from the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<Reading>,
    /// What a model said of answers, as far as it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<AnswerJudgement>,
}

/// The output of one getter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceItem {
    /// The getter's name.
    pub getter: String,
    /// The command that it ran or the path that it read, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The command's exit code; `None` for getters that run no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// What the command wrote on its error stream; absent if nothing. It is not judged by a check of the command's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<String>,
    /// The getter's duration in milliseconds.
    pub took_ms: u64,
    /// The value or files that it found.
    #[serde(flatten)]
    pub found: EvidenceValue,
}

/// A getter's finding, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum EvidenceValue {
    /// The object does not exist, such as a missing file. This is a fact about the machine, not an error.
    Absent {
        /// The reason, for reports.
        why: String,
    },
    /// A JSON value.
    Value {
        /// The value.
        value: Value,
    },
    /// Files; `None` stands for one that does not exist.
    Files {
        /// Files passed to the metric, in order.
        files: Vec<Option<FileRef>>,
        /// Files fetched along with them, which some metrics look up by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        beside: Vec<FileRef>,
    },
}

/// A file saved as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRef {
    /// The file's name in the task.
    pub name: String,
    /// SHA-256 of its bytes, also its file name in the evidence folder.
    pub hash: BlobHash,
    /// Its bytes, restored by [`Evidence::load`].
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

/// One reading, in the evidence of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// What was read.
    pub kind: ReadingKind,
    /// The hash of the file that was read; of a test suite, of all its files.
    pub of: BlobHash,
    /// A JSON file with a [`ReadingContent`].
    pub content: FileRef,
}

/// An error while saving or loading evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// An evidence file cannot be written or read.
    #[error("evidence file {}", path.display())]
    Io {
        /// The file's path.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
    /// The index is not valid JSON of this format.
    #[error("{} is not an evidence index", path.display())]
    Format {
        /// The file's path.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: serde_json::Error,
    },
    /// A file's bytes no longer match its hash.
    #[error("evidence file {} was changed since it was saved", path.display())]
    Changed {
        /// The file's path.
        path: PathBuf,
    },
}

impl FileRef {
    /// Hashes a file's bytes and stores them under a name.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let hash = BlobHash::new(hex(&Sha256::digest(&bytes)));
        Self { name: name.into(), hash, bytes: bytes.into() }
    }

    /// Decodes the bytes as UTF-8, with invalid sequences replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Reading {
    /// Stores what was read.
    pub fn new(kind: ReadingKind, of: BlobHash, content: &ReadingContent) -> Self {
        let json = serde_json::to_vec(content).unwrap_or_default();
        Self { kind, of, content: FileRef::new("reading.json", json) }
    }

    /// Returns what was read, or why the stored form is none.
    pub(crate) fn read(&self) -> Result<ReadingContent, serde_json::Error> {
        serde_json::from_slice(&self.content.bytes)
    }
}

impl Evidence {
    /// Removes known secrets from values, commands and text files. This happens before judging and saving, so that a
    /// later grade is computed from the same evidence. Binary files stay unchanged byte for byte, because redaction
    /// would corrupt a picture or an archive.
    pub fn redact(&mut self, redactor: &Redactor) {
        for piece in self.results.iter_mut().chain(self.expected.iter_mut().flatten()) {
            for text in [&mut piece.command, &mut piece.errors].into_iter().flatten() {
                redact_text(text, redactor);
            }
            match &mut piece.found {
                EvidenceValue::Absent { why } => redact_text(why, redactor),
                EvidenceValue::Value { value } => redact_value(value, redactor),
                EvidenceValue::Files { files, beside } => {
                    files.iter_mut().flatten().chain(beside).for_each(|file| redact_file(file, redactor));
                }
            }
        }
        self.readings.iter_mut().for_each(|reading| redact_file(&mut reading.content, redactor));
        // The question itself is left as it was asked: by it a judgement is found.
        let judged = self.judgements.iter_mut().flat_map(AnswerJudgement::texts_mut);
        judged.for_each(|text| redact_text(text, redactor));
    }

    /// Writes the evidence into a folder and syncs it to disk.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written or synced, such as on a full disk.
    pub fn save(&self, folder: &Path) -> Result<(), EvidenceError> {
        fs::create_dir_all(folder).map_err(|source| EvidenceError::Io { path: folder.to_owned(), source })?;
        for file in self.files().chain(self.readings.iter().map(|reading| &reading.content)) {
            write_synced(&folder.join(file.hash.as_str()), &file.bytes)?;
        }
        let path = folder.join(EVIDENCE_FILE);
        let json = serde_json::to_vec_pretty(self)
            .map_err(|source| EvidenceError::Format { path: path.clone(), source })?;
        write_synced(&path, &json)?;
        let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|source| EvidenceError::Io { path: folder.to_owned(), source })
    }

    /// Loads evidence and its files, and verifies their hashes.
    ///
    /// # Errors
    ///
    /// Fails if the index or a file cannot be read, or if a file was changed since it was saved.
    pub fn load(folder: &Path) -> Result<Self, EvidenceError> {
        let path = folder.join(EVIDENCE_FILE);
        let json = apprentice_files::read(&path)
            .map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
        let mut evidence: Self =
            serde_json::from_slice(&json).map_err(|source| EvidenceError::Format { path, source })?;
        let Self { results, expected, readings, .. } = &mut evidence;
        for piece in results.iter_mut().chain(expected.iter_mut().flatten()) {
            let EvidenceValue::Files { files, beside } = &mut piece.found else { continue };
            files.iter_mut().flatten().chain(beside).try_for_each(|file| load_file(file, folder))?;
        }
        readings.iter_mut().try_for_each(|reading| load_file(&mut reading.content, folder))?;
        Ok(evidence)
    }

    /// Iterates over all files of all results and expected values.
    pub fn files(&self) -> impl Iterator<Item = &FileRef> {
        let pieces = self.results.iter().chain(self.expected.iter().flatten());
        pieces.flat_map(|piece| piece.found.files().iter().flatten().chain(piece.found.beside()))
    }
}

impl EvidenceValue {
    /// Returns the files, or an empty slice for other kinds.
    pub fn files(&self) -> &[Option<FileRef>] {
        match self {
            Self::Files { files, .. } => files,
            Self::Absent { .. } | Self::Value { .. } => &[],
        }
    }

    /// Returns the files fetched along with the metric's own.
    pub(crate) fn beside(&self) -> &[FileRef] {
        match self {
            Self::Files { beside, .. } => beside,
            Self::Absent { .. } | Self::Value { .. } => &[],
        }
    }

    /// Returns files without companions.
    pub fn files_of(files: Vec<Option<FileRef>>) -> Self {
        Self::Files { files, beside: Vec::new() }
    }
}

/// Returns the files that a test suite finds beside itself: those of the result, and what came with either side.
pub fn tested_files<'a>(found: &'a EvidenceValue, wanted: Option<&'a EvidenceValue>) -> Vec<&'a FileRef> {
    let beside = found.beside().iter().chain(wanted.into_iter().flat_map(EvidenceValue::beside));
    found.files().iter().flatten().chain(beside).collect()
}

/// Restores a file's bytes from the evidence folder.
fn load_file(file: &mut FileRef, folder: &Path) -> Result<(), EvidenceError> {
    let path = folder.join(file.hash.as_str());
    // Evidence may come from an untrusted source: a name that is not a hash could escape the folder.
    if !file.hash.as_str().chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(EvidenceError::Changed { path });
    }
    let bytes =
        apprentice_files::read(&path).map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
    let loaded = FileRef::new(file.name.clone(), bytes);
    if loaded.hash != file.hash {
        return Err(EvidenceError::Changed { path });
    }
    *file = loaded;
    Ok(())
}

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

/// Writes a file and syncs it to disk.
///
/// # Errors
///
/// Fails if the file cannot be created, written or synced.
pub fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let written = fs::File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|source| EvidenceError::Io { path: path.to_owned(), source })
}
