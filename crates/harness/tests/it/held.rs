//! What a process of tests holds, and what of its cells is left: descriptors, threads, processes, mounts, folders.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use apprentice_protocol::{Clock as _, Why};
use apprentice_sandbox::SystemClock;

/// How long after the last trial its processes may take to end.
const END: Duration = Duration::from_secs(10);
/// A runtime may keep so many descriptors and threads for later.
const SPARE: usize = 16;

/// What the kernel tells of a process.
pub(crate) struct Running {
    pub(crate) parent: i32,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) namespace: Option<PathBuf>,
}

/// All processes of the machine.
pub(crate) fn processes() -> HashMap<i32, Running> {
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let read = |entry: std::fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (start, rest) = stat.rsplit_once(')')?;
        let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let namespace = std::fs::read_link(entry.path().join("ns/pid")).ok();
        Some((pid, Running { parent, name: start.split_once('(')?.1.to_owned(), arguments, namespace }))
    };
    entries.filter_map(read).collect()
}

/// The processes below this one, each with its name and number.
fn below() -> BTreeSet<String> {
    let own = std::process::id().cast_signed();
    let all = processes();
    let descends = |mut pid: i32| {
        while let Some(process) = all.get(&pid) {
            if process.parent == own {
                return true;
            }
            pid = process.parent;
        }
        false
    };
    all.iter().filter(|(pid, _)| descends(**pid)).map(|(pid, one)| format!("{} {pid}", one.name)).collect()
}

/// Numbers of what this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) memory_kb: u64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Sockets of all kinds that its network namespace knows.
    pub(crate) sockets: usize,
}

impl Held {
    pub(crate) fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let count = |folder: &str| std::fs::read_dir(folder).map_or(0, Iterator::count);
        let links = std::fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
        let links = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        Self {
            memory_kb: line.split_whitespace().next().and_then(|size| size.parse().ok()).expect("a number"),
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            sockets: links.filter(|target| target.to_string_lossy().starts_with("socket:")).count(),
        }
    }
}

/// Waits until no process below this one is left, and says what is held beyond `before`, and what cells left in their folder.
pub(crate) async fn leaks(state: &Path, before: Held) -> Vec<String> {
    let clock = SystemClock::new();
    let begun = clock.mono();
    while !below().is_empty() && clock.mono() - begun < END {
        clock.pause(Duration::from_millis(50), Why::PollFloor).await;
    }
    let mut found: Vec<String> = below().into_iter().map(|one| format!("process {one}")).collect();
    let after = Held::now();
    let numbers = [
        ("descriptors", before.descriptors, after.descriptors),
        ("threads", before.threads, after.threads),
        ("sockets", before.sockets, after.sockets),
    ];
    for (what, before, after) in numbers {
        if after > before + SPARE {
            found.push(format!("{what}: {before} before, {after} after"));
        }
    }
    let folder = state.to_string_lossy();
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    found.extend(mounts.lines().filter(|line| line.contains(&*folder)).map(|line| format!("mount {line}")));
    let cells = std::fs::read_dir(state).expect("the state").flatten().map(|entry| entry.file_name());
    let cells = cells.filter(|name| name.to_string_lossy().starts_with("cell-"));
    found.extend(cells.map(|name| format!("folder {}", name.display())));
    found
}
