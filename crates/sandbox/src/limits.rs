//! How much of the machine one cell may take.

use rustix::process::{Pid, Resource, Rlimit, prlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// What the programs of one cell may use together.
///
/// Over a limit, the program that uses most is ended, and the cell goes on; what it keeps in files fails to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellLimits {
    /// Bytes of memory of all programs, and of one program's data.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Bytes in `/dev/shm`.
    pub shared_memory: u64,
    /// Bytes in all other files: the home, `/tmp` and the rest.
    pub files: u64,
}

/// More processes and threads than [`CellLimits::processes`] that commands of the owner may have.
pub(super) const RESERVE: u64 = 200;

impl Default for CellLimits {
    fn default() -> Self {
        Self { memory: 6 << 30, processes: 2000, shared_memory: 1 << 30, files: 4 << 30 }
    }
}

impl CellLimits {
    /// Sets the limits that one process hands down to all it starts. `counted` says whether the kernel counts the
    /// processes of this cell alone.
    pub(super) fn impose(&self, counted: bool) -> rustix::io::Result<()> {
        lower(None, Resource::Data, self.memory)?;
        if counted {
            lower(None, Resource::Nproc, self.processes + RESERVE)?;
        }
        Ok(())
    }

    /// Takes the reserve from a process that was just started.
    pub(super) fn impose_on(&self, process: Pid) -> rustix::io::Result<()> {
        lower(Some(process), Resource::Nproc, self.processes)
    }
}

/// Lowers a limit, and leaves one that is lower already.
fn lower(process: Option<Pid>, resource: Resource, to: u64) -> rustix::io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let least = |one: Option<u64>| Some(one.map_or(to, |one| one.min(to)));
    let new = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    match process {
        Some(process) => prlimit(Some(process), resource, new).map(|_| ()),
        None => setrlimit(resource, new),
    }
}

/// Returns whether the kernel counts processes by user namespace, since 5.14. Before, a limit would count those of the user
/// outside, too.
pub(super) fn kernel_counts_by_namespace(release: &str) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (5, 14),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::kernel_counts_by_namespace;

    #[test]
    fn kernels_are_told_apart_by_their_release() {
        for (release, expected) in [
            ("5.14.0-70", true),
            ("6.1.0-13-amd64", true),
            ("5.10.0", false),
            ("4.19", false),
            ("odd", false),
        ] {
            assert_eq!(kernel_counts_by_namespace(release), expected, "{release}");
        }
    }
}
