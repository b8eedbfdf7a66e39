//! The reasons for which a suite cannot be loaded: each names the file, and where there is one, the place in it.

use std::path::PathBuf;

use super::source_pos::SourcePos;
use crate::task::SuiteFileError;

/// The reason a suite cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file below the suite's folder cannot be read.
    #[error(transparent)]
    File(SuiteFileError),
    /// The folder holds no suite file, or several.
    #[error("{} holds {found}; name one suite file", folder.display())]
    NoSuite {
        /// The folder.
        folder: PathBuf,
        /// The candidates found in the folder.
        found: String,
    },
    /// The folder or file is of another kind of suite.
    #[error("{} is {what}", path.display())]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// What it is, with the remedy if there is one.
        what: &'static str,
    },
    /// The suite file names a task that has no file.
    #[error("{}:{spot}: task {id:?} has no file {}", suite.display(), path.display())]
    NoTask {
        /// The suite file.
        suite: PathBuf,
        /// The position of the id in the suite file.
        spot: SourcePos,
        /// The task's id.
        id: String,
        /// The expected path of the task file.
        path: PathBuf,
    },
    /// A file has invalid content.
    #[error("{}:{spot}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        spot: SourcePos,
        /// The problem, with the remedy.
        problem: String,
    },
}
