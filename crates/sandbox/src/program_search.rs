//! Where programs are looked for: on the host, and inside a cell.

use std::path::{Path, PathBuf};

use super::home;

/// Folders searched for programs of the host.
const FOLDERS: [&str; 6] =
    ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/usr/libexec", "/usr/lib/at-spi2-core"];

/// Finds a program of the host by name.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// `PATH` inside a cell: the programs that it adds come last, but for wrappers of the system's.
pub(super) fn search_path(programs: &[&str]) -> String {
    let first = programs.first().map(|programs| format!("{programs}/{}:", home::FIRST)).unwrap_or_default();
    let system = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/games";
    format!("{first}{system}:{}", programs.join(":"))
}
