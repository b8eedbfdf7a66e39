//! Watches what the cell's programs use together, and ends the largest where that is over the limit.
//!
//! The kernel bounds one process's data and the number of processes; their memory together it bounds only in control
//! groups, which few users may make. So it is added up here, twice a second.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use apprentice_protocol::{Clock as _, Why};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::sync::mpsc::UnboundedSender;

use super::process::Processes;
use super::process_table::{Entry, descendants, living};
use super::unmapped::{self, Unmapped};
use crate::clock::SystemClock;
use crate::limits::CellLimits;
use crate::wire::{Frame, Program, SupervisorMessage};

/// Time between two looks. A program can take about a gigabyte meanwhile.
const INTERVAL: Duration = Duration::from_millis(500);
/// Rounds of ending a program whose processes start new ones.
const ROUNDS: u32 = 100;
/// Of so many looks, one also looks for memory that no process counts: all open files are read for it.
const UNMAPPED_EVERY: u32 = 4;
/// What removes segments of System V: they outlive the programs that made them.
const REMOVE_SEGMENTS: [&str; 2] = ["ipcrm", "--all=shm"];
/// So near to the limit, a look finds that new processes are refused.
const NEAR: u64 = 20;

/// What one process uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Use {
    name: String,
    /// Bytes of memory that are its own.
    own: u64,
    /// Bytes of memory that it may share with others.
    shared: u64,
    threads: u64,
}

/// Why a program has to end.
#[derive(Debug, PartialEq, Eq)]
enum Excess {
    Memory { doomed: Pid, used: u64 },
    Processes { name: String, count: u64 },
}

/// Looks at the cell's programs for as long as it lives.
pub(super) async fn watch(
    processes: Rc<Processes>,
    limits: CellLimits,
    notes: UnboundedSender<Frame<SupervisorMessage>>,
) {
    let clock = SystemClock::new();
    let mut looks = 0;
    loop {
        clock.pause(INTERVAL, Why::PollFloor).await;
        looks = (looks + 1) % UNMAPPED_EVERY;
        let table = usage();
        let beside = if looks == 0 { unmapped::of(table.keys()) } else { Unmapped::default() };
        let Some(excess) = excess(&table, &beside, &limits, |pid| processes.is_essential(pid)) else {
            continue;
        };
        if beside.segments > 0 {
            let argv = REMOVE_SEGMENTS.map(str::to_owned).to_vec();
            // Where it is not installed, what made the segments ends all the same.
            let _ = processes.launch(&Program { argv, ..Program::default() });
        }
        let story = match &excess {
            Excess::Memory { doomed, used } => {
                let name = table.get(doomed).map_or("", |entry| entry.name.as_str());
                end(&processes, *doomed);
                format!(
                    "{name} was ended: the programs here used {} of memory, and this machine has {} for them",
                    size(*used),
                    size(limits.memory)
                )
            }
            Excess::Processes { name, count } => {
                end_all(&processes, name);
                format!(
                    "{name} was ended: with {count} of its processes and threads, this machine's limit of {} was \
                     reached",
                    limits.processes
                )
            }
        };
        tracing::debug!(%story, "over the limit");
        // A closed channel means that the cell is ending.
        let _ = notes.send(Frame::plain(SupervisorMessage::Ended { story }));
    }
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        mebibytes @ 0..1024 => format!("{mebibytes} MB"),
        mebibytes => format!("{}.{} GB", mebibytes >> 10, ((mebibytes & 1023) * 10) >> 10),
    }
}

/// What is over its limit, and who has to go. `essential` programs carry the cell and stay.
fn excess(
    table: &HashMap<Pid, Use>,
    beside: &Unmapped,
    limits: &CellLimits,
    essential: impl Fn(Pid) -> bool,
) -> Option<Excess> {
    let threads: u64 = table.values().map(|entry| entry.threads).sum();
    if threads + NEAR >= limits.processes {
        let mut by_name: HashMap<&str, u64> = HashMap::new();
        for (_, entry) in table.iter().filter(|(pid, _)| !essential(**pid)) {
            *by_name.entry(&entry.name).or_default() += entry.threads;
        }
        let (name, count) = by_name.into_iter().max_by_key(|(name, count)| (*count, *name))?;
        return Some(Excess::Processes { name: name.to_owned(), count });
    }
    // What is shared is counted once, as the largest share that any process sees. Files without a name may be mapped, and then
    // are part of it.
    let own: u64 = table.values().map(|entry| entry.own).sum();
    let used = own + table.values().map(|entry| entry.shared).max().unwrap_or(0).max(beside.total());
    if used <= limits.memory {
        return None;
    }
    let rest = table.iter().filter(|(pid, _)| !essential(**pid));
    let held = |pid: &Pid| beside.holders.get(pid).copied().unwrap_or_default();
    let (doomed, _) =
        rest.max_by_key(|(pid, entry)| (entry.own + entry.shared.max(held(pid)), pid.as_raw_nonzero()))?;
    Some(Excess::Memory { doomed: *doomed, used })
}

