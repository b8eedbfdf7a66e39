//! The ways in which setup fails, and the void cause of each.

use std::path::PathBuf;

use apprentice_protocol::{MachineError, VoidCause};

use super::step::STEPS;
use crate::task::SuiteFileError;
use crate::world_io::MirrorError;

/// A failed setup step. The attempt is void.
#[derive(Debug, thiserror::Error)]
#[error("setup step {index} ({step}) failed")]
pub struct SetupError {
    /// The step's index in the list.
    pub index: u32,
    /// The step's type.
    pub step: String,
    /// The cause.
    #[source]
    pub source: StepError,
}

/// The reason a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The step type is not supported.
    #[error("steps of this type are not supported; supported are {}", STEPS.join(", "))]
    Unknown,
    /// The parameters are invalid.
    #[error("invalid parameters")]
    Parameters(#[source] serde_json::Error),
    /// The command is empty or has an unclosed quote.
    #[error("the command {0:?} cannot be split into words")]
    Command(String),
    /// The step downloads a file and no mirror is set.
    #[error("{0} is not fetched without a mirror: set one with --mirror, or use upload_file or write_file")]
    Network(String),
    /// The step names a local file outside the suite's folder.
    #[error("{0:?} leads out of the suite's folder")]
    OutsideSuite(String),
    /// A file of the suite cannot be read.
    #[error(transparent)]
    SuiteFile(#[from] SuiteFileError),
    /// A local file cannot be written.
    #[error("{}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The mirror does not have the file.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// No browser answers on its debugging port.
    #[error("no browser answers on its debugging port: {0}")]
    NoBrowser(String),
    /// The browser's history cannot be written.
    #[error("the browser's history: {0}")]
    History(String),
    /// A saved state of a browser cannot be restored.
    #[error("the browser's saved state: {0}")]
    BrowserState(String),
    /// The expected effect of a command did not occur in time.
    #[error("timed out waiting for {0}")]
    VerificationTimeout(String),
    /// The window did not appear in time.
    #[error("no window named {0:?} appeared; open windows: {1}")]
    NoWindow(String, String),
    /// A shell did not find the program that it should start.
    #[error("a program that the step starts is not here: {0}")]
    NoProgram(String),
    /// No installed program opens files of this kind.
    #[error("no program here opens {0}")]
    NoViewer(String),
    /// The program that should open a file failed.
    #[error("opening {0} ended with code {1}")]
    OpenFailed(String, String),
    /// A command never met its `until` condition.
    #[error("{command:?} did not meet its `until` condition; its last exit code was {code}: {output}")]
    Until {
        /// The command line.
        command: String,
        /// Its last exit code.
        code: i32,
        /// The end of its last output.
        output: String,
    },
    /// The world refused the operation or was lost.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl SetupError {
    /// The void cause of the attempt.
    pub fn void_cause(&self) -> VoidCause {
        match &self.source {
            StepError::Machine(MachineError::Lost(_)) => VoidCause::WorldLost,
            StepError::Machine(MachineError::MissingProgram(_))
            | StepError::NoProgram(_)
            | StepError::NoViewer(_) => VoidCause::MissingProgram,
            StepError::Machine(
                MachineError::Unsupported(_)
                | MachineError::NotFound(_)
                | MachineError::Refused { .. }
                | MachineError::TimedOut(_),
            )
            | StepError::Unknown
            | StepError::Parameters(_)
            | StepError::Command(_)
            | StepError::Network(_)
            | StepError::Mirror(_)
            | StepError::NoBrowser(_)
            | StepError::History(_)
            | StepError::BrowserState(_)
            | StepError::VerificationTimeout(_)
            | StepError::OutsideSuite(_)
            | StepError::SuiteFile(_)
            | StepError::Local { .. }
            | StepError::NoWindow(..)
            | StepError::OpenFailed(..)
            | StepError::Until { .. } => VoidCause::Setup,
        }
    }

    /// Returns whether another attempt would fail alike, until a person changes the task, its files or the machine.
    pub fn is_unchanging(&self) -> bool {
        match &self.source {
            StepError::Unknown
            | StepError::Parameters(_)
            | StepError::Command(_)
            | StepError::Network(_)
            | StepError::OutsideSuite(_)
            | StepError::SuiteFile(_)
            | StepError::NoProgram(_)
            | StepError::NoViewer(_)
            | StepError::Machine(MachineError::MissingProgram(_)) => true,
            StepError::Mirror(_)
            | StepError::NoBrowser(_)
            | StepError::History(_)
            | StepError::BrowserState(_)
            | StepError::VerificationTimeout(_)
            | StepError::Local { .. }
            | StepError::NoWindow(..)
            | StepError::OpenFailed(..)
            | StepError::Until { .. }
            | StepError::Machine(_) => false,
        }
    }

    /// Formats the failure and its cause in one line.
    pub fn message(&self) -> String {
        format!("{self}: {}", self.source)
    }
}
