//! What a cell's programs are doing, as the kernel's process table tells: whether a thread runs, whether one has run
//! since the last look, and whether one has set itself a timer that is about to end.
//!
//! A look is not atomic, so programs are idle only when nobody was running at two looks and nobody has run in between.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::Duration;

/// A thread that has set itself a timer of up to this length is about to go on: a frame to be drawn, or a delayed update
/// (LibreOffice brings its toolbars up to date 250 to 300 ms after a key). A caret blinks more slowly.
const SHORT_TIMER: Duration = Duration::from_millis(350);

/// System calls of x86-64 and AArch64 that wait, with the place and the form of their time limit.
#[cfg(target_arch = "x86_64")]
const WAITS: [(i64, usize, Limit); 8] = [
    (7, 2, Limit::Milliseconds),
    (232, 3, Limit::Milliseconds),
    (281, 3, Limit::Milliseconds),
    (271, 2, Limit::Timespec),
    (441, 3, Limit::Timespec),
    (270, 4, Limit::Timespec),
    (23, 4, Limit::Timeval),
    (35, 0, Limit::Timespec),
];
#[cfg(target_arch = "aarch64")]
const WAITS: [(i64, usize, Limit); 5] = [
    (22, 3, Limit::Milliseconds),
    (73, 2, Limit::Timespec),
    (72, 4, Limit::Timespec),
    (441, 3, Limit::Timespec),
    (101, 0, Limit::Timespec),
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const WAITS: [(i64, usize, Limit); 0] = [];

/// How a system call takes its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// As a number of milliseconds; negative for none.
    Milliseconds,
    /// As the address of seconds and nanoseconds; 0 for none.
    Timespec,
    /// As the address of seconds and microseconds; 0 for none.
    Timeval,
}

/// One look at the programs of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramLook {
    /// Processes that run or wait for the disk, with their names.
    pub(super) running: BTreeMap<i32, String>,
    /// How often each process has been given a processor.
    pub(super) turns: BTreeMap<i32, u64>,
}

/// The process table of a cell.
#[derive(Debug)]
pub(super) struct Programs {
    /// The folder of the table, as the cell's supervisor sees it.
    table: PathBuf,
    /// Keeps `table` valid.
    _folder: OwnedFd,
    /// The supervisor's number in the table. All programs descend from it.
    supervisor: i32,
}

/// A process as the table shows it.
struct Process {
    parent: i32,
    name: String,
}

impl Programs {
    /// Takes over a process table.
    pub(super) fn new(folder: OwnedFd, supervisor: i32) -> Self {
        let table = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Self { table, _folder: folder, supervisor }
    }

    /// Looks at all programs. `None` if the table cannot be read.
    pub(super) fn look(&self) -> Option<ProgramLook> {
        let mut look = ProgramLook::default();
        for (pid, process) in self.processes()? {
            let (mut turns, mut running) = (0, false);
            for thread in self.threads(pid) {
                running |= state(&thread).is_some_and(|state| matches!(state, 'R' | 'D'));
                turns += turns_of(&thread).unwrap_or_default();
            }
            if running {
                look.running.insert(pid, process.name);
            }
            look.turns.insert(pid, turns);
        }
        Some(look)
    }

    /// Those of these processes of which a thread has a short timer. A thread that cannot be read counts as having none.
    pub(super) fn with_short_timers(&self, pids: &[i32]) -> Vec<i32> {
        let is_short = |thread: PathBuf| {
            let call = fs::read_to_string(thread.join("syscall")).unwrap_or_default();
            timer(&call, &thread).is_some_and(|time| time <= SHORT_TIMER)
        };
        pids.iter().copied().filter(|pid| self.threads(*pid).into_iter().any(is_short)).collect()
    }

