//! What is shown: the runs below a folder, and the skillbooks beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::{fs, io};

use apprentice_runs::layout::{BOOK_FOLDER, SKILLBOOK_FOLDER};
use apprentice_runs::row::TrialRow;
use apprentice_runs::{Place, RunError, StoredRun, Wanted, WrongPlace, check, find_runs};
use apprentice_trace::{Blobs, FileSource, Trace};

use crate::error_chain::chain;

/// The most runs of one page.
const RUNS: usize = 200;
/// The number of parsed traces kept. Side by side needs two; steps are asked for one by one.
const TRACES: usize = 4;

/// A folder that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The folder cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// There is no run.
    #[error(transparent)]
    Other(#[from] WrongPlace),
    /// There are too many.
    #[error("{} holds more than {RUNS} runs; give the folder of one run or of one experiment", .0.display())]
    TooMany(PathBuf),
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The runs below one folder, open for reading.
pub struct Library {
    pub(crate) title: String,
    folder: PathBuf,
    runs: RwLock<Arc<[PathBuf]>>,
    source: Option<Arc<dyn FileSource>>,
    traces: Mutex<Vec<CachedTrace>>,
}

struct CachedTrace {
    path: PathBuf,
    bytes: u64,
    trace: Arc<Trace>,
}

impl Library {
    /// Finds the runs of a folder. Reads no rows and no traces.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read, holds no run, or holds too many.
    pub fn open(folder: &Path) -> Result<Self, LibraryError> {
        Self::open_from(folder, None)
    }

    /// Opens a folder whose traces and pictures may lie elsewhere. Each is brought when it is shown.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read, holds no run, or holds too many.
    pub fn open_from(folder: &Path, source: Option<Arc<dyn FileSource>>) -> Result<Self, LibraryError> {
        check(folder, Wanted::Viewed)?;
        let read = |source| LibraryError::Read { path: folder.to_owned(), source };
        let real = folder.canonicalize().map_err(read)?;
        let runs: Arc<[PathBuf]> = Arc::from(find_runs(&real, RUNS));
        match runs.len() {
            0 => {
                let (path, found) = (folder.to_owned(), Place::of(folder));
                return Err(WrongPlace { path, found, wanted: Wanted::Viewed }.into());
            }
            found if found > RUNS => return Err(LibraryError::TooMany(folder.to_owned())),
            _ => {}
        }
        let title = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { title, folder: real, runs: RwLock::new(runs), source, traces: Mutex::default() })
    }

    /// Brings what came since, and finds the runs anew. Returns in words what could not be brought.
    pub(crate) fn refresh(&self) -> Option<String> {
        let problem = self.source.as_ref().and_then(|source| source.refresh().err());
        *self.runs.write().unwrap_or_else(PoisonError::into_inner) = Arc::from(find_runs(&self.folder, RUNS));
        problem.map(|error| chain(&error))
    }

    /// The folder that was opened.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folders of the runs, in order of their names.
    pub(crate) fn folders(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.runs.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the key of a run or a book in documents and links: `~` and its folder relative to what was opened. With the
    /// sign in front it is never `.` or `..`, which browsers resolve in the path of a URL (WHATWG URL, "path state").
    pub(crate) fn key(&self, run: &Path) -> String {
        let inside = run.strip_prefix(&self.folder).unwrap_or(run);
        format!("~{}", inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"))
    }

    /// Returns the name of a run in words: its folder relative to what was opened, or the title. Exported pages hold it, so it is
    /// no path of this machine.
    pub(crate) fn named(&self, run: &Path) -> String {
        match self.key(run).strip_prefix('~') {
            Some(inside) if !inside.is_empty() => inside.to_owned(),
            _ => self.title.clone(),
        }
    }

    /// Gives the pages a title in place of the folder's name, as for a bundle that was unpacked somewhere.
    #[must_use]
    pub fn titled(mut self, title: String) -> Self {
        self.title = title;
        self
    }

    /// The folder of a run that a link names.
    pub(crate) fn folder_of(&self, key: &str) -> Option<PathBuf> {
        self.folders().iter().find(|run| self.key(run) == key).cloned()
    }

    /// The blobs of a run.
    pub(crate) fn blobs(&self, run: &Path) -> Blobs {
        Blobs::from(run, self.source.clone())
    }

    /// Reads the plan and the rows of a run as they are now.
    pub(crate) fn run(&self, key: &str) -> Option<Result<StoredRun, RunError>> {
        self.folder_of(key).map(|folder| StoredRun::open_from(&folder, self.source.clone()))
    }

    /// Reads a trace of a row. Traces that have not grown since are taken from memory.
    pub(crate) fn trace(&self, run: &StoredRun, row: &TrialRow) -> Result<Arc<Trace>, RunError> {
        self.trace_at(run, &row.trace)
    }

    /// Reads the trace in a folder of an attempt, relative to the run.
    pub(crate) fn trace_at(&self, run: &StoredRun, folder: &str) -> Result<Arc<Trace>, RunError> {
        let path = run.events_of(folder)?;
        let bytes = fs::metadata(&path).map_or(0, |data| data.len());
        let known = {
            let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
            let place = traces.iter().position(|one| one.path == path && one.bytes == bytes);
            place.map(|place| {
                let one = traces.remove(place);
                let trace = Arc::clone(&one.trace);
                traces.push(one);
                trace
            })
        };
        if let Some(trace) = known {
            return Ok(trace);
        }
        let trace = Arc::new(run.trace_at(folder)?);
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.retain(|one| one.path != path);
        if traces.len() >= TRACES {
            traces.remove(0);
        }
        traces.push(CachedTrace { path, bytes, trace: Arc::clone(&trace) });
        Ok(trace)
    }

    /// The skillbooks: those that runs froze, and those of an experiment, by their key in links.
    pub(crate) fn books(&self) -> BTreeMap<String, PathBuf> {
        let mut books = BTreeMap::new();
        let mut add = |folder: PathBuf| {
            if folder.is_dir() {
                books.insert(self.key(&folder), folder);
            }
        };
        for run in self.folders().iter() {
            add(run.join(BOOK_FOLDER));
            // `EXPERIMENT/measure/RUN` and `EXPERIMENT/learning/RUN`.
            for above in run.ancestors().skip(1).take(2).filter(|above| above.starts_with(&self.folder)) {
                add(above.join(SKILLBOOK_FOLDER));
            }
        }
        books
    }
}
