//! The folder of the control sockets: this user's alone, and reached by its descriptor, so that no other user can put a socket
//! of theirs in the way, and so that a long path does not exceed what an address of a socket may hold.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;

/// The folder's name in the state folder.
const FOLDER: &str = "control";
/// The end of a socket's name, after the process id.
const ENDING: &str = ".sock";

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It cannot be opened.
    #[error("{} cannot be used for control sockets", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It is open to others.
    #[error("{} is open to other users: remove it, and it is made anew", .0.display())]
    Shared(PathBuf),
}

/// The folder of the control sockets.
#[derive(Debug)]
pub struct ControlPlace {
    folder: OwnedFd,
}

impl ControlPlace {
    /// Opens the folder below the state folder that `state` is a descriptor of, or creates it. `path` names it in messages.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created, or is open to other users: remove it then, and it is made anew.
    pub fn open(state: &impl AsFd, path: &Path) -> Result<Self, PlaceError> {
        let path = path.join(FOLDER);
        let failed = |error: Errno| PlaceError::Open { path: path.clone(), source: error.into() };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        match mkdirat(state, FOLDER, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let folder = openat(state, FOLDER, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(failed)?;
        let facts = fstat(&folder).map_err(failed)?;
        let is_ours = facts.st_uid == rustix::process::geteuid().as_raw() && facts.st_mode & 0o077 == 0;
        if is_ours { Ok(Self { folder }) } else { Err(PlaceError::Shared(path)) }
    }

    /// The path of the socket of a process, for as long as this value lives.
    pub(crate) fn socket(&self, process: u32) -> PathBuf {
        self.path().join(format!("{process}{ENDING}"))
    }

    /// Removes the socket of this process, if it has one.
    pub fn leave(&self) {
        match fs::remove_file(self.socket(std::process::id())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::debug!(%error, "the control socket stays; the next process removes it");
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// The processes that have a socket. Sockets of processes that have ended are removed.
    ///
    /// # Errors
    ///
    /// Fails if the folder of sockets cannot be read.
    pub fn processes(&self) -> io::Result<Vec<u32>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.path())?.flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_suffix(ENDING)?.parse::<u32>().ok());
            let Some(process) = process else { continue };
            if Path::new("/proc").join(process.to_string()).exists() {
                found.push(process);
            } else if let Err(error) = fs::remove_file(self.socket(process)) {
                tracing::debug!(%error, process, "a socket of an ended process stays");
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }
}
