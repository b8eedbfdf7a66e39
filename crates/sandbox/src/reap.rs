//! Removes what the cells of dead owners left behind.
//!
//! A cell with namespaces dies with its owner and leaves an empty folder, unless the owner died before bubblewrap's
//! parent-death signal was set; such a bubblewrap is recognised by its arguments. Without namespaces, a supervisor
//! that was killed together with its owner may leave programs running; they are recognised by their `HOME`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::launch::PREFIX;
use super::left_mounts;
use super::state::{self, LOCK};

/// The result of [`reap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Folders removed, each of a cell whose owner is dead.
    pub cells: u32,
    /// Processes killed that such cells had left running.
    pub processes: u32,
}

/// Removes the cells of dead owners below a state folder. Cells of living owners are not touched.
///
/// # Errors
///
/// Fails if the state folder cannot be locked or read, or if a dead cell's folder cannot be removed.
pub fn reap(state: &Path) -> io::Result<Reaped> {
    let mut reaped = Reaped::default();
    if !state.is_dir() {
        return Ok(reaped);
    }
    let _lock = state::lock(state)?;
    let state = state.canonicalize()?;
    let mut living = false;
    for entry in fs::read_dir(&state)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // A folder without a lock file belonged to an owner that died while creating it.
        let lock = File::options().write(true).open(entry.path().join(LOCK));
        if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_err()) {
            living = true;
            continue;
        }
        reaped.processes += end_processes(&entry.path());
        left_mounts::detach(&entry.path());
        fs::remove_dir_all(entry.path())?;
        reaped.cells += 1;
    }
    if !living {
        for entry in fs::read_dir(&state)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("program-") {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(reaped)
}

/// Kills processes whose home is below a folder, and bubblewrap processes that mount anything from it.
pub(super) fn end_processes(folder: &Path) -> u32 {
    let home = format!("HOME={}", folder.join("home").display());
    let mut ended = 0;
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let Some(pid) = pid else { continue };
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        let here = fs::read_link(process.path().join("cwd")).is_ok_and(|place| place.starts_with(folder));
        let ours = environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes());
        let wraps = fs::read(process.path().join("cmdline")).is_ok_and(|line| wraps(&line, folder));
        if (ours || here || wraps) && kill_process(pid, Signal::KILL).is_ok() {
            ended += 1;
        }
    }
    ended
}

/// Returns whether a command line is one of bubblewrap with arguments below a folder.
fn wraps(line: &[u8], folder: &Path) -> bool {
    let mut arguments = line.split(|byte| *byte == 0).map(|argument| Path::new(OsStr::from_bytes(argument)));
    arguments.next().is_some_and(|program| program.ends_with("bwrap"))
        && arguments.any(|argument| argument.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::{Reaped, reap, wraps};

    #[test]
    fn a_bubblewrap_is_known_by_what_it_shows() {
        let folder = std::path::Path::new("/state/cell-one");
        let line = |line: &str| line.replace(' ', "\0").into_bytes();
        assert!(wraps(&line("/usr/bin/bwrap --ro-bind /state/cell-one/etc/passwd /etc/passwd"), folder));
        for other in ["/usr/bin/bwrap --bind /state/cell-one-more/x /x", "cat /state/cell-one/etc/passwd", ""]
        {
            assert!(!wraps(&line(other), folder), "{other}");
        }
    }

    #[test]
    fn only_cells_without_a_living_owner_are_cleared() {
        let state = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| {
            let folder = state.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            let lock = File::create(folder.join("lock")).expect("a lock");
            (folder, lock)
        };
        let (living, lock) = folder("cell-living");
        lock.lock().expect("locked");
        let (dead, _) = folder("cell-dead");
        let (other, _) = folder("something-else");
        assert_eq!(reap(state.path()).expect("reaped"), Reaped { cells: 1, processes: 0 });
        assert_eq!((living.exists(), dead.exists(), other.exists()), (true, false, true));
        drop(lock);
        assert_eq!(reap(state.path()).expect("reaped").cells, 1);
        assert_eq!(reap(&state.path().join("nowhere")).expect("nothing to do"), Reaped::default());
    }
}
