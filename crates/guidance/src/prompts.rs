//! The prompts that open guidance, and the list of all prompts of this crate.

use apprentice_protocol::Prompt;

use crate::activation::source_format::SEED;
use crate::reading::function_question::QUESTION;
use crate::reading::other_version::OTHER_VERSION;

pub(crate) const PULL: Prompt = Prompt::new("skills/advice", include_str!("prompts/advice.md"), &[]);
pub(crate) const TOOLS: Prompt = Prompt::new("skills/tools", include_str!("prompts/tools.md"), &[]);
pub(crate) const FUNCTIONS: Prompt =
    Prompt::new("skills/functions", include_str!("prompts/functions.md"), &[]);
pub(crate) const GIVEN: Prompt = Prompt::new("skills/given", include_str!("prompts/given.md"), &[]);

/// Every text of this crate that reaches a model.
pub const PROMPTS: [Prompt; 7] = [PULL, TOOLS, GIVEN, FUNCTIONS, QUESTION, SEED, OTHER_VERSION];

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
