//! The ways in which opening and writing a book fail, and the parts of it that could not be read.

use std::io;
use std::path::PathBuf;

use apprentice_screening::leak::HeldOutError;

/// A part of a book that could not be read. The rest of the book still opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the file, relative to the book.
    pub path: String,
    /// Description of the problem, with the line number if known.
    pub what: String,
}

/// An error while opening or writing a book.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The folder does not exist.
    #[error("there is no skillbook at {0}; create the folder, or name another with --skillbook")]
    Missing(PathBuf),
    /// A file could not be read or written.
    #[error("{path}: cannot be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// An index of held-out tasks could not be read. Nothing is written without it.
    #[error(transparent)]
    HeldOut(#[from] HeldOutError),
    /// Edits by people that are not recorded yet.
    #[error("pages changed by hand are not recorded yet: {}; run `apprentice skills sync`", .0.join(", "))]
    Pending(Vec<String>),
    /// Another process is writing the book.
    #[error("{0}: another process is writing this skillbook")]
    Locked(PathBuf),
    /// An operation could not be serialized.
    #[error("an operation could not be written as JSON")]
    Json(#[from] serde_json::Error),
    /// An earlier write failed halfway.
    #[error("an earlier write to {0} failed; open the skillbook again")]
    Broken(PathBuf),
}
