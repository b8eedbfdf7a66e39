//! Setup and postconfig: prepares a world for a task's start, and again for grading.

mod browser;
mod browser_state;
mod context;
mod error;
mod execute;
mod polling;
mod shims;
mod step;
mod window;

pub(crate) use browser::EMPTY_HISTORY;
pub(crate) use shims::is_stood_in_for;
pub(crate) use step::{programs_of_step, unknown_parameters};

pub use context::{SetupContext, SetupPhase, SleepMode};
pub use error::{SetupError, StepError};
pub use execute::{CompletedStep, prepare};
pub use step::{KNOWN_STEPS, STEPS};
pub use window::await_any_window;
