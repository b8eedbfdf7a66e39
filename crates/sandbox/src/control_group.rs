//! A control group (cgroup v2) for each cell, where this process may make one: the kernel then bounds what all of the cell's
//! programs take together, in memory and in processes, also between two looks of the supervisor.
//!
//! Groups can be made below the group of this process where that has the controllers `memory` and `pids`: as root, or in a
//! group that was delegated to this user. The kernel lets a group with processes of its own have no groups with controllers
//! below it, but for the root. So a process that is alone in its group moves to a leaf of it first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::Pid;

use super::limits::{CellLimits, RESERVE};

/// Where systems mount the tree.
const ROOT: &str = "/sys/fs/cgroup";
/// Where the kernel names the group of this process.
const OWN: &str = "/proc/self/cgroup";
/// The controllers that a cell needs.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The leaf for this process itself.
const LEAF: &str = "apprentice-owner";

/// What bounds the programs of a cell together: `Ok` if the kernel does, by a control group for each cell; else why the
/// supervisor adds up what they use instead.
///
/// # Errors
///
/// Returns why the kernel does not bound them, with the remedy where there is one.
pub fn cells_have_control_groups() -> Result<(), String> {
    of_this_process().map(|_| ()).map_err(ToString::to_string)
}

/// Why no groups can be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoGroups {
    #[error("{} holds no cgroup v2 tree", .0.display())]
    NoTree(PathBuf),
    #[error("the kernel names no cgroup v2 group of this process")]
    NoOwn,
    #[error("the group {} does not have the controller {controller}", group.display())]
    NoController { group: PathBuf, controller: &'static str },
    #[error(
        "the group {} holds other processes, too: start the command in a group of its own, such as by `systemd-run --user \
         --scope -p Delegate=yes`",
        .0.display()
    )]
    Shared(PathBuf),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// The group below which cells get theirs.
#[derive(Debug)]
pub(super) struct ControlGroups {
    parent: PathBuf,
}

/// The group of one cell. Dropping it ends what is left in it, and removes it.
#[derive(Debug)]
pub(super) struct CellGroup {
    path: PathBuf,
    limits: CellLimits,
}

/// Returns where this process makes groups for cells, or why it cannot. It is found out once.
pub(super) fn of_this_process() -> Result<&'static ControlGroups, &'static NoGroups> {
    static FOUND: OnceLock<Result<ControlGroups, NoGroups>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let own = read(Path::new(OWN))?;
        ControlGroups::find(Path::new(ROOT), &own, std::process::id())
    });
    found.as_ref()
}

impl ControlGroups {
    /// Looks for a group that can have groups for cells: the one of process `own_id`, which `own` names in the form of
    /// `/proc/self/cgroup`, in the tree at `root`.
    fn find(root: &Path, own: &str, own_id: u32) -> Result<Self, NoGroups> {
        if !root.join("cgroup.controllers").is_file() {
            return Err(NoGroups::NoTree(root.to_owned()));
        }
        let path = own.lines().find_map(|line| line.strip_prefix("0::")).ok_or(NoGroups::NoOwn)?;
        let parent = root.join(path.trim_start_matches('/'));
        let available = read(&parent.join("cgroup.controllers"))?;
        if let Some(controller) = missing(&available) {
            return Err(NoGroups::NoController { group: parent, controller });
        }
        let control = parent.join("cgroup.subtree_control");
        if missing(&read(&control)?).is_some() {
            leave(&parent, own_id)?;
            write(&control, "+memory +pids")?;
        }
        Ok(Self { parent })
    }

    /// Makes the group of a cell, with its limits.
    pub(super) fn make(&self, name: &str, limits: CellLimits) -> Result<CellGroup, NoGroups> {
        let path = self.parent.join(name);
        fs::create_dir(&path).map_err(|source| NoGroups::File { path: path.clone(), source })?;
        let group = CellGroup { path, limits };
        // The cell's files lie in memory, and the kernel counts them with its programs.
        write(&group.path.join("memory.max"), &group.memory().to_string())?;
        // The supervisor must not be left without the display that it started.
        write(&group.path.join("memory.oom.group"), "1")?;
        write(&group.path.join("pids.max"), &(limits.processes + RESERVE).to_string())?;
        let swap = group.path.join("memory.swap.max");
        if swap.is_file() {
            write(&swap, "0")?;
        }
        Ok(group)
    }
}

