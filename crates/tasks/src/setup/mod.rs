//! Setup and postconfig: prepares a world for a task's start, and again for grading.

mod browser;
mod execute;
mod mirror;
mod shims;
mod step;
mod window;

pub(crate) use browser::{EMPTY_HISTORY, quoted};
pub(crate) use execute::at_home;
pub(crate) use shims::ready as pointing;
pub(crate) use step::{CommandText, argv, is_truthy};

pub use execute::{CompletedStep, SetupContext, SetupError, SetupPhase, SleepMode, StepError, prepare};
pub use mirror::{Mirror, MirrorError};
pub use step::{KNOWN_STEPS, STEPS};
