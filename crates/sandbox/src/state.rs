//! The folder of run-time state: where it lies, and that nobody but its owner and root can write to it.
//!
//! Cells are started by paths below this folder, and root starts them too. So each part of its path is looked at by
//! descriptor, without following links: only root and this user may be able to replace any of them. After that a path
//! leads where its descriptor did.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    FileType, Mode, OFlags, ResolveFlags, Stat, StatVfsMountFlags, fstat, fstatvfs, openat, openat2,
};

/// Name of the lock file, in the state folder and in each cell's folder.
pub(super) const LOCK: &str = "lock";
/// Where root keeps state. Only root can write to its parent.
const ROOTS_FOLDER: &str = "/run/apprentice";
/// The id that stands for all users without an id of their own in a user namespace.
const UNMAPPED: u32 = 65_534;
/// Rights that let others than the owner change a folder's entries.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The folders that hold this user's state. New cells belong into the first; the others were found again and may hold
/// what a dead process left.
///
/// The first is below the session's run-time folder if that is ours alone, or for root below `/run`. Where there is no
/// such place it is a folder in `temporary` with a name that cannot be foretold. It is found again by its owner.
///
/// # Errors
///
/// Fails if `temporary` cannot be read, or if no folder can be created in it where one is needed.
pub fn state_folders(runtime: Option<&Path>, temporary: &Path) -> io::Result<Vec<PathBuf>> {
    let user = rustix::process::geteuid();
    let settled = if user.is_root() {
        Some(PathBuf::from(ROOTS_FOLDER)).filter(|folder| holds_programs(folder))
    } else {
        runtime.filter(|folder| is_private(folder)).map(|folder| folder.join("apprentice"))
    };
    let prefix = format!("apprentice-{}-", user.as_raw());
    let mut found = found_again(temporary, &prefix)?;
    match settled {
        // A place that turns out not to be ours alone is as good as none.
        Some(folder) if open(&folder).is_ok() => found.insert(0, folder),
        _ if found.is_empty() => found.push(fresh(temporary, &prefix)?),
        _ => {}
    }
    Ok(found)
}

/// A folder of one's own in a folder that others may write to.
fn fresh(temporary: &Path, prefix: &str) -> io::Result<PathBuf> {
    let made = tempfile::Builder::new().prefix(prefix).permissions(mode()).tempdir_in(temporary)?;
    let folder = made.path().to_owned();
    open(&folder)?;
    Ok(made.keep())
}

/// Folders with a prefix that [`open`] takes, by name. What others put there under such a name is passed over.
fn found_again(temporary: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let named = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(prefix));
    let entries = fs::read_dir(temporary)?.flatten().filter(|entry| named(&entry.file_name()));
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| open(path).is_ok()).collect();
    found.sort_unstable();
    Ok(found)
}

/// Returns whether a folder is this user's and closed to everybody else.
fn is_private(folder: &Path) -> bool {
    let opened = trusted(folder);
    opened.is_ok_and(|(_, facts)| facts.st_uid == own() && facts.st_mode & 0o077 == 0)
}

/// Returns whether programs may be started from a folder's parent: the copy of our own program lies in the state folder.
fn holds_programs(folder: &Path) -> bool {
    let parent = folder.parent().map(trusted);
    let flags = parent.and_then(Result::ok).and_then(|(parent, _)| fstatvfs(parent).ok());
    flags.is_some_and(|facts| !facts.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// The rights of a state folder. Cells of root run as other users, who must get through it.
fn mode() -> fs::Permissions {
    fs::Permissions::from_mode(if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 })
}

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens a state folder, or creates it. Fails unless it is a folder of this user that nobody else can write to or
/// replace.
///
/// # Errors
///
/// Fails if the folder cannot be created, is no folder, belongs to another user, or can be written to or replaced by others.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    if let Some(parent) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    }
    match fs::DirBuilder::new().mode(mode().mode()).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let (folder, facts) = trusted(path)?;
    if facts.st_uid != own() {
        return Err(refused(path, &format!("it belongs to user {}, not to us ({})", facts.st_uid, own())));
    }
    Ok(folder)
}

/// Opens and locks a state folder, so that no other process reaps a cell while it is being created.
pub(super) fn lock(state: &Path) -> io::Result<File> {
    let folder = open(state)?;
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = File::from(openat(&folder, LOCK, flags, Mode::RUSR | Mode::WUSR)?);
    lock.lock()?;
    Ok(lock)
}

