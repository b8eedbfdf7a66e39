//! The list of all prompt texts in this crate.

use apprentice_protocol::Prompt;

use crate::action_format::{COMPUTER_PROMPT, DIALOG, PAGE};
use crate::{acp, calibrate, compat, grounded, probe};

/// Returns every text of this crate that reaches a model.
pub fn prompts() -> Vec<Prompt> {
    let own = [
        acp::WORLD,
        COMPUTER_PROMPT,
        PAGE,
        DIALOG,
        calibrate::PROMPT,
        calibrate::QUESTION,
        grounded::PROMPT,
        grounded::QUESTION,
        grounded::ACT,
        probe::PICTURE,
        probe::FORM,
        probe::CALL,
    ];
    [&compat::PROMPTS[..], &own[..]].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::prompts;

    #[test]
    fn shipped_texts_are_sound_and_named_once() {
        let all = prompts();
        for prompt in &all {
            assert_eq!(prompt.check(prompt.shipped), Ok(()), "{}", prompt.name);
        }
        let names: BTreeSet<&str> = all.iter().map(|prompt| prompt.name).collect();
        assert_eq!(names.len(), all.len());
    }
}
