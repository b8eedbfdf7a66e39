//! Setup and postconfig: prepares a world for a task's start, and again for grading.

mod browser;
mod mirror;
mod perform;
mod stand_in;
mod step;
mod window;

pub(crate) use browser::{EMPTY_HISTORY, quoted};
pub(crate) use perform::at_home;
pub(crate) use stand_in::ready as pointing;
pub(crate) use step::{CommandText, argv, is_true};

pub use mirror::{Mirror, MirrorError};
pub use perform::{Pace, SetupContext, SetupError, Stage, StepDone, StepError, prepare};
pub use step::{KNOWN_STEPS, STEPS};
