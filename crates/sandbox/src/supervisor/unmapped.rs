//! Memory that no process counts as its own: files without a name (`memfd_create`), and segments of System V.
//!
//! What is on its way through a socket, and the buffers of sockets, the kernel tells nobody in here.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::Pid;

/// Column of a segment's memory in the kernel's table, of the process that made it, and of its swapped part.
const RESIDENT: usize = 14;
const SWAPPED: usize = 15;
const MAKER: usize = 4;
/// Bytes of one of the blocks in which the size of a file is counted.
const BLOCK: u64 = 512;

/// What is held beside the processes' own memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unmapped {
    /// Bytes of files without a name, each counted once.
    pub(super) files: u64,
    /// Bytes of System V segments.
    pub(super) segments: u64,
    /// What each process holds open or has made.
    pub(super) holders: HashMap<Pid, u64>,
}

impl Unmapped {
    pub(super) fn total(&self) -> u64 {
        self.files + self.segments
    }
}

/// Adds up what these processes hold.
pub(super) fn of<'a>(processes: impl Iterator<Item = &'a Pid>) -> Unmapped {
    let mut found = Unmapped::default();
    let mut files = HashMap::new();
    for pid in processes {
        let mut own = HashMap::new();
        let open = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten().flatten();
        for entry in open {
            let is_unnamed = fs::read_link(entry.path())
                .is_ok_and(|target| target.to_string_lossy().starts_with("/memfd:"));
            // It may be closed by now.
            if let Ok(facts) = fs::metadata(entry.path())
                && is_unnamed
            {
                own.insert((facts.dev(), facts.ino()), facts.blocks() * BLOCK);
            }
        }
        *found.holders.entry(*pid).or_default() += own.values().sum::<u64>();
        files.extend(own);
    }
    found.files = files.values().sum();
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    for (maker, bytes) in segments(&table) {
        found.segments += bytes;
        if let Some(holder) = maker.and_then(|maker| found.holders.get_mut(&maker)) {
            *holder += bytes;
        }
    }
    found
}

/// The maker and the memory of each segment of the kernel's table.
fn segments(table: &str) -> impl Iterator<Item = (Option<Pid>, u64)> + '_ {
    table.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let number =
            |column: usize| columns.get(column).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let maker = columns.get(MAKER).and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
        (maker, number(RESIDENT) + number(SWAPPED))
    })
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::segments;

    #[test]
    fn the_kernels_table_of_segments_is_read() {
        let table = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
            \x20        0          0  1600             524288  1234  1300      2  1000  1000  1000  1000 1700000000 1700000001 1700000000                524288                  4096\n";
        assert_eq!(segments(table).collect::<Vec<_>>(), [(Pid::from_raw(1234), 528_384)]);
    }
}
