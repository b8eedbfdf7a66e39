//! The reasons a run stops early.

use std::path::PathBuf;

use apprentice_protocol::TaskId;
use apprentice_tasks::solution::ScriptError;
use apprentice_tasks::variation::VariationError;
use tokio::task::JoinError;

use super::plan::PlanError;
use super::store::StoreError;

/// The reason a run stopped early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be made, or contains no trial.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue of another program cannot be used.
    #[error("the queue cannot be used")]
    Queue(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A model is unavailable.
    #[error("model {model:?}: {why}")]
    Model {
        /// The model's name.
        model: String,
        /// The problem and its remedy.
        why: String,
    },
    /// The server of a model refuses or answers none, which no further attempt can change. What has no result is not run.
    #[error("the run stopped, because {model} cannot be used: {why}")]
    Lasting {
        /// The model's name.
        model: String,
        /// The cause, with the remedy where one is known.
        why: String,
        /// The run's folder.
        folder: PathBuf,
    },
    /// The suite no longer contains a task of the plan.
    #[error("the suite no longer has task {0}")]
    NoTask(TaskId),
    /// A task cannot be varied.
    #[error("task {task}")]
    Vary {
        /// The task's id.
        task: TaskId,
        /// The cause.
        #[source]
        source: VariationError,
    },
    /// A task's solution or near miss is invalid.
    #[error("task {task}: invalid solution or near-miss script")]
    Script {
        /// The task's id.
        task: TaskId,
        /// The cause.
        #[source]
        source: ScriptError,
    },
    /// Internal error: the code that runs a trial panicked.
    #[error("internal error: the trial runner panicked")]
    Crashed(#[source] JoinError),
    /// An input of the plan has changed.
    #[error("the run's inputs differ from its plan: {0}; resume with --accept-drift, or start a new run")]
    Drift(String),
}
