//! Where the files of a run come from that are not on this machine yet.

use std::fmt::Debug;
use std::io;
use std::path::Path;

/// Brings files into the folder of a run, or of an experiment, when they are about to be read. Callers wait for it, so that it must
/// not be called where nothing may wait.
pub trait FileSource: Debug + Send + Sync {
    /// Brings plans, rows and skillbooks as they are now.
    ///
    /// # Errors
    ///
    /// Fails if the source does not answer or a file cannot be written.
    fn refresh(&self) -> io::Result<()>;

    /// Brings the file at a path, or all files of the attempt whose folder it is. What the source does not have stays missing, and is
    /// no error.
    ///
    /// # Errors
    ///
    /// Fails if the source does not answer or a file cannot be written.
    fn bring(&self, path: &Path) -> io::Result<()>;
}
