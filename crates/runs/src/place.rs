//! What a path holds: a run, an experiment, a bundle, or something that users confuse with them.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::layout::{
    BUNDLE_EXTENSION, EVENTS_FILE, EXPERIMENT_FILE, EXPLORE_FILE, FOLDERS_WITHOUT_RUNS, FORK_FILE, PLAN_FILE,
    ROWS_FILE,
};
use crate::row::ROW_SCHEMA;

/// How deep runs lie below a folder: an experiment keeps them at `measure/RUN`, a replicate at `book-2/measure/RUN`, and both may
/// lie in the folder of all runs.
const MAX_DEPTH: usize = 4;
/// Maximum number of runs that are looked for to say what a folder holds.
const MAX_COUNTED_RUNS: usize = 100;
/// Bytes of a file that are read to say what it is.
const MAX_START_BYTES: u64 = 4096;
/// The first bytes of a gzip file (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a path holds.
#[derive(Debug)]
pub enum Place {
    /// Nothing.
    Missing,
    /// Something that cannot be looked at.
    Unreadable(io::Error),
    /// A pipe, a device or a socket: opening it could wait for ever.
    Special,
    /// A run.
    Run,
    /// An experiment.
    Experiment,
    /// A bundle: one file.
    Bundle,
    /// A bundle that was unpacked, and what it holds.
    BundleOf(Box<Self>),
    /// A file of rows.
    RowsFile,
    /// A folder with a file of rows and no plan.
    RowsFolder,
    /// The folder of an attempt, with the folder of its run if it lies in one.
    Attempt(Option<PathBuf>),
    /// A fork.
    Fork,
    /// An exploration.
    Exploration,
    /// A suite of tasks.
    Suite,
    /// A skillbook.
    Skillbook,
    /// A folder with this many runs below it; the last of them by name.
    Runs(usize, PathBuf),
    /// An empty folder.
    Empty,
    /// Another folder.
    Folder,
    /// Another file.
    File,
}

impl Place {
    /// Looks at a path. Follows a link that was named, opens nothing but regular files.
    pub fn of(path: &Path) -> Self {
        let kind = match fs::metadata(path) {
            Ok(data) => data.file_type(),
            // A path below a file leads nowhere, either.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Self::Missing;
            }
            Err(error) => return Self::Unreadable(error),
        };
        if kind.is_dir() {
            return Self::of_folder(path);
        }
        if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
            return Self::Special;
        }
        Self::of_file(path)
    }

    fn of_file(path: &Path) -> Self {
        let mut start = Vec::new();
        let read =
            apprentice_files::open(path).and_then(|file| file.take(MAX_START_BYTES).read_to_end(&mut start));
        if let Err(error) = read {
            return Self::Unreadable(error);
        }
        // A damaged bundle is told from other files by its name.
        if start.starts_with(&GZIP) || path.to_string_lossy().ends_with(BUNDLE_EXTENSION) {
            return Self::Bundle;
        }
        let has_rows = String::from_utf8_lossy(&start).contains(ROW_SCHEMA);
        if has_rows || path.file_name().is_some_and(|name| name == ROWS_FILE) {
            return Self::RowsFile;
        }
        Self::File
    }

    fn of_folder(path: &Path) -> Self {
        let holds = |name: &str| path.join(name).is_file();
        if holds(EXPERIMENT_FILE) {
            return Self::Experiment;
        }
        if holds(PLAN_FILE) {
            return Self::Run;
        }
        if holds(FORK_FILE) {
            return Self::Fork;
        }
        if holds(EXPLORE_FILE) {
            return Self::Exploration;
        }
        if holds(EVENTS_FILE) {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let run = real.ancestors().skip(1).take(3).find(|above| above.join(PLAN_FILE).is_file());
            return Self::Attempt(run.map(Path::to_owned));
        }
        if holds(ROWS_FILE) {
            return Self::RowsFolder;
        }
        if path.join(".meta").is_dir() {
            return Self::Skillbook;
        }
        if path.join("examples").is_dir() {
            return Self::Suite;
        }
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Err(error) => return Self::Unreadable(error),
            Ok(true) => return Self::Empty,
            Ok(false) => {}
        }
        let mut runs = find_runs(path, MAX_COUNTED_RUNS);
        let found = runs.len();
        runs.pop().map_or(Self::Folder, |last| Self::Runs(found, last))
    }
}

/// The words of an error: `PATH is an empty folder`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::Unreadable(error) => return write!(f, "cannot be read ({error})"),
            Self::Special => "is a pipe, a socket or a device",
            Self::Run => "is a run",
            Self::Experiment => "is an experiment",
            Self::Bundle => "is a bundle",
            Self::BundleOf(inside) => match **inside {
                Self::Run => "is a bundle of a run",
                Self::Experiment => "is a bundle of an experiment",
                _ => "is a bundle that holds no run",
            },
            Self::RowsFile => "is a file of rows",
            Self::RowsFolder => "is a folder with rows and without a plan",
            Self::Attempt(_) => "is the folder of one attempt",
            Self::Fork => "is a fork",
            Self::Exploration => "is an exploration",
            Self::Suite => "is a suite of tasks",
            Self::Skillbook => "is a skillbook",
            Self::Runs(1, _) => "is a folder that holds one run",
            Self::Runs(found, _) if *found < MAX_COUNTED_RUNS => {
                return write!(f, "is a folder that holds {found} runs");
            }
            Self::Runs(..) => "is a folder that holds many runs",
            Self::Empty => "is an empty folder",
            Self::Folder => "is a folder that holds no run",
            Self::File => "is a file",
        })
    }
}

/// Finds the runs below a folder, in order of their paths: at most `most` and one more. Links are not followed, because what
/// they lead to was not named.
pub fn find_runs(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect_runs(folder, MAX_DEPTH, most, &mut found);
    found.sort_unstable();
    found
}

fn collect_runs(folder: &Path, depth: usize, most: usize, found: &mut Vec<PathBuf>) {
    if folder.join(PLAN_FILE).is_file() {
        found.push(folder.to_owned());
    }
    if depth == 0 || found.len() > most {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        if is_folder && !FOLDERS_WITHOUT_RUNS.iter().any(|other| name == *other) {
            collect_runs(&entry.path(), depth - 1, most, found);
        }
    }
}

/// Returns the run in a folder of runs that was planned last: ids begin with the time.
pub fn latest_run(root: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(root).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.join(PLAN_FILE).is_file()).max()
}
