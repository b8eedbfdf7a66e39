//! The kernel's table of processes, as far as they are below this one.

use std::collections::HashSet;
use std::fs;

use rustix::process::Pid;

/// A process.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) pid: Pid,
    parent: Pid,
    /// Its process group.
    pub(super) group: Option<Pid>,
    terminal: i64,
    pub(super) threads: u64,
    pub(super) name: String,
    /// Whether it has ended and only waits to be collected.
    pub(super) dead: bool,
}

/// Reads `/proc/PID/stat`.
fn parse(pid: Pid, status: &str) -> Option<Entry> {
    // The name in the second field may contain any characters, parentheses included.
    let (start, rest) = status.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    let id = |index: usize| number(index).and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    Some(Entry {
        pid,
        parent: id(1)?,
        group: id(2),
        terminal: number(4)?,
        threads: number(17)?.unsigned_abs(),
        name: start.split_once('(')?.1.to_owned(),
        dead: matches!(*fields.first()?, "Z" | "X"),
    })
}

fn read(process: &str) -> Option<Entry> {
    let pid = Pid::from_raw(process.parse().ok()?)?;
    parse(pid, &fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// All descendants of this process, the dead ones too. Orphans become our children, so these are all the processes ever
/// started here.
pub(super) fn descendants() -> Vec<Entry> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    let mut table: Vec<Entry> =
        folder.flatten().filter_map(|item| read(item.file_name().to_str()?)).collect();
    let own = rustix::process::getpid();
    let ours = with_descendants(&table, HashSet::from([own]));
    table.retain(|entry| entry.pid != own && ours.contains(&entry.pid));
    table
}

/// All living descendants of this process.
pub(super) fn living() -> Vec<Entry> {
    let mut table = descendants();
    table.retain(|entry| !entry.dead);
    table
}

/// These processes and all their descendants.
pub(super) fn with_descendants(table: &[Entry], mut roots: HashSet<Pid>) -> HashSet<Pid> {
    loop {
        let before = roots.len();
        let young: Vec<Pid> =
            table.iter().filter(|entry| roots.contains(&entry.parent)).map(|entry| entry.pid).collect();
        roots.extend(young);
        if roots.len() == before {
            return roots;
        }
    }
}

/// Returns whether a process in the cell has a controlling terminal, other than the one that this program may have been
/// started from.
pub(super) fn has_controlling_terminal() -> bool {
    let own = read(&rustix::process::getpid().as_raw_nonzero().to_string()).map_or(0, |entry| entry.terminal);
    living().into_iter().any(|entry| entry.terminal != 0 && entry.terminal != own)
}

/// How many processes the kernel has killed for lack of memory since it was started.
pub(super) fn out_of_memory_kills() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Returns whether a process carries a mark. `None` while it starts or ends, when its environment cannot be read.
pub(super) fn is_marked(pid: Pid, mark: &str) -> Option<bool> {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    let marked = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
    (!environment.is_empty()).then_some(marked)
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::parse;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let line = "12 (a) Z (b) S 7 12 3 34816 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 100 200 300";
        let entry = parse(Pid::from_raw(12).expect("an id"), line).expect("read");
        assert_eq!((entry.name.as_str(), entry.dead, entry.threads), ("a) Z (b", false, 9));
        assert_eq!(
            (entry.parent, entry.group, entry.terminal),
            (Pid::from_raw(7).expect("an id"), Pid::from_raw(12), 34_816)
        );
        assert!(parse(entry.pid, "12 (short) S").is_none());
    }
}
