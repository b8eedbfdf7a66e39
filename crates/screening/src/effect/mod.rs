//! The effects of following a text: their classes, a first look by rules of words and form, and a model
//! that reads the text with a fixed form of answer.

mod command;
mod concern;
mod form;
mod lexicon;
mod names;
mod order;
mod order_unspaced;
mod order_words;
mod passage;
mod reader;
mod rules;

pub use concern::{Assessment, Concern, EffectFinding, EffectRule, EffectRuleError};
pub use order::orders_beyond;
pub use passage::{Passage, sentences};
pub(crate) use reader::PROMPT;
pub use reader::{ReadError, Reading, effect_request, read, read_answer};
pub use rules::{LANGUAGE, apply_rules, concerns_about_report, has_effect, is_harmless, is_instruction};
