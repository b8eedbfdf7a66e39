//! Progress events of a run.

use std::path::PathBuf;

use apprentice_protocol::RunId;
use apprentice_runs::row::TrialRow;

use super::plan::TrialSpec;

/// A progress event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The plan is complete and the trials begin.
    Planned {
        /// The run's id.
        run: RunId,
        /// The run's folder.
        folder: PathBuf,
        /// The number of planned trials.
        trials: usize,
        /// Trials that already have a result.
        finished: usize,
    },
    /// An attempt started.
    Started {
        /// The attempt's trial.
        trial: TrialSpec,
        /// The attempt number, from 1.
        attempt: u32,
    },
    /// An attempt finished: its row is on disk.
    Finished {
        /// The attempt's row.
        row: Box<TrialRow>,
        /// The explanation of a void attempt, with the remedy where one is known; `None` unless void.
        message: Option<String>,
    },
}