impl CellGroup {
    /// Bytes of the cell's programs and files together.
    fn memory(&self) -> u64 {
        let CellLimits { memory, shared_memory, files, .. } = self.limits;
        memory.saturating_add(shared_memory).saturating_add(files)
    }

    /// Takes a process into the group. What it starts from then on is in the group, too.
    pub(super) fn admit(&self, process: Pid) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), process.as_raw_nonzero().to_string())
    }

    /// Returns what the kernel did to the cell because it was over a limit, as a sentence.
    pub(super) fn excess(&self) -> Option<String> {
        let killed = |name: &str| count(&self.path.join("memory.events"), name) > 0;
        if killed("oom_group_kill") || killed("oom_kill") {
            let most = self.memory() >> 20;
            return Some(format!(
                "the kernel ended the cell: its programs and files took more than the {most} MB of memory that it may have"
            ));
        }
        let refused = count(&self.path.join("pids.events"), "max");
        (refused > 0).then(|| {
            format!(
                "the cell had reached its limit of {} processes and threads",
                self.limits.processes + RESERVE
            )
        })
    }
}

impl Drop for CellGroup {
    fn drop(&mut self) {
        // Kernels before 5.14 lack the file. The cell has ended by then, so that as a rule nothing is left.
        let kill = self.path.join("cgroup.kill");
        if kill.is_file() {
            let _ = fs::write(kill, "1");
        }
        // A group with a process that is still ending stays, empty, until the next boot.
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::debug!(%error, group = %self.path.display(), "the group of a cell stays");
        }
    }
}

/// Moves this process to a leaf, unless its group is the root, which may hold processes and groups at once.
fn leave(group: &Path, own_id: u32) -> Result<(), NoGroups> {
    // Every group but the root has a type.
    if !group.join("cgroup.type").is_file() {
        return Ok(());
    }
    let held = read(&group.join("cgroup.procs"))?;
    let own_id = own_id.to_string();
    if held.split_whitespace().any(|process| process != own_id) {
        return Err(NoGroups::Shared(group.to_owned()));
    }
    let leaf = group.join(LEAF);
    if !leaf.is_dir() {
        fs::create_dir(&leaf).map_err(|source| NoGroups::File { path: leaf.clone(), source })?;
    }
    write(&leaf.join("cgroup.procs"), &own_id)
}

/// The first controller that a list lacks.
fn missing(list: &str) -> Option<&'static str> {
    CONTROLLERS.into_iter().find(|controller| !list.split_whitespace().any(|one| one == *controller))
}

