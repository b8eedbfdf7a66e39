//! Why an exploration stops without an end of its own. What it finished is kept, and `--resume` goes on from there.

use std::io;
use std::path::PathBuf;

use apprentice_learning::judge::JudgeError;
use apprentice_learning::practice::PracticeError;
use apprentice_skillbook::WriteRefusal;
use apprentice_tasks::check::EvidenceError;
use apprentice_tasks::suite::SuiteError;
use apprentice_tasks::variation::VariationError;

use apprentice_evaluator::functions::admission::AdmissionError;
use apprentice_evaluator::learn::{
    CycleError, LockedSuitesError, OwnAttemptError, PictureError, RecordedAttemptError,
};
use apprentice_evaluator::run::{PlanError, RunError, StoreError};
use apprentice_evaluator::split::SplitError;

/// The reason an exploration stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A file does not have the expected form.
    #[error("{} is no part of an exploration", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: serde_json::Error,
    },
    /// Another process works in the folder.
    #[error("{} is in use by another process; wait for it to finish, or stop it", .0.display())]
    Locked(PathBuf),
    /// There is nothing to explore.
    #[error("{0}")]
    NoStart(String),
    /// The world could not be looked at.
    #[error("the world of {start} could not be looked at: {why}")]
    NoView {
        /// The start.
        start: String,
        /// The cause.
        why: String,
    },
    /// It was interrupted.
    #[error("interrupted; what was finished is kept")]
    Interrupted,
    /// A suite cannot be loaded.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The proposer failed.
    #[error(transparent)]
    Practice(#[from] PracticeError),
    /// A run could not be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A run could not be worked.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An attempt cannot be read.
    #[error(transparent)]
    Attempt(#[from] RecordedAttemptError),
    /// An attempt without checks cannot be read.
    #[error(transparent)]
    Own(#[from] OwnAttemptError),
    /// The evidence of an attempt cannot be read.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A picture cannot be prepared.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The values of a task cannot be drawn.
    #[error(transparent)]
    Variation(#[from] VariationError),
    /// A split cannot be locked.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The judge failed.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Learning failed.
    #[error(transparent)]
    Learn(#[from] CycleError),
    /// A function could not be replayed.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// The index of held-out tasks cannot be read or written.
    #[error(transparent)]
    HeldOut(#[from] LockedSuitesError),
    /// The book refused evidence.
    #[error(transparent)]
    Write(#[from] WriteRefusal),
}
