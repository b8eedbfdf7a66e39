//! Setup and postconfig: brings a world into a task's start state, and back into one that can be graded.

mod perform;
mod step;

pub(crate) use perform::at_home;
pub(crate) use step::{CommandText, argv, is_true};

pub use perform::{Pace, SetupContext, SetupError, StepDone, StepError, prepare};
pub use step::STEPS;