fn end(processes: &Processes, doomed: Pid) {
    processes.note_ended_by_limit(doomed);
    // It may have ended by itself.
    let _ = kill_process(doomed, Signal::KILL);
}

/// Ends every process of a name. They may start others meanwhile: a process group is ended at one stroke, so that none of
/// its members can, and this looks again until none is left.
fn end_all(processes: &Processes, name: &str) {
    for _ in 0..ROUNDS {
        let table = living();
        let kept: HashSet<Pid> = table
            .iter()
            .filter(|entry| entry.name != name || processes.is_essential(entry.pid))
            .filter_map(|entry| entry.group)
            .collect();
        let doomed: Vec<&Entry> =
            table.iter().filter(|entry| entry.name == name && !processes.is_essential(entry.pid)).collect();
        if doomed.is_empty() {
            return;
        }
        let groups: HashSet<Pid> = doomed.iter().filter_map(|entry| entry.group).collect();
        for group in groups.difference(&kept) {
            // Its last member may have ended.
            let _ = kill_process_group(*group, Signal::KILL);
        }
        for entry in doomed {
            end(processes, entry.pid);
        }
    }
}

/// What every process below this one uses, those that have ended and still count included.
fn usage() -> HashMap<Pid, Use> {
    let read = |entry: Entry| {
        let status = match entry.dead {
            true => String::new(),
            false => {
                fs::read_to_string(format!("/proc/{}/status", entry.pid.as_raw_nonzero())).unwrap_or_default()
            }
        };
        (entry.pid, Use { name: entry.name, threads: entry.threads.max(1), ..parse(&status) })
    };
    descendants().into_iter().map(read).collect()
}

fn parse(status: &str) -> Use {
    let mut found = Use::default();
    for line in status.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let number =
            || value.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        match key {
            "RssAnon" => found.own = number() << 10,
            "RssShmem" => found.shared = number() << 10,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rustix::process::Pid;

    use super::{Excess, Unmapped, Use, excess, parse, size};
    use crate::limits::CellLimits;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).expect("a process id")
    }

    fn table(entries: &[(i32, &str, u64, u64, u64)]) -> HashMap<Pid, Use> {
        let entry = |(number, name, own, shared, threads): &(i32, &str, u64, u64, u64)| {
            (pid(*number), Use { name: (*name).to_owned(), own: *own, shared: *shared, threads: *threads })
        };
        entries.iter().map(entry).collect()
    }

    #[test]
    fn the_largest_program_goes_and_what_carries_the_cell_stays() {
        let limits = CellLimits { memory: 100, processes: 50, ..CellLimits::default() };
        let check = |entries: &[(i32, &str, u64, u64, u64)], expected: Option<Excess>| {
            let beside = Unmapped::default();
            assert_eq!(
                excess(&table(entries), &beside, &limits, |one| one == pid(2)),
                expected,
                "{entries:?}"
            );
        };
        // What no process counts is its holder's.
        let beside = Unmapped { files: 60, segments: 20, holders: HashMap::from([(pid(4), 80)]) };
        let entries = [(3, "a", 30, 10, 1), (4, "b", 5, 10, 1)];
        let expected = Some(Excess::Memory { doomed: pid(4), used: 115 });
        assert_eq!(excess(&table(&entries), &beside, &limits, |_| false), expected);
        check(&[(2, "Xvfb", 50, 0, 1), (3, "a", 50, 0, 1)], None);
        check(
            &[(2, "Xvfb", 60, 0, 1), (3, "a", 30, 0, 1), (4, "b", 20, 0, 1)],
            Some(Excess::Memory { doomed: pid(3), used: 110 }),
        );
        check(&[(3, "a", 30, 40, 1), (4, "b", 20, 40, 1)], None);
        check(&[(3, "a", 30, 80, 1)], Some(Excess::Memory { doomed: pid(3), used: 110 }));
        check(
            &[(2, "Xvfb", 0, 0, 20), (3, "a", 9, 0, 6), (4, "a", 9, 0, 6), (5, "b", 9, 0, 7)],
            Some(Excess::Processes { name: "a".into(), count: 12 }),
        );
    }

    #[test]
    fn what_the_kernel_tells_is_read() {
        let status =
            "Name:\tsoffice.bin\nRssAnon:\t    2048 kB\nRssFile:\t 9 kB\nRssShmem:\t 4 kB\nThreads:\t7\n";
        let expected = Use { own: 2 << 20, shared: 4 << 10, ..Use::default() };
        assert_eq!(parse(status), expected);
        assert_eq!((size(5 << 20).as_str(), size(3584 << 20).as_str()), ("5 MB", "3.5 GB"));
    }
}
