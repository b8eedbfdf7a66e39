//! The suites that a book is locked to: beside the log stands an index of their held-out tasks, as salted hashes, so that
//! whatever is learned later keeps clear of them without the suites at hand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_skills::leak::HeldOutIndex;

use super::held_out::HeldOutTasks;
use crate::split::SplitLock;

/// The folder of the indexes, in a book.
const FOLDER: &str = ".meta/held-out";
/// Characters of a lock's hash in a file's name.
const HASH: usize = 12;

/// The held-out tasks of every suite that a book is locked to.
#[derive(Clone, Debug, Default)]
pub struct LockedSuites(Vec<HeldOutTasks>);

/// The reason the indexes of a book cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockedSuitesError {
    /// A file cannot be read or written.
    #[error("{path}: the index of held-out tasks cannot be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A file is no index.
    #[error("{path}: not an index of held-out tasks; learn from the suite again to write it anew")]
    Form {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: serde_json::Error,
    },
}

impl LockedSuites {
    /// Reads the indexes of a book. A book without any is locked to no suite.
    pub fn of_book(book: &Path) -> Result<Self, LockedSuitesError> {
        let folder = book.join(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(LockedSuitesError::Io { path: folder, source }),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(|source| LockedSuitesError::Io { path: folder.clone(), source })?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Adds the held-out tasks of a suite at hand.
    #[must_use]
    pub fn with(mut self, suite: Option<HeldOutTasks>) -> Self {
        self.0.extend(suite);
        self
    }

    /// Returns whether the book is locked to no suite.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl HeldOutIndex for LockedSuites {
    fn find(&self, text: &str) -> Option<String> {
        self.0.iter().find_map(|suite| suite.find(text))
    }
}

/// Locks a book to a suite: keeps the index of its held-out tasks beside the log. A lock that is kept already is left as
/// it is.
pub fn lock_book(book: &Path, lock: &SplitLock, held_out: &HeldOutTasks) -> Result<(), LockedSuitesError> {
    let folder = book.join(FOLDER);
    let path = folder.join(format!("{}.json", &lock.hash()[..HASH]));
    let failed = |source| LockedSuitesError::Io { path: path.clone(), source };
    if path.is_file() {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    let text = serde_json::to_string(held_out)
        .map_err(|source| LockedSuitesError::Form { path: path.clone(), source })?;
    // A reader sees the whole file or none.
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn read(path: PathBuf) -> Result<HeldOutTasks, LockedSuitesError> {
    let text =
        fs::read_to_string(&path).map_err(|source| LockedSuitesError::Io { path: path.clone(), source })?;
    serde_json::from_str(&text).map_err(|source| LockedSuitesError::Form { path, source })
}
