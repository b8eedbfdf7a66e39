//! Reads files that are one JSON document.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::error::ReadError;
use crate::unpacked;

/// Maximum number of bytes of a document.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// Reads the bytes of a document.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    unpacked::read_at_most(path, MAX_DOCUMENT_BYTES).map_err(|error| ReadError::file(path, error))
}

/// Reads a document.
pub(crate) fn read(path: &Path, program: &'static str) -> Result<Value, ReadError> {
    parse(path, program, &bytes(path)?)
}

/// Reads a document from its bytes.
pub(crate) fn parse(path: &Path, program: &'static str, bytes: &[u8]) -> Result<Value, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(path, program, &error))
}

/// Reads a document that is one thing, or a list of them.
pub(crate) fn list_of<'a, T: Deserialize<'a>>(
    path: &Path,
    program: &'static str,
    bytes: &'a [u8],
) -> Result<Vec<T>, ReadError> {
    let is_list = bytes.trim_ascii_start().first() == Some(&b'[');
    let read = if is_list {
        serde_json::from_slice(bytes)
    } else {
        serde_json::from_slice(bytes).map(|one| vec![one])
    };
    read.map_err(|error| damaged(path, program, &error))
}

fn damaged(path: &Path, program: &'static str, error: &serde_json::Error) -> ReadError {
    ReadError::Damaged { path: path.to_owned(), program, line: None, why: error.to_string() }
}
