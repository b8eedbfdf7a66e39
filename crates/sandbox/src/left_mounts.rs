//! Mounts that programs leave below a folder: without namespaces they outlive the programs, and the folder cannot be removed.
//!
//! Seen with xdg-desktop-portal 1.16 (Debian 12): its document store mounts a FUSE file system at `$XDG_RUNTIME_DIR/doc`, and
//! GVFS one at `$XDG_RUNTIME_DIR/gvfs`. The mount stays when their process is killed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::program_search::find;

/// How long a program may take to unmount one folder.
const MAX_UNMOUNT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Detaches what is mounted below a folder, innermost first. What cannot be detached stays, and keeps the folder from being removed.
pub(super) fn detach(folder: &Path) {
    let Ok(table) = fs::read("/proc/self/mountinfo") else { return };
    let Ok(folder) = folder.canonicalize() else { return };
    for place in below(&table, &folder).into_iter().rev() {
        if rustix::mount::unmount(&place, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW).is_err() {
            detach_as_user(&place);
        }
    }
}

/// The mount points below a folder, in the order in which they were mounted.
fn below(table: &[u8], folder: &Path) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    // proc_pid_mountinfo(5): the fifth field is the mount point.
    let places = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescaped);
    places.filter(|place| place.starts_with(folder) && place != folder).collect()
}

/// Reads a path in which blanks, tabs, line breaks and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let code =
            more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Detaches a FUSE file system of this user by the program that has the right to do so.
fn detach_as_user(place: &Path) {
    let Some(program) = ["fusermount3", "fusermount"].into_iter().find_map(find) else { return };
    let mut command = Command::new(program);
    command.args(["-u", "-z", "--"]).arg(place);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        end_in_time(&mut child);
    }
}

/// Waits for a process, and kills it when it takes too long.
fn end_in_time(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).is_some_and(|process| {
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&MAX_UNMOUNT)).is_ok_and(|ready| ready > 0)
    });
    if !ended {
        let _ = child.kill();
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use rustix::mount::{MountFlags, mount};

    use super::{below, detach};

    #[test]
    fn a_folder_in_which_something_was_mounted_can_be_removed() {
        if !rustix::process::geteuid().is_root() {
            // Only root may mount here; a user's FUSE file systems go by `fusermount3`.
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("run doc");
        std::fs::create_dir(&place).expect("a folder");
        if mount("none", &place, "tmpfs", MountFlags::empty(), None).is_err() {
            // Root of a container without the right to mount.
            return;
        }
        assert!(std::fs::remove_dir(&place).is_err(), "a mount point is busy");
        detach(folder.path());
        std::fs::remove_dir_all(folder.path()).expect("removed");
    }

    #[test]
    fn only_what_is_mounted_below_a_folder_is_found() {
        let table = b"36 35 98:0 / /run/state/cell-a/run/doc rw,nosuid shared:1 - fuse.portal portal rw\n\
            37 35 98:0 / /run/state/cell-a\\040b/run rw - tmpfs tmpfs rw\n\
            38 36 0:44 / /run/state/cell-a/run/doc/one\\134two rw - tmpfs tmpfs rw\n\
            39 35 0:45 / /run/state/cell-a rw - tmpfs tmpfs rw\n";
        let found = below(table, Path::new("/run/state/cell-a"));
        let wanted = ["/run/state/cell-a/run/doc", "/run/state/cell-a/run/doc/one\\two"];
        assert_eq!(found, wanted.map(PathBuf::from));
        assert_eq!(
            below(table, Path::new("/run/state/cell-a b")),
            [PathBuf::from("/run/state/cell-a b/run")]
        );
    }
}
