//! What a page says of the values that its short steps leave open, for a reader that is told one step at a time.
//!
//! The prose of a page tells which option is meant by which wish ("a lost card becomes \"blocked\""), and short steps have no room for
//! that. A reader of short views gets these sentences below the steps, and sees those that bear on a step again beside it.

use apprentice_skillbook::{ShortStep, ShortSteps, Skill, Words, prose_of};

/// Limit on all of them, in characters.
const MAX_CHARS: usize = 480;

/// Returns short steps as a reader of short views gets them, with what the page says of their open values.
pub(crate) fn lent(skill: &Skill, steps: &ShortSteps) -> String {
    let mut text = steps.lent();
    if !steps.steps.iter().any(is_open) {
        return text;
    }
    let labels: Vec<&str> = steps.steps.iter().filter_map(ShortStep::label).collect();
    let mut left = MAX_CHARS;
    for sentence in sentences(&prose_of(&skill.text.guidance)) {
        // A sentence that quotes what the steps press alone says nothing of a value.
        let says_more =
            quoted(sentence).any(|quoted| !labels.iter().any(|label| label.eq_ignore_ascii_case(quoted)));
        let length = sentence.chars().count();
        if says_more && length <= left {
            left -= length;
            text.push_str("\n- ");
            text.push_str(sentence);
        }
    }
    text
}

/// Whether a step leaves a value to the task: an element, an option or a text. A row is found by the names in the task.
fn is_open(step: &ShortStep) -> bool {
    match step {
        ShortStep::Press { on: words, .. }
        | ShortStep::Select { option: words, .. }
        | ShortStep::TypeInto { text: words, .. }
        | ShortStep::Type(words) => matches!(words, Words::OfTask(_)),
        ShortStep::Key(_) => false,
    }
}

/// The sentences of a page, without the numbers of its lines.
fn sentences(prose: &str) -> impl Iterator<Item = &str> {
    let lines = prose.lines().map(|line| {
        let numbered = line.split_once(". ").filter(|(number, _)| number.trim().parse::<u32>().is_ok());
        numbered.map_or(line, |(_, text)| text).trim()
    });
    lines.flat_map(|line| line.split_inclusive(". ")).map(str::trim).filter(|text| !text.is_empty())
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::{quoted, sentences};

    #[test]
    fn a_page_is_taken_apart_by_sentences() {
        let page = "1. Choose at \"Paper\". An \"A6\" sheet is small.\n2. Press \"OK\".\n\nVerification: it says \"Set.\".";
        let found: Vec<&str> = sentences(page).collect();
        let wanted = [
            "Choose at \"Paper\".",
            "An \"A6\" sheet is small.",
            "Press \"OK\".",
            "Verification: it says \"Set.\".",
        ];
        assert_eq!(found, wanted);
        assert_eq!(quoted(found[1]).collect::<Vec<_>>(), ["A6"]);
    }
}
