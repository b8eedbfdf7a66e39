//! The folder of a run, open for reading: what its plan says, its rows, the traces of its attempts. Whoever made the folder,
//! nothing outside of it is read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{CapOverrides, TaskId, TrialId};
use apprentice_trace::{Blobs, FileSource, Trace, TraceError};
use serde::Deserialize;
use serde_json::Value;

use crate::layout::{EVENTS_FILE, ROWS_FILE};
use crate::open::{OpenError, read_plan, read_rows};
use crate::row::TrialRow;
use crate::rows::RowsError;

/// Maximum size of an attempt's events in bytes. Pictures and texts of the screen are blobs, so that ten thousand steps
/// take a tenth of it.
const EVENTS_LIMIT: u64 = 256 << 20;

/// The reason a run, or one of its attempts, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The folder holds no run, or its plan cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// An attempt's trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A row names a folder outside of its run.
    #[error("the row names the trace {0:?}, which is not inside the run")]
    Outside(String),
    /// An attempt's events exceed the limit.
    #[error("{} has {bytes} bytes, more than the {EVENTS_LIMIT} that are read at once", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// An attempt that lies elsewhere cannot be brought.
    #[error("the attempt {attempt} cannot be brought to this machine")]
    Source {
        /// Its folder in the run.
        attempt: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A trace has no events.
    #[error("{} holds no `started` event", .0.display())]
    Empty(PathBuf),
}

/// The parts of a plan that readers state.
#[derive(Clone, Debug, Deserialize)]
pub struct PlanHead {
    /// The run.
    pub run: String,
    /// The program's version.
    #[serde(default)]
    pub program: String,
    /// The suite's name.
    #[serde(default)]
    pub suite: String,
    /// Hash of the suite.
    #[serde(default)]
    pub suite_hash: String,
    /// Hash of the split.
    #[serde(default)]
    pub split_hash: Option<String>,
    /// Hash of the prompts.
    #[serde(default)]
    pub prompt_hash: String,
    /// The number of seeds.
    #[serde(default)]
    pub seeds: Option<u32>,
    /// The models.
    #[serde(default)]
    pub models: Value,
    /// The arms.
    #[serde(default)]
    pub arms: Value,
    /// The beginning of each task's instruction.
    #[serde(default)]
    pub instructions: BTreeMap<TaskId, String>,
    /// Caps that replace the tasks' own.
    #[serde(default)]
    pub limits: Option<CapOverrides>,
    /// The program of each task, as far as the suite says it.
    #[serde(default)]
    pub programs: BTreeMap<TaskId, String>,
    /// The planned trials.
    #[serde(default)]
    pub trials: Vec<PlannedTrialHead>,
}

/// The parts of a planned trial that readers state.
#[derive(Clone, Debug, Deserialize)]
pub struct PlannedTrialHead {
    /// The trial.
    pub trial: TrialId,
    /// The model.
    #[serde(default)]
    pub model: String,
    /// The arm.
    #[serde(default)]
    pub arm: String,
}

/// A run's folder, open for reading.
#[derive(Debug)]
pub struct StoredRun {
    /// The run's folder.
    pub folder: PathBuf,
    /// The head of its plan.
    pub plan: PlanHead,
    /// Its rows, in the order of the plan.
    pub rows: Vec<TrialRow>,
    /// A last row without a line break, in words.
    pub torn: Option<String>,
    /// Its blobs.
    pub blobs: Blobs,
    /// Where the files come from that are not here.
    source: Option<Arc<dyn FileSource>>,
}

impl StoredRun {
    /// Reads the plan and the rows. Rows are small; traces are read one at a time.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no run, or if its plan or its rows cannot be read by this version.
    pub fn open(folder: &Path) -> Result<Self, RunError> {
        Self::open_from(folder, None)
    }

    /// Opens a run whose traces and pictures may lie elsewhere. Each is brought when it is read.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no run, or if its plan or its rows cannot be read by this version.
    pub fn open_from(folder: &Path, source: Option<Arc<dyn FileSource>>) -> Result<Self, RunError> {
        let plan = read_plan(folder)?;
        let read = read_rows(folder)?;
        let mut rows = read.rows;
        rows.sort_by_key(|row| (row.order, row.attempt));
        let torn = read.torn.map(|torn| {
            format!(
                "line {} of {ROWS_FILE} is cut off after {} bytes and is not a result",
                torn.line, torn.bytes
            )
        });
        let blobs = Blobs::from(folder, source.clone());
        Ok(Self { folder: folder.to_owned(), plan, rows, torn, blobs, source })
    }

    /// Reads the trace of a row.
    ///
    /// # Errors
    ///
    /// Fails as [`trace_at`](Self::trace_at) does.
    pub fn trace(&self, row: &TrialRow) -> Result<Trace, RunError> {
        self.trace_at(&row.trace)
    }

    /// Reads the trace in an attempt's folder, relative to the run.
    ///
    /// # Errors
    ///
    /// Fails if the attempt does not lie inside the run or cannot be brought to this machine, or if its events are too large, cannot
    /// be read, or do not begin.
    pub fn trace_at(&self, attempt: &str) -> Result<Trace, RunError> {
        let path = self.events_of(attempt)?;
        match fs::metadata(&path) {
            Ok(data) if data.len() > EVENTS_LIMIT => Err(RunError::TooLarge { path, bytes: data.len() }),
            _ => {
                let trace = Trace::read(&path)?;
                if trace.header().is_none() { Err(RunError::Empty(path)) } else { Ok(trace) }
            }
        }
    }

    /// The path of an attempt's events, if it lies inside the run. An attempt that lies elsewhere is brought.
    ///
    /// # Errors
    ///
    /// Fails if the attempt does not lie inside the run or cannot be brought to this machine.
    pub fn events_of(&self, attempt: &str) -> Result<PathBuf, RunError> {
        let folder = self.inside(attempt)?;
        if let Some(source) = &self.source {
            let failed = |source| RunError::Source { attempt: attempt.to_owned(), source };
            source.bring(&folder).map_err(failed)?;
        }
        Ok(folder.join(EVENTS_FILE)).and_then(|path| {
            // A link inside of the run may lead out of it.
            match (path.canonicalize(), self.folder.canonicalize()) {
                (Ok(real), Ok(root)) if !real.starts_with(&root) => {
                    Err(RunError::Outside(attempt.to_owned()))
                }
                _ => Ok(path),
            }
        })
    }

    /// The folder of an attempt, if its name is one inside the run.
    ///
    /// # Errors
    ///
    /// Fails if the name leads out of the run's folder.
    pub fn inside(&self, attempt: &str) -> Result<PathBuf, RunError> {
        let relative = Path::new(attempt);
        if attempt.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            Err(RunError::Outside(attempt.to_owned()))
        } else {
            Ok(self.folder.join(relative))
        }
    }
}
