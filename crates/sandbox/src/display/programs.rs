//! What a cell's programs are doing, as the kernel's process table tells: whether a thread runs, whether one has run
//! since the last look, and whether one has set itself a timer that is about to end.
//!
//! A look is not atomic, so programs are idle only when nobody was running at two looks and nobody has run in between.
//!
//! A program with a frame clock (Chromium and what is built on it) keeps house all the time: single threads wake up for
//! a moment, and timers of some hundred milliseconds end, to no effect. Its clock tells better: it runs from the first
//! wish for a frame until the last frame is drawn. Such a program is at work while its clock ticks, while a thread runs,
//! and when several of its threads have run since the last look, as work goes from one to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A thread that has set itself a timer of up to this length is about to go on: a frame to be drawn, or a delayed update
/// (LibreOffice brings its toolbars up to date 250 to 300 ms after a key). A caret blinks more slowly.
pub(super) const SHORT_TIMER: Duration = Duration::from_millis(350);

/// The name under which the supervisor is found among the stopped.
pub(super) const SUPERVISOR: &str = "supervisor";
/// The thread by whose timer a Chromium or Electron program draws its frames.
const FRAME_CLOCK: &str = "VizCompositorTh";
/// A frame clock with a timer of up to this length is about to draw the next frame.
const FRAME_TIMER: Duration = Duration::from_millis(20);
/// What the kernel says of a thread in place of its system call while it runs.
const RUNNING: &str = "running";
/// So many threads of a program with a frame clock that ran between two looks passed work on to each other.
const PASSED_ON: usize = 2;

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

/// A thread that waits for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    pub(super) process: i32,
    pub(super) thread: i32,
    /// When it ends, if its thread began to wait just now.
    pub(super) due: Duration,
}

/// One look at the programs of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramLook {
    /// Processes that run or wait for the disk, with their names.
    pub(super) running: BTreeMap<i32, String>,
    /// A number for each process that grows when it has been at work.
    pub(super) turns: BTreeMap<i32, u64>,
    /// Processes that a signal has stopped, with their names: they answer nobody until they are continued.
    pub(super) stopped: BTreeMap<i32, String>,
    /// Threads that have run since the last look.
    pub(super) ran: BTreeSet<i32>,
    /// Processor time of each thread's process so far.
    pub(super) work: BTreeMap<i32, Duration>,
}

/// What is known of a thread since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Thread {
    /// How often it had been given a processor.
    turns: u64,
    is_frame_clock: bool,
}

