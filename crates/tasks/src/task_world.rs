//! A world that holds a task: its setup before an agent acts in it, and the evidence of what it then holds.

use std::path::Path;
use std::time::Duration;

use apprentice_protocol::{Clock, Machine, VoidCause};
use apprentice_trace::Redactor;

use crate::check::{CollectContext, CollectError, Evidence, collect};
use crate::setup::{CompletedStep, SetupContext, SetupError, SetupPhase, prepare};
use crate::suite::SuiteOptions;
use crate::variation::TaskVariation;

/// A world that holds a task.
#[derive(Clone, Copy)]
pub struct TaskWorld<'a> {
    /// The task with the values of its seed.
    pub varied: &'a TaskVariation,
    /// The world's machine.
    pub machine: &'a dyn Machine,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The suite's folder, the base of relative local files.
    pub suite_root: &'a Path,
    /// Options for reading external suites.
    pub options: &'a SuiteOptions,
    /// Removes known secrets before evidence is kept.
    pub redactor: &'a Redactor,
    /// Where the setup keeps what checks will read.
    pub cache: &'a Path,
}

/// The reason why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A step before the checks failed.
    #[error("{}", .0.message())]
    Setup(SetupError),
    /// What the checks read cannot be collected.
    #[error(transparent)]
    Collect(#[from] CollectError),
}

impl EvidenceError {
    /// Returns the void cause. A step before the checks that fails by itself leaves no evidence.
    pub fn void_cause(&self) -> VoidCause {
        match self {
            Self::Setup(error) => match error.void_cause() {
                VoidCause::Setup => VoidCause::EvidenceMissing,
                other => other,
            },
            Self::Collect(error) => error.void_cause(),
        }
    }
}

impl TaskWorld<'_> {
    /// Performs the task's setup and returns its steps.
    ///
    /// # Errors
    ///
    /// Returns the first step that failed, with its number from 1 and its cause.
    pub async fn set_up(&self) -> Result<Vec<CompletedStep>, SetupError> {
        prepare(&self.varied.task.config, &self.setup_context(SetupPhase::Start)).await
    }

    /// Performs the steps before the checks, and collects into `folder` what the checks read. `ended` is when the agent
    /// ended, by the clock.
    ///
    /// # Errors
    ///
    /// Fails if a step before the checks fails, or if a getter cannot collect what it reads.
    pub async fn collect(&self, ended: Duration, folder: &Path) -> Result<Evidence, EvidenceError> {
        let spec = &self.varied.task.evaluator;
        let late = self.setup_context(SetupPhase::Grade);
        prepare(&spec.postconfig, &late).await.map_err(EvidenceError::Setup)?;
        let context = CollectContext {
            machine: self.machine,
            clock: self.clock,
            ended,
            cache_dir: self.cache,
            folder,
            redactor: self.redactor,
            suite_root: self.suite_root,
            mirror: self.options.mirror.as_ref(),
            compat: self.options.compat,
        };
        Ok(collect(spec, &context).await?)
    }

    fn setup_context(&self, phase: SetupPhase) -> SetupContext<'_> {
        SetupContext {
            machine: self.machine,
            clock: self.clock,
            suite_root: self.suite_root,
            // A remote machine has a fixed screen size.
            screen: self.machine.offers().screen.unwrap_or(self.varied.world.screen.screen()),
            cache_dir: self.cache,
            mirror: self.options.mirror.as_ref(),
            sleep_mode: self.options.sleep_mode(),
            phase,
            password: &self.options.password,
        }
    }
}
