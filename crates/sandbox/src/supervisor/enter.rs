//! Enters a cell: mounts in a new mount namespace, then replaces this process with bubblewrap.
//!
//! This process is the root of an outer user namespace, so the mounts disappear with the last process of the cell,
//! whichever process started it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};
use serde::{Deserialize, Serialize};

use super::confine;
use crate::home;

/// The instructions for the entering process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SandboxPlan {
    /// The cell's folder, which the cell's own memory is mounted over.
    pub(crate) folder: PathBuf,
    /// Bytes that all files of the cell may take.
    pub(crate) files: u64,
    /// Where the home comes from.
    pub(crate) home: Home,
    /// Files of the cell's own `/etc`, by name.
    pub(crate) etc: Vec<(String, String)>,
    /// Folders below the root that the cell's programs can write to, by name.
    pub(crate) folders: Vec<String>,
    /// Bubblewrap with all its arguments.
    pub(crate) argv: Vec<String>,
}

/// The source of a home's files.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Home {
    /// The built-in seeds alone.
    Seeds,
    /// A folder, to which the seed files are added.
    Golden(PathBuf),
}

/// Folders of the cell's own memory, which the cell sees at other places.
const FOLDERS: [(&str, u32); 9] = [
    ("root", 0o755),
    ("etc", 0o755),
    ("tmp", 0o1777),
    ("lasting", 0o1777),
    ("run", 0o700),
    ("programs", 0o755),
    ("checks", 0o755),
    ("homes", 0o755),
    ("home", 0o755),
];

/// Creates the mounts and executes bubblewrap. Returns only on failure.
pub(super) fn enter(mut arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let entrance = arguments.next().unwrap_or_default();
    let entrance: SandboxPlan = serde_json::from_slice(entrance.as_encoded_bytes())?;
    confine::leave_keys()?;
    let place = |what: &str, error: &dyn std::fmt::Display| io::Error::other(format!("{what}: {error}"));
    mount_memory(&entrance.folder, entrance.files).map_err(|error| {
        let remedy = "the system bars mounts in user namespaces; allow them (on Ubuntu: sysctl -w \
                      kernel.apparmor_restrict_unprivileged_userns=0) or choose --isolation plain";
        place(remedy, &error)
    })?;
    for (name, mode) in FOLDERS {
        let folder = entrance.folder.join(name);
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode))?;
    }
    for name in &entrance.folders {
        fs::create_dir_all(entrance.folder.join("folders").join(name))?;
    }
    fs::create_dir(entrance.folder.join("tmp/.X11-unix"))?;
    fs::set_permissions(entrance.folder.join("tmp/.X11-unix"), fs::Permissions::from_mode(0o1777))?;
    for (name, text) in &entrance.etc {
        fs::write(entrance.folder.join("etc").join(name), text)?;
    }
    home::write_programs(&entrance.folder.join("programs"))?;
    home::write_check_files(&entrance.folder.join("checks"))?;
    let home = entrance.folder.join("home");
    if let Home::Golden(golden) = &entrance.home {
        populate_home(golden, &entrance.folder).map_err(|error| place("the golden home", &error))?;
    }
    home::seed(&home)?;
    let [program, arguments @ ..] = entrance.argv.as_slice() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let error = Command::new(program).args(arguments).exec();
    Err(place("bubblewrap could not be started", &error))
}

fn mount_memory(folder: &Path, size: u64) -> rustix::io::Result<()> {
    let filesystem = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&filesystem, "size", size.to_string())?;
    fsconfig_set_string(&filesystem, "nr_inodes", "1m")?;
    fsconfig_set_string(&filesystem, "mode", "0755")?;
    place_mount(&filesystem, folder)
}

fn place_mount(filesystem: &rustix::fd::OwnedFd, folder: &Path) -> rustix::io::Result<()> {
    fsconfig_create(filesystem)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = fsmount(filesystem, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    move_mount(&mount, "", rustix::fs::CWD, folder, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Provides the golden home's files: as an overlay if we own them, else as a copy, because an overlay could not change
/// files of an owner who has no id in this namespace.
fn populate_home(golden: &Path, folder: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let home = folder.join("home");
    if fs::metadata(golden)?.uid() == own && overlay(golden, folder, &home).is_ok() {
        return Ok(());
    }
    home::copy(golden, &home)
}

fn overlay(golden: &Path, folder: &Path, home: &Path) -> io::Result<()> {
    let (upper, work) = (folder.join("upper"), folder.join("work"));
    fs::create_dir(&upper)?;
    fs::create_dir(&work)?;
    let filesystem = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&filesystem, "lowerdir", golden)?;
    fsconfig_set_string(&filesystem, "upperdir", &upper)?;
    fsconfig_set_string(&filesystem, "workdir", &work)?;
    fsconfig_set_flag(&filesystem, "userxattr")?;
    Ok(place_mount(&filesystem, home)?)
}
