//! The agent loop: one task, one world, one model, one trace.
//!
//! The loop depends on ports only. It observes, asks the model, acts and answers every call, until one `stopped` event
//! records the stop reason.

mod agent_loop;
mod attempt;
mod budget;
mod conversation;
mod journal;
mod prompt;
mod record;
mod session;
mod stages;
mod stop;
mod view;

pub use agent_loop::{run, run_steered};
pub use attempt::{AttemptInput, AttemptResult};
pub use conversation::{opening_request, tokens_of};
pub(crate) use prompt::PROMPTS;
pub use prompt::{MAX_INSTRUCTION_CHARS, prompt_hash};
pub use session::{Session, TurnReport};
pub use view::delta_view::{ViewTexts, view_text};
pub use view::model_view::{ELEMENTS_HEADING, OUTLINE_BUDGET, SCREEN_HEADING};