/// A process at one look.
#[derive(Debug, Default)]
struct ProcessLook {
    name: String,
    running: bool,
    stopped: bool,
    /// Its threads that have run since the last look.
    ran: Vec<i32>,
    /// Its processor time so far.
    work: Duration,
    /// Whether its frame clock is among them.
    clock_ran: bool,
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
    /// The threads of each process at the last look.
    threads: HashMap<i32, HashMap<i32, Thread>>,
    /// How often each process has been found at work.
    worked: HashMap<i32, u64>,
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
        Self { table, _folder: folder, supervisor, threads: HashMap::new(), worked: HashMap::new() }
    }

    /// Looks at all programs. `None` if the table cannot be read.
    pub(super) fn look(&mut self) -> Option<ProgramLook> {
        let processes = self.processes()?;
        self.threads.retain(|pid, _| processes.contains_key(pid));
        self.worked.retain(|pid, _| processes.contains_key(pid));
        let looks: BTreeMap<i32, ProcessLook> =
            processes.into_iter().map(|(pid, process)| (pid, self.look_at(pid, process.name))).collect();
        let housekeeping = housekeeping(&looks, &self.clocked());
        let mut look = ProgramLook::default();
        if state(&self.table.join(self.supervisor.to_string())).is_some_and(is_stopped) {
            look.stopped.insert(self.supervisor, SUPERVISOR.to_owned());
        }
        for (pid, one) in looks {
            let worked = self.worked.entry(pid).or_default();
            *worked += u64::from(!one.ran.is_empty() && !housekeeping.contains(&pid));
            look.turns.insert(pid, *worked);
            look.ran.extend(&one.ran);
            let threads = self.threads.get(&pid).into_iter().flat_map(HashMap::keys);
            look.work.extend(threads.map(|thread| (*thread, one.work)));
            if one.running {
                look.running.insert(pid, one.name);
            } else if one.stopped {
                look.stopped.insert(pid, one.name);
            }
        }
        Some(look)
    }

    /// Looks at the threads of a process.
    fn look_at(&mut self, pid: i32, name: String) -> ProcessLook {
        let mut look = ProcessLook { name, ..ProcessLook::default() };
        let before = self.threads.remove(&pid).unwrap_or_default();
        let mut now = HashMap::with_capacity(before.len());
        for (tid, path) in self.threads_of(pid) {
            let state = state(&path).unwrap_or_default();
            look.running |= matches!(state, 'R' | 'D');
            look.stopped |= is_stopped(state);
            let Some((work, turns)) = schedule_of(&path) else { continue };
            look.work += work;
            let existing = before.get(&tid).copied().unwrap_or_default();
            let ran = existing.turns != turns;
            // A thread is given its name when it runs first.
            let is_frame_clock = existing.is_frame_clock || (ran && is_frame_clock(&path));
            if ran {
                look.ran.push(tid);
                look.clock_ran |= is_frame_clock;
            }
            now.insert(tid, Thread { turns, is_frame_clock });
        }
        self.threads.insert(pid, now);
        look
    }

    /// The processes that have a frame clock.
    fn clocked(&self) -> Vec<i32> {
        let has_clock = |threads: &HashMap<i32, Thread>| threads.values().any(|thread| thread.is_frame_clock);
        self.threads.iter().filter(|(_, threads)| has_clock(threads)).map(|(pid, _)| *pid).collect()
    }

    /// The short timers of these processes. `None` where a thread has begun to run meanwhile: then nobody knows what it will wait for.
    /// A thread that cannot be read counts as having none.
    pub(super) fn short_timers(&self, pids: &[i32], now: Duration) -> Option<Vec<Timer>> {
        let clocked: HashSet<String> = self.clocked().into_iter().filter_map(|pid| self.name(pid)).collect();
        let mut timers = Vec::new();
        for pid in pids {
            let by_clock = !clocked.is_empty() && self.name(*pid).is_some_and(|name| clocked.contains(&name));
            let is_clock = |tid: i32| {
                self.threads
                    .get(pid)
                    .and_then(|all| all.get(&tid))
                    .is_some_and(|thread| thread.is_frame_clock)
            };
            let longest = if by_clock { FRAME_TIMER } else { SHORT_TIMER };
            for (tid, path) in self.threads_of(*pid) {
                if by_clock && !is_clock(tid) {
                    continue;
                }
                let call = fs::read_to_string(path.join("syscall")).unwrap_or_default();
                if call.starts_with(RUNNING) {
                    return None;
                }
                if let Some(length) = timer(&call, &path).filter(|length| *length <= longest) {
                    timers.push(Timer { process: *pid, thread: tid, due: now + length });
                }
            }
        }
        Some(timers)
    }

    fn threads_of(&self, pid: i32) -> Vec<(i32, PathBuf)> {
        let folder = fs::read_dir(self.table.join(format!("{pid}/task")));
        let entries = folder.into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
    }

    fn name(&self, pid: i32) -> Option<String> {
        let stat = fs::read_to_string(self.table.join(format!("{pid}/stat"))).ok()?;
        process(&stat).map(|process| process.name)
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

/// The processes of programs with a frame clock that did nothing but keep house. All processes of a program have its name.
fn housekeeping(looks: &BTreeMap<i32, ProcessLook>, clocked: &[i32]) -> HashSet<i32> {
    let names: HashSet<&str> =
        clocked.iter().filter_map(|pid| looks.get(pid)).map(|one| one.name.as_str()).collect();
    let keeps_house = |name: &&str| {
        let program = || looks.values().filter(|one| one.name == *name);
        let ran: usize = program().map(|one| one.ran.len()).sum();
        ran < PASSED_ON && !program().any(|one| one.running || one.clock_ran)
    };
    let resting: HashSet<&str> = names.into_iter().filter(keeps_house).collect();
    looks.iter().filter(|(_, one)| resting.contains(one.name.as_str())).map(|(pid, _)| *pid).collect()
}

/// Returns whether a thread was stopped by a signal or a debugger.
fn is_stopped(state: char) -> bool {
    matches!(state, 'T' | 't')
}

fn is_frame_clock(thread: &Path) -> bool {
    fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim_end() == FRAME_CLOCK)
}

/// Reads `stat`. The name in the second field may contain any characters, parentheses included.
fn process(stat: &str) -> Option<Process> {
    let (start, rest) = stat.rsplit_once(')')?;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { parent, name: start.split_once('(')?.1.to_owned() })
}

fn state(thread: &Path) -> Option<char> {
    let stat = fs::read_to_string(thread.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// How long a thread has had a processor, and how often.
fn schedule_of(thread: &Path) -> Option<(Duration, u64)> {
    let stat = fs::read_to_string(thread.join("schedstat")).ok()?;
    let mut fields = stat.split_whitespace();
    let work = Duration::from_nanos(fields.next()?.parse().ok()?);
    Some((work, fields.nth(1)?.parse().ok()?))
}

/// The time limit of the system call in which a thread waits. `None` if it has none, or it cannot be told.
fn timer(call: &str, thread: &Path) -> Option<Duration> {
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
fn two_words(thread: &Path, at: u64) -> Option<(u64, u64)> {
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
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::Duration;

    use super::{ProcessLook, housekeeping, process, timer};

    #[test]
    fn a_program_with_a_frame_clock_is_at_work_while_it_ticks_or_work_is_passed_on() {
        let one = |name: &str, ran: &[i32]| ProcessLook {
            name: name.into(),
            ran: ran.to_vec(),
            ..ProcessLook::default()
        };
        let check = |looks: Vec<ProcessLook>, expected: &[i32]| {
            let looks: BTreeMap<i32, ProcessLook> = (1..).zip(looks).collect();
            let mut found: Vec<i32> = housekeeping(&looks, &[1]).into_iter().collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{looks:?}");
        };
        check(vec![one("web", &[]), one("web", &[7]), one("calc", &[9])], &[1, 2]);
        check(vec![one("web", &[6]), one("web", &[7])], &[]);
        check(vec![ProcessLook { clock_ran: true, ..one("web", &[6]) }, one("web", &[])], &[]);
        check(vec![one("web", &[]), ProcessLook { running: true, ..one("web", &[]) }], &[]);
    }

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
