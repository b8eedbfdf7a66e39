//! Whether this machine has memory and processors to spare for a world that nobody has asked for yet.

use std::fs;
use std::io;

/// Memory that stays free for what runs, in KiB: a browser or an office program and its pages.
const SPARE_MEMORY_KIB: u64 = 1 << 20;

/// What the kernel says of this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Headroom {
    /// Memory that programs can get without swapping, in KiB.
    available_kib: u64,
    /// Tasks that ran or waited for a processor, on average over the last minute.
    load: f64,
    processors: usize,
}

impl Headroom {
    fn is_enough(self) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a number of processors")]
        let processors = self.processors as f64;
        self.available_kib > SPARE_MEMORY_KIB && self.load < processors
    }
}

/// Returns whether a world may be started ahead of time: there is a GiB of memory to spare, and a processor is idle on average. A
/// machine that does not say has none to spare.
pub fn has_headroom() -> bool {
    read().is_ok_and(Headroom::is_enough)
}

fn read() -> io::Result<Headroom> {
    let processors = std::thread::available_parallelism()?.get();
    parse(&fs::read_to_string("/proc/meminfo")?, &fs::read_to_string("/proc/loadavg")?, processors)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn parse(memory: &str, load: &str, processors: usize) -> Option<Headroom> {
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available_kib = available.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let load = load.split_whitespace().next()?.parse().ok()?;
    Some(Headroom { available_kib, load, processors })
}

#[cfg(test)]
mod tests {
    use super::{Headroom, parse, read};

    #[test]
    fn this_machine_says_what_it_has() {
        let read = read().expect("a Linux machine");
        assert!(read.available_kib > 0 && read.load >= 0.0 && read.processors > 0, "{read:?}");
    }

    #[test]
    fn both_memory_and_a_processor_must_be_free() {
        let memory = "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n";
        let free = parse(memory, "0.50 1.00 2.00 1/200 300\n", 2).expect("read");
        assert_eq!(free, Headroom { available_kib: 4_000_000, load: 0.5, processors: 2 });
        assert!(free.is_enough());
        assert!(!Headroom { load: 2.0, ..free }.is_enough());
        assert!(!Headroom { available_kib: 900_000, ..free }.is_enough());
        assert_eq!(parse("MemTotal: 1 kB\n", "0.5 1 2 1/2 3", 2), None);
    }
}
