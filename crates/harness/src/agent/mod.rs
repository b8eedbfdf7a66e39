//! The agent loop: one task, one world, one model, one trace.
//!
//! The loop depends on ports only. It observes, asks the model, acts and answers every call, until one `stopped` event
//! records the stop reason.

mod attempt;
mod batch;
mod budget;
mod context;
mod conversation;
mod model_view;
mod observe;
mod picture;
mod prompt;
mod repeat;
mod reply;
mod skill_texts;
mod stop;

pub use attempt::{AttemptInput, AttemptResult, run};
pub use model_view::OUTLINE_BUDGET;
pub use picture::fit as fitted;
pub(crate) use prompt::PROMPTS;
pub use prompt::prompt_hash;
