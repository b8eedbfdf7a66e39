//! What a collection of evidence works with, and the ways in which it fails.

use std::path::Path;
use std::time::Duration;

use apprentice_metrics::{Compat, EvidenceError};
use apprentice_protocol::{Clock, Machine, MachineError, VoidCause};
use apprentice_trace::Redactor;

use super::reading::ProgramError;
use crate::world_io::Mirror;

/// Inputs and destinations of one collection.
#[derive(Clone, Copy)]
pub struct CollectContext<'a> {
    /// The machine that the attempt ran on.
    pub machine: &'a dyn Machine,
    /// The run's clock.
    pub clock: &'a dyn Clock,
    /// The end of the attempt on this clock. The evidence must contain everything done before it.
    pub ended: Duration,
    /// The folder in which setup steps saved their output.
    pub cache_dir: &'a Path,
    /// The attempt's evidence folder, which `collect` writes.
    pub folder: &'a Path,
    /// Removes known secrets before evidence is saved and judged.
    pub redactor: &'a Redactor,
    /// The suite's folder, the root of its own files.
    pub suite_root: &'a Path,
    /// The source of downloaded files; `None` without `--mirror`.
    pub mirror: Option<&'a Mirror>,
    /// Whether upstream's known bugs are fixed or reproduced.
    pub compat: Compat,
}

/// A failed collection. It makes the attempt void and is never counted against the model.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// This harness has no getter of that name.
    #[error("getter {0:?} is not supported, so there is no evidence to judge")]
    UnknownGetter(String),
    /// A getter's parameters are invalid.
    #[error("getter {getter:?}: {problem}")]
    Parameters {
        /// The getter's name.
        getter: String,
        /// The problem with the parameters.
        problem: String,
    },
    /// A prerequisite, such as a file saved by setup, is missing.
    #[error("getter {getter:?} needs {what}")]
    Missing {
        /// The getter's name.
        getter: String,
        /// The missing prerequisite.
        what: String,
    },
    /// A file of the evidence cannot be read by the program for it.
    #[error("metric {metric:?}: {source}")]
    Reading {
        /// The metric's name.
        metric: String,
        /// The program's error.
        source: ProgramError,
    },
    /// The machine rejected the request or was lost.
    #[error("getter {getter:?}")]
    Machine {
        /// The getter's name.
        getter: String,
        /// The machine's error.
        #[source]
        source: MachineError,
    },
    /// The evidence cannot be saved.
    #[error("the evidence cannot be saved")]
    Save(#[from] EvidenceError),
}

impl CollectError {
    /// Returns the void cause that this error gives the attempt.
    pub fn void_cause(&self) -> VoidCause {
        match self {
            Self::Machine { source: MachineError::Lost(_), .. } => VoidCause::WorldLost,
            Self::Machine { source: MachineError::MissingProgram(_), .. } => VoidCause::MissingProgram,
            Self::Reading { source: ProgramError::Missing(_), .. } => VoidCause::MissingProgram,
            Self::Save(EvidenceError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::StorageFull =>
            {
                VoidCause::DiskFull
            }
            Self::UnknownGetter(_)
            | Self::Parameters { .. }
            | Self::Missing { .. }
            | Self::Reading { .. }
            | Self::Machine { .. } => VoidCause::EvidenceMissing,
            Self::Save(_) => VoidCause::Internal,
        }
    }
}
