//! The list of all prompts of this crate.

use apprentice_protocol::Prompt;

use crate::{author, background, foreground, judge, manage, practice, reflect, synthesis};

/// Every text of this crate that reaches a model.
pub const PROMPTS: [Prompt; 12] = [
    reflect::PROMPT,
    reflect::PROMPT_HERE,
    manage::PROMPT,
    judge::PROMPT,
    synthesis::PROMPT,
    practice::PROMPT,
    author::CREATE,
    foreground::LEARN,
    foreground::REPORT,
    foreground::REMEMBER,
    background::PROMPT,
    background::READING_PROMPT,
];

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
