//! The lock of the background review: one review per book at a time, over all processes. The system releases the lock of
//! a process that was killed.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use apprentice_skillbook::BookError;

/// A held lock.
#[derive(Debug)]
pub struct ReviewLock {
    _file: File,
}

impl ReviewLock {
    /// Takes the lock. `None` if another review is running.
    pub fn try_take(book: &Path) -> Result<Option<Self>, BookError> {
        let meta = book.join(".meta");
        let failed = |source| BookError::Io { path: meta.clone(), source };
        fs::create_dir_all(&meta).map_err(failed)?;
        let file = apprentice_files::open_lock(meta.join("review.lock"));
        let file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}