/// Opens a folder part by part from the root. Links in the path of its parent are resolved first; the folder itself
/// must not be one.
fn trusted(path: &Path) -> io::Result<(OwnedFd, Stat)> {
    let name = path.file_name().ok_or_else(|| refused(path, &"it has no name"))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = parent.canonicalize()?.join(name);
    let owners = Owners::read();
    let mut here = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut facts = fstat(&here)?;
    let mut walked = PathBuf::from("/");
    owners.check(&walked, &facts, false)?;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let parts: Vec<_> = whole.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    for (index, part) in parts.iter().enumerate() {
        walked.push(part);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        here = openat2(&here, part.as_os_str(), flags, Mode::empty(), resolve)
            .map_err(|error| refused(&walked, &io::Error::from(error)))?;
        facts = fstat(&here)?;
        owners.check(&walked, &facts, index + 1 == parts.len())?;
    }
    Ok((here, facts))
}

/// Who may own a part of the path.
struct Owners {
    own: u32,
    /// Whether the owner of what lies outside our user namespace cannot be told: then it is trusted like root.
    outside: bool,
}

impl Owners {
    fn read() -> Self {
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self { own: own(), outside: !map_contains(&map, UNMAPPED) }
    }

    fn check(&self, path: &Path, facts: &Stat, last: bool) -> io::Result<()> {
        let (owner, mode) = (facts.st_uid, facts.st_mode);
        if FileType::from_raw_mode(mode) != FileType::Directory {
            return Err(refused(path, &"it is not a folder"));
        }
        let trusted = [0, self.own].contains(&owner) || (owner == UNMAPPED && self.outside);
        if !trusted {
            return Err(refused(path, &format!("it belongs to user {owner}")));
        }
        // In a folder with the sticky bit, others can add entries, but not replace ours.
        if mode & OTHERS_WRITE != 0 && (last || mode & STICKY == 0) {
            return Err(refused(path, &"other users can write to it; take that right away (chmod go-w)"));
        }
        Ok(())
    }
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> io::Error {
    let story = format!("{} cannot hold the state of cells: {why}", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, story)
}

/// Returns whether a user namespace's map contains an id. Each line holds first id, first id outside, count.
pub(super) fn map_contains(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(id)))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use super::{map_contains, open, state_folders};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    #[test]
    fn an_id_exists_where_it_is_mapped() {
        let whole = "         0          0 4294967295\n";
        assert!(map_contains(whole, 61_500));
        assert!(!map_contains("0 1000 1\n1 100000 60000\n", 61_500));
        assert!(map_contains("0 1000 1\n1 100000 65536\n", 61_500));
        assert!(!map_contains("", 0));
    }

    #[test]
    fn a_folder_that_others_can_change_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let state = place.path().join("state");
        open(&state).expect("made");
        let check = |mode: u32, fine: bool| {
            set_mode(&state, mode);
            assert_eq!(open(&state).is_ok(), fine, "{mode:o}");
        };
        check(0o755, true);
        check(0o770, false);
        check(0o1777, false);
        check(0o700, true);
        set_mode(place.path(), 0o777);
        let error = open(&state).expect_err("its parent's entries can be replaced").to_string();
        assert!(error.contains("other users can write to it") && error.contains("chmod go-w"), "{error}");
        set_mode(place.path(), 0o1777);
        open(&state).expect("with the sticky bit, ours stays ours");
        let (link, file) = (place.path().join("link"), place.path().join("file"));
        symlink(&state, &link).expect("linked");
        fs::write(&file, "").expect("written");
        assert!(open(&link).is_err() && open(&file).is_err(), "neither is a folder");
    }

    #[test]
    fn the_fresh_folder_has_a_name_of_its_own_and_is_found_again() {
        if rustix::process::geteuid().is_root() && Path::new("/run").is_dir() {
            return; // Root has a place of its own.
        }
        let place = tempfile::tempdir().expect("a folder");
        let runtime = place.path().join("runtime");
        fs::create_dir(&runtime).expect("a folder");
        set_mode(&runtime, 0o755);
        let made = state_folders(Some(&runtime), place.path()).expect("made");
        assert!(
            made.len() == 1 && made[0].parent() == Some(place.path()),
            "an open folder is not used: {made:?}"
        );
        let own = format!("apprentice-{}", rustix::process::geteuid().as_raw());
        assert_ne!(made[0].file_name().and_then(|name| name.to_str()), Some(own.as_str()));
        assert_eq!(state_folders(None, place.path()).expect("found"), made);
        set_mode(&runtime, 0o700);
        let settled = state_folders(Some(&runtime), place.path()).expect("found");
        assert_eq!(settled, [runtime.join("apprentice"), made[0].clone()], "the other is still cleared");
    }
}
