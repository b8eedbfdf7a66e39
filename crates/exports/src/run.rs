//! Opens a run for export: what its plan says, its rows, the folders of its attempts.

use std::fs;
use std::path::{Component, Path, PathBuf};

use apprentice_results::row::TrialRow;
use apprentice_results::rows::{self, RowsError};
use apprentice_trace::{Trace, TraceError};
use serde::Deserialize;
use serde_json::Value;

use crate::blobs::Blobs;

/// Maximum size of an attempt's events in bytes. Pictures and texts of the screen are blobs, so that ten thousand steps
/// take a tenth of it.
const EVENTS_LIMIT: u64 = 256 << 20;

/// The reason a run, or one of its attempts, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be read.
    #[error("{} cannot be read; give the folder of a run", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The plan is no plan.
    #[error("{} is not a run plan", path.display())]
    PlanText {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
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
    #[error("{} has {bytes} bytes, more than the {EVENTS_LIMIT} that an export reads", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A trace has no events.
    #[error("{} holds no `started` event", .0.display())]
    Empty(PathBuf),
}

/// The parts of a plan that an export states.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PlanHead {
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) suite: String,
    #[serde(default)]
    pub(crate) suite_hash: String,
    #[serde(default)]
    pub(crate) split_hash: Option<String>,
    #[serde(default)]
    pub(crate) prompt_hash: String,
    #[serde(default)]
    pub(crate) seeds: Option<u32>,
    #[serde(default)]
    pub(crate) models: Value,
    #[serde(default)]
    pub(crate) arms: Value,
}

/// A run's folder, open for reading.
#[derive(Debug)]
pub(crate) struct Run {
    folder: PathBuf,
    pub(crate) plan: PlanHead,
    pub(crate) rows: Vec<TrialRow>,
    /// A last row without a line break, in words.
    pub(crate) torn: Option<String>,
    pub(crate) blobs: Blobs,
}

impl Run {
    /// Reads the plan and the rows. Rows are small; traces are read one at a time.
    pub(crate) fn open(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join("run.json");
        let text = fs::read(&path).map_err(|source| RunError::Plan { path: path.clone(), source })?;
        let plan = serde_json::from_slice(&text).map_err(|source| RunError::PlanText { path, source })?;
        let file = folder.join("trials.jsonl");
        let read = if file.exists() { rows::read(&file)? } else { rows::Rows::default() };
        let mut rows = read.rows;
        rows.sort_by_key(|row| (row.order, row.attempt));
        let torn = read.torn.map(|torn| {
            format!(
                "line {} of trials.jsonl is cut off after {} bytes and is not a result",
                torn.line, torn.bytes
            )
        });
        Ok(Self { folder: folder.to_owned(), plan, rows, torn, blobs: Blobs::of(folder) })
    }

    /// Reads the trace of a row.
    pub(crate) fn trace(&self, row: &TrialRow) -> Result<Trace, RunError> {
        let relative = Path::new(&row.trace);
        let outside = || RunError::Outside(row.trace.clone());
        if row.trace.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(outside());
        }
        let path = self.folder.join(relative).join("events.jsonl");
        // A link inside of the run may lead out of it.
        if let (Ok(real), Ok(root)) = (path.canonicalize(), self.folder.canonicalize())
            && !real.starts_with(&root)
        {
            return Err(outside());
        }
        match fs::metadata(&path) {
            Ok(data) if data.len() > EVENTS_LIMIT => Err(RunError::TooLarge { path, bytes: data.len() }),
            _ => {
                let trace = Trace::read(&path)?;
                if trace.header().is_none() { Err(RunError::Empty(path)) } else { Ok(trace) }
            }
        }
    }
}
