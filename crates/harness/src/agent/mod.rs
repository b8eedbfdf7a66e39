//! The agent loop: one task, one world, one model, one trace.
//!
//! The loop depends on ports only. It observes, asks the model, acts and answers every call, until one `stopped` event
//! records the stop reason.

mod attempt;
mod batch;
mod budget;
mod context;
mod conversation;
mod look;
mod picture;
mod prompt;
mod repeat;
mod reply;
mod shelf;
mod sight;
mod stop;

pub use attempt::{Attempt, Ended, run};
pub use picture::fit as fitted;
pub(crate) use prompt::PROMPTS;
pub use prompt::prompt_hash;
pub use sight::OUTLINE_BUDGET;
