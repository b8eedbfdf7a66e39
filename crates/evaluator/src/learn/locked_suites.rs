//! The suites that a book is locked to: beside the log stands an index of their held-out tasks, as salted hashes, so that
//! whatever is learned later keeps clear of them without the suites at hand.

use std::fs;
use std::io;
use std::path::Path;

pub use apprentice_screening::leak::HeldOutError as LockedSuitesError;
use apprentice_screening::leak::{HELD_OUT_FOLDER, HeldOutIndex, indexes_of_book};

use super::held_out::HeldOutTasks;
use crate::split::SplitLock;

/// Characters of a lock's hash in a file's name.
const HASH: usize = 12;

/// The held-out tasks of every suite that a book is locked to.
#[derive(Clone, Debug, Default)]
pub struct LockedSuites(Vec<HeldOutTasks>);

impl LockedSuites {
    /// Reads the indexes of a book. A book without any is locked to no suite.
    pub fn of_book(book: &Path) -> Result<Self, LockedSuitesError> {
        Ok(Self(indexes_of_book(book)?.into_iter().map(HeldOutTasks::from).collect()))
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
    let folder = book.join(HELD_OUT_FOLDER);
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
