//! Whether a function can begin on the screen that is in front: its first step names an element that is there.

use std::collections::BTreeSet;

use apprentice_protocol::{Observation, State};
use apprentice_skillbook::{ShortStep, ShortSteps, Skill, prose_of};
use apprentice_wording::words;

/// What the screen says of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Its first element is on the screen; or the task names that element, and the page is about what is in front.
    Here,
    /// Its first step names no element that could be looked for, or nothing is known of the screen.
    Unknown,
    /// Its first element is not on the screen.
    Elsewhere,
}

/// Returns what the screen says of a function.
pub(crate) fn beginning(skill: &Skill, steps: &ShortSteps, seen: &Observation) -> Beginning {
    let Some(tree) = &seen.tree else { return Beginning::Unknown };
    let is_shown =
        |label: &str| tree.nodes.iter().any(|node| !node.is(State::Hidden) && is_same(&node.name, label));
    match steps.steps.first() {
        None | Some(ShortStep::Key(_) | ShortStep::Type(_)) => Beginning::Unknown,
        Some(first) => match first.label() {
            Some(label) if is_shown(label) => Beginning::Here,
            Some(_) => Beginning::Elsewhere,
            None if is_about(skill, seen, &is_shown) => Beginning::Here,
            None => Beginning::Elsewhere,
        },
    }
}

/// Whether a page is about what is in front: it quotes a label that is there, or its situation has a word of the title.
fn is_about(skill: &Skill, seen: &Observation, is_shown: &dyn Fn(&str) -> bool) -> bool {
    let prose = prose_of(&skill.text.guidance);
    if prose.split('"').skip(1).step_by(2).any(is_shown) {
        return true;
    }
    let situation: BTreeSet<String> = words(&skill.text.situation).into_iter().collect();
    words(seen.title()).iter().any(|word| situation.contains(word))
}

/// Whether two labels are the same but for case and what stands behind them.
fn is_same(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim().trim_end_matches(['.', '…', ':']).to_lowercase();
    bare(one) == bare(other)
}
