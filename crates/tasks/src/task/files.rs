//! Reads files of a suite's folder, and of nothing else: a suite may come from strangers, and a link in it must not lead
//! to files of this machine.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// Maximum size of a file of a suite, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// The reason a file of a suite cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteFileError {
    /// The file, or the folder, cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The path, or a link on it, leads out of the suite's folder.
    #[error("{} leads out of the suite's folder", .0.display())]
    Outside(PathBuf),
    /// The path names a folder, a pipe or a device.
    #[error("{} is not a file", .0.display())]
    NoFile(PathBuf),
    /// The file is too large.
    #[error("{} is larger than {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
}

/// Reads a file below a folder. Links are followed as long as they stay below it.
///
/// # Errors
///
/// Fails if the path leads out of `root`, or if the file cannot be read, is no plain file, or is too large.
pub async fn read_beneath(root: &Path, path: &Path) -> Result<Vec<u8>, SuiteFileError> {
    let (root, path) = (root.to_owned(), path.to_owned());
    let place = root.join(&path);
    let read = tokio::task::spawn_blocking(move || read_blocking(&root, &path)).await;
    read.unwrap_or_else(|error| Err(SuiteFileError::Read { path: place, cause: io::Error::other(error) }))
}

/// Same as [`read_beneath`], for code that may block.
pub(crate) fn read_blocking(root: &Path, path: &Path) -> Result<Vec<u8>, SuiteFileError> {
    let place = root.join(path);
    let failed = |cause: io::Error| match cause.kind() {
        // The crate reports an escape with this kind; a file of mode 000 has the system's code besides.
        io::ErrorKind::PermissionDenied if cause.raw_os_error().is_none() => {
            SuiteFileError::Outside(place.clone())
        }
        _ => SuiteFileError::Read { path: place.clone(), cause },
    };
    let folder = Dir::open_ambient_dir(
        if root.as_os_str().is_empty() { Path::new(".") } else { root },
        ambient_authority(),
    )
    .map_err(failed)?;
    // A pipe would block when it is opened.
    if !folder.metadata(path).map_err(failed)?.is_file() {
        return Err(SuiteFileError::NoFile(place));
    }
    let mut bytes = Vec::new();
    folder.open(path).map_err(failed)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SuiteFileError::TooLarge(place));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    use super::{SuiteFileError, read_blocking};

    #[test]
    fn links_are_followed_below_the_folder_and_nowhere_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let suite = folder.path().join("suite");
        fs::create_dir_all(suite.join("files/deep")).expect("made");
        fs::write(folder.path().join("secret"), "secret").expect("written");
        fs::write(suite.join("files/own"), "own").expect("written");
        symlink("../own", suite.join("files/deep/inside")).expect("linked");
        symlink("../../../secret", suite.join("files/deep/outside")).expect("linked");
        symlink(folder.path().join("secret"), suite.join("files/absolute")).expect("linked");
        symlink("../..", suite.join("files/up")).expect("linked");
        let read = |path: &str| read_blocking(&suite, Path::new(path));
        assert_eq!(read("files/deep/inside").expect("reads"), b"own");
        for path in ["files/deep/outside", "files/absolute", "files/up/secret", "../secret"] {
            let error = read(path).expect_err("is refused");
            assert!(matches!(error, SuiteFileError::Outside(_)), "{path}: {error:?}");
        }
        assert!(matches!(read("files/none"), Err(SuiteFileError::Read { .. })));
    }

    #[test]
    fn folders_pipes_and_devices_are_no_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status().expect("runs");
        assert!(made.success());
        fs::create_dir(folder.path().join("folder")).expect("made");
        for path in ["pipe", "folder"] {
            let error = read_blocking(folder.path(), Path::new(path)).expect_err("is refused");
            assert!(matches!(error, SuiteFileError::NoFile(_)), "{path}: {error:?}");
        }
    }
}
