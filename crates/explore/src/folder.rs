//! The folder of an exploration: its plan, one folder for each task, and one line for each finished episode.
//!
//! ```text
//! explore.json             the plan
//! episodes.jsonl           one line per finished episode; appended and synced
//! spent.json               the money so far
//! starts/<n>/              the world at the beginning: a suite of one task, and the run that looked at it
//! tasks/<name>/proposal.json  the task as it was proposed
//! tasks/<name>/suite/      the task as a suite of its own, with its split
//! tasks/<name>/untouched-<n>/  the run that does nothing; its check must fail
//! tasks/<name>/try-<n>/    the run of a try: traces, evidence, learning records; `admission/` for its function
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::episode::Episode;
use super::error::ExploreError;
use super::schedule::ExploreLimits;
use super::start::Start;
use apprentice_runs::layout::EXPLORE_FILE;

/// The schema name of the plan.
pub const EXPLORE_SCHEMA: &str = "apprentice.explore/1";
/// The file name of the finished episodes.
pub const EPISODES_FILE: &str = "episodes.jsonl";
const SPENT_FILE: &str = "spent.json";
const LOCK: &str = "explore.lock";

/// `explore.json`: written once, at the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplorePlan {
    /// [`EXPLORE_SCHEMA`].
    pub schema: String,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// The version of the program.
    pub program: String,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The model that acts.
    pub model: String,
    /// The model that proposes, reviews, decides and writes functions.
    pub learner: String,
    /// The folder of the skillbook.
    pub skillbook: PathBuf,
    /// Where the worlds begin, used in turn.
    pub starts: Vec<Start>,
    /// The suite whose held-out tasks are kept clear of, with its split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<PathBuf>,
    /// The split of the suite, if it does not stand beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<PathBuf>,
    /// The limits.
    pub limits: ExploreLimits,
}

/// An open exploration, locked against other processes for the lifetime of this value.
#[derive(Debug)]
pub struct ExploreFolder {
    path: PathBuf,
    plan: ExplorePlan,
    episodes: Vec<Episode>,
    spent: f64,
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Spent {
    usd: f64,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ExploreError + '_ {
    |source| ExploreError::File { path: path.to_owned(), source }
}

/// Replaces a file: a reader sees the old content or the new one.
pub(super) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), ExploreError> {
    let form = |source| ExploreError::Form { path: path.to_owned(), source };
    let text = serde_json::to_string_pretty(value).map_err(form)? + "\n";
    write_text(path, &text)
}

/// Replaces a file, and creates its folder.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), ExploreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(failed(path))
}

/// Reads a file; `None` if there is none.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ExploreError> {
    let text = match apprentice_files::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path)(error)),
    };
    let form = |source| ExploreError::Form { path: path.to_owned(), source };
    serde_json::from_str(&text).map(Some).map_err(form)
}

impl ExploreFolder {
    /// Creates the folder of a new exploration. It must not hold one yet.
    pub fn create(path: &Path, plan: ExplorePlan) -> Result<Self, ExploreError> {
        fs::create_dir_all(path).map_err(failed(path))?;
        let lock = lock(path)?;
        let file = path.join(EXPLORE_FILE);
        if file.exists() {
            let there = io::Error::new(io::ErrorKind::AlreadyExists, "an exploration is there; use --resume");
            return Err(failed(&file)(there));
        }
        write_json(&file, &plan)?;
        Ok(Self { path: path.to_owned(), plan, episodes: Vec::new(), spent: 0.0, _lock: lock })
    }

    /// Opens an exploration to go on with it. A line that was cut off is removed: its episode is finished again.
    pub fn open(path: &Path) -> Result<Self, ExploreError> {
        let file = path.join(EXPLORE_FILE);
        let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no exploration");
        let plan = read_json(&file)?.ok_or_else(|| failed(&file)(missing()))?;
        let lock = lock(path)?;
        let episodes = read_episodes(&path.join(EPISODES_FILE))?;
        let known: Option<Spent> = read_json(&path.join(SPENT_FILE))?;
        let spent = known.map_or(0.0, |spent| spent.usd);
        Ok(Self { path: path.to_owned(), plan, episodes, spent, _lock: lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan.
    pub fn plan(&self) -> &ExplorePlan {
        &self.plan
    }

    /// The finished episodes.
    pub fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    /// The money that was spent so far, by all processes.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Notes the money spent so far.
    pub(super) fn note_spent(&mut self, usd: f64) -> Result<(), ExploreError> {
        self.spent = usd;
        write_json(&self.path.join(SPENT_FILE), &Spent { usd })
    }

    /// Appends a finished episode and syncs it.
    pub(super) fn append(&mut self, episode: Episode) -> Result<(), ExploreError> {
        let path = self.path.join(EPISODES_FILE);
        let form = |source| ExploreError::Form { path: path.clone(), source };
        let line = serde_json::to_string(&episode).map_err(form)? + "\n";
        let write = || -> io::Result<()> {
            let mut file = apprentice_files::open_append(&path)?;
            file.write_all(line.as_bytes())?;
            file.sync_data()
        };
        write().map_err(failed(&path))?;
        self.episodes.push(episode);
        Ok(())
    }

    /// The folder of a start.
    pub(super) fn start(&self, number: usize) -> PathBuf {
        self.path.join("starts").join((number + 1).to_string())
    }

    /// The folder of a task.
    pub(super) fn task(&self, name: &str) -> PathBuf {
        self.path.join("tasks").join(name)
    }
}

/// Reads the finished episodes, and cuts off a line that was not written whole.
fn read_episodes(path: &Path) -> Result<Vec<Episode>, ExploreError> {
    let bytes = match apprentice_files::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(path)(error)),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < bytes.len() {
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(whole as u64));
        cut.map_err(failed(path))?;
    }
    let text = std::str::from_utf8(&bytes[..whole]);
    let text = text.map_err(|error| failed(path)(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    // From text, as the book's log is read: from bytes, the program would hold all that reads a change twice.
    let read = |line| {
        serde_json::from_str(line).map_err(|source| ExploreError::Form { path: path.to_owned(), source })
    };
    text.split('\n').filter(|line| !line.is_empty()).map(read).collect()
}

fn lock(folder: &Path) -> Result<File, ExploreError> {
    let path = folder.join(LOCK);
    let file = apprentice_files::open_lock(&path);
    let file = file.map_err(failed(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ExploreError::Locked(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(&path)(source)),
    }
}