    fn threads(&self, pid: i32) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.table.join(format!("{pid}/task")));
        folder.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// All descendants of the supervisor.
    fn processes(&self) -> Option<HashMap<i32, Process>> {
        let numbers = fs::read_dir(&self.table).ok()?.flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let mut all: HashMap<i32, Process> = numbers
            .filter_map(|pid| {
                let stat = fs::read_to_string(self.table.join(format!("{pid}/stat"))).ok()?;
                Some((pid, process(&stat)?))
            })
            .collect();
        let mut below = HashSet::from([self.supervisor]);
        loop {
            let before = below.len();
            below.extend(
                all.iter()
                    .filter(|(_, one)| below.contains(&one.parent))
                    .map(|(pid, _)| *pid)
                    .collect::<Vec<_>>(),
            );
            if below.len() == before {
                break;
            }
        }
        all.retain(|pid, _| *pid != self.supervisor && below.contains(pid));
        Some(all)
    }
}

/// Reads `stat`. The name in the second field may contain any characters, parentheses included.
fn process(stat: &str) -> Option<Process> {
    let (start, rest) = stat.rsplit_once(')')?;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { parent, name: start.split_once('(')?.1.to_owned() })
}

fn state(thread: &std::path::Path) -> Option<char> {
    let stat = fs::read_to_string(thread.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// How often a thread has been given a processor.
fn turns_of(thread: &std::path::Path) -> Option<u64> {
    let stat = fs::read_to_string(thread.join("schedstat")).ok()?;
    stat.split_whitespace().nth(2)?.parse().ok()
}

/// The time limit of the system call in which a thread waits. `None` if it has none, or it cannot be told.
fn timer(call: &str, thread: &std::path::Path) -> Option<Duration> {
    let mut fields = call.split_whitespace();
    let number: i64 = fields.next()?.parse().ok()?;
    let (_, place, limit) = WAITS.iter().find(|(known, ..)| *known == number)?;
    let word = fields.nth(*place)?.strip_prefix("0x")?;
    let word = u64::from_str_radix(word, 16).ok()?;
    match limit {
        // An `int` in a register: its upper half says nothing.
        Limit::Milliseconds => {
            let number = i32::from_ne_bytes(u32::try_from(word & 0xffff_ffff).ok()?.to_ne_bytes());
            u64::try_from(number).ok().map(Duration::from_millis)
        }
        Limit::Timespec => {
            two_words(thread, word).map(|(s, ns)| Duration::from_secs(s) + Duration::from_nanos(ns))
        }
        Limit::Timeval => {
            two_words(thread, word).map(|(s, us)| Duration::from_secs(s) + Duration::from_micros(us))
        }
    }
}

/// Two numbers in a thread's memory.
fn two_words(thread: &std::path::Path, at: u64) -> Option<(u64, u64)> {
    if at == 0 {
        return None;
    }
    let mut bytes = [0; 16];
    fs::File::open(thread.join("mem")).ok()?.read_exact_at(&mut bytes, at).ok()?;
    let word = |from: usize| Some(u64::from_ne_bytes(bytes.get(from..from + 8)?.try_into().ok()?));
    Some((word(0)?, word(8)?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::{process, timer};

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let read = process("12 (a) Z (b) S 7 12 3 34816 -1").expect("read");
        assert_eq!((read.name.as_str(), read.parent), ("a) Z (b", 7));
        assert!(process("12 (short) S").is_none());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_time_limit_of_a_wait_is_read() {
        let check = |call: &str, expected: Option<u64>| {
            assert_eq!(timer(call, Path::new("/nowhere")), expected.map(Duration::from_millis), "{call}");
        };
        check("7 0x55 0x3 0x10 0x0 0x0 0x0 0x7ffd 0x7f", Some(16));
        check("7 0x55 0x3 0xffffffff 0x0 0x0 0x0 0x7ffd 0x7f", None);
        check("232 0x5 0x7f 0x10 0x1f4 0x0 0x0 0x7ffd 0x7f", Some(500));
        check("202 0x5 0x7f 0x10 0x1f4 0x0 0x0 0x7ffd 0x7f", None);
        check("running", None);
        check("-1 0x7ffd 0x7f", None);
    }
}
