//! What following a text would make an agent do: classes of effects, a first sieve by rules of words and form, and a model
//! that reads the text with a fixed form of answer.

mod command;
mod concern;
mod form;
mod lexicon;
mod names;
mod passage;
mod reader;
mod sieve;

pub use concern::{Assessment, Concern, EffectFinding, EffectRule, EffectRuleError};
pub use passage::{Passage, sentences};
pub(crate) use reader::PROMPT;
pub use reader::{ReadError, Reading, effect_request, read, read_answer};
pub use sieve::sieve;
pub(crate) use sieve::{LANGUAGE, concerns_about_report, is_harmless, orders, urges};
