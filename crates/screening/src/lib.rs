//! Decides which texts may reach a skillbook: what following a text would do, secrets and words to an agent in it, and
//! material of held-out tasks. It knows no book, so that it can be reviewed alone.

pub mod effect;
pub mod leak;
mod scan;

use apprentice_protocol::Prompt;

pub use scan::{Finding, refused_words, scan};

/// Every text of this crate that reaches a model.
pub const PROMPTS: [Prompt; 1] = [effect::PROMPT];

#[cfg(test)]
mod tests {
    use super::PROMPTS;

    #[test]
    fn shipped_texts_are_sound() {
        for prompt in PROMPTS {
            assert_eq!(prompt.check(prompt.shipped), Ok(()), "{}", prompt.name);
        }
    }
}
