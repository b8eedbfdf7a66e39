//! The agent loop: one task, one world, one model, one trace.
//!
//! The loop depends on ports only. It observes, asks the model, acts and answers every call, until one `stopped` event
//! records the stop reason.

mod agent_loop;
mod attempt;
mod batch;
mod budget;
mod context;
mod conversation;
mod element_changes;
mod element_list;
mod element_search;
mod function;
mod known;
mod model_view;
mod observe;
mod picture;
mod pinned_texts;
mod prompt;
mod reading;
mod record;
mod repeat;
mod reply;
mod session;
mod steering;
mod stop;
mod text_changes;
mod told_view;

pub use agent_loop::AttemptInput;
pub use attempt::{AttemptResult, run, run_steered};
pub use model_view::{ELEMENTS_HEADING, OUTLINE_BUDGET, SCREEN_HEADING};
pub use picture::fit as fitted;
pub(crate) use prompt::PROMPTS;
pub use prompt::{MAX_INSTRUCTION_CHARS, prompt_hash};
pub use session::{Session, TurnReport};
pub use told_view::{ViewTexts, view_text};