/// A counter in a file of lines `name number`. Without the file or the line it is 0.
fn count(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

fn read(path: &Path) -> Result<String, NoGroups> {
    fs::read_to_string(path).map_err(|source| NoGroups::File { path: path.to_owned(), source })
}

fn write(path: &Path, text: &str) -> Result<(), NoGroups> {
    fs::write(path, text).map_err(|source| NoGroups::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rustix::process::Pid;
    use tempfile::TempDir;

    use super::{ControlGroups, NoGroups};
    use crate::CellLimits;

    const OWN: &str = "1:name=systemd:/old\n0::/user.slice/run-7.scope\n";
    const LIMITS: CellLimits = CellLimits { memory: 600, processes: 50, shared_memory: 30, files: 4 };

    /// A folder of plain files in the forms that the kernel documents, with a group of this process.
    fn tree(controllers: &str, enabled: &str, processes: &str) -> TempDir {
        let root = tempfile::tempdir().expect("a folder");
        let group = root.path().join("user.slice/run-7.scope");
        fs::create_dir_all(&group).expect("made");
        for (path, text) in [
            (root.path().join("cgroup.controllers"), "cpuset cpu io memory pids\n"),
            (group.join("cgroup.controllers"), controllers),
            (group.join("cgroup.subtree_control"), enabled),
            (group.join("cgroup.procs"), processes),
            (group.join("cgroup.type"), "domain\n"),
        ] {
            fs::write(path, text).expect("written");
        }
        root
    }

    fn text(root: &TempDir, path: &str) -> String {
        fs::read_to_string(root.path().join("user.slice/run-7.scope").join(path)).expect("a file")
    }

    #[test]
    fn a_delegated_group_gives_each_cell_its_own_with_its_limits() {
        let root = tree("memory pids\n", "\n", "70\n");
        let groups = ControlGroups::find(root.path(), OWN, 70).expect("can be used");
        assert_eq!(text(&root, "cgroup.subtree_control"), "+memory +pids");
        assert_eq!(text(&root, "apprentice-owner/cgroup.procs"), "70", "the group itself has to be empty");
        let group = groups.make("cell-1", LIMITS).expect("made");
        let of_cell = |name: &str| text(&root, &format!("cell-1/{name}"));
        assert_eq!((of_cell("memory.max"), of_cell("memory.oom.group")), ("634".into(), "1".into()));
        assert_eq!(of_cell("pids.max"), "250");
        group.admit(Pid::from_raw(71).expect("a process")).expect("admitted");
        assert_eq!(of_cell("cgroup.procs"), "71");
        assert!(groups.make("cell-1", LIMITS).is_err(), "a group of the same name is another cell's");
    }

    #[test]
    fn where_the_controllers_are_on_or_the_group_is_the_root_nobody_moves() {
        for (enabled, is_root) in [("memory pids\n", false), ("\n", true)] {
            let root = tree("memory pids\n", enabled, "70\n71\n");
            let group = root.path().join("user.slice/run-7.scope");
            if is_root {
                fs::remove_file(group.join("cgroup.type")).expect("removed");
            }
            ControlGroups::find(root.path(), OWN, 70).expect("can be used");
            assert!(!group.join("apprentice-owner").exists());
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let found = |root: &Path, own: &str| ControlGroups::find(root, own, 70).expect_err("cannot be used");
        let empty = tempfile::tempdir().expect("a folder");
        assert!(matches!(found(empty.path(), OWN), NoGroups::NoTree(_)));
        let root = tree("memory pids\n", "\n", "70\n");
        assert!(matches!(found(root.path(), "1:name=systemd:/old\n"), NoGroups::NoOwn));
        assert!(matches!(found(root.path(), "0::/elsewhere\n"), NoGroups::File { .. }));
        let root = tree("cpu memory\n", "\n", "70\n");
        assert!(matches!(found(root.path(), OWN), NoGroups::NoController { controller: "pids", .. }));
        let root = tree("memory pids\n", "\n", "70\n71\n");
        let shared = found(root.path(), OWN).to_string();
        assert!(shared.contains("systemd-run"), "{shared}");
    }

    #[test]
    fn the_kernels_kill_is_told_as_such() {
        let root = tree("memory pids\n", "memory pids\n", "70\n");
        let group = ControlGroups::find(root.path(), OWN, 70).expect("can be used").make("cell-1", LIMITS);
        let group = group.expect("made");
        let put = |name: &str, text: &str| {
            let path = root.path().join("user.slice/run-7.scope/cell-1").join(name);
            fs::write(path, text).expect("written");
        };
        assert_eq!(group.excess(), None, "the files may be missing");
        put("memory.events", "low 0\nhigh 0\nmax 40\noom 0\noom_kill 0\noom_group_kill 0\n");
        put("pids.events", "max 0\n");
        assert_eq!(group.excess(), None, "reclaimed memory is no kill");
        put("pids.events", "max 3\n");
        assert!(group.excess().is_some_and(|told| told.contains("250 processes")), "{:?}", group.excess());
        put("memory.events", "low 0\nhigh 0\nmax 40\noom 1\noom_kill 9\noom_group_kill 1\n");
        assert!(group.excess().is_some_and(|told| told.contains("the kernel ended the cell")));
    }
}
