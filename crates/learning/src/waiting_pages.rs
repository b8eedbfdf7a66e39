//! Names of pages that were written and wait for a person. Their words are shown to no model before a person accepts them;
//! that they wait keeps the next one from writing them again.

use apprentice_protocol::SkillId;
use apprentice_screening::effect::is_harmless;
use apprentice_skillbook::{Change, State};

/// Most pages that are named.
const MAX_PAGES: usize = 20;

/// Returns whether a new page of this name waits for a person.
pub(crate) fn waits_for_a_person(state: &State, skill: &SkillId) -> bool {
    proposed_pages(state).any(|waiting| waiting == skill)
}

/// Returns the new pages that wait for a person, the newest first. A name that itself has an effect is left out.
pub(crate) fn waiting_pages(state: &State) -> Vec<SkillId> {
    let mut pages: Vec<SkillId> = Vec::new();
    for skill in proposed_pages(state).filter(|skill| is_harmless(&skill.as_str().replace(['/', '-'], " "))) {
        if pages.len() < MAX_PAGES && !pages.contains(skill) {
            pages.push(skill.clone());
        }
    }
    pages
}

fn proposed_pages(state: &State) -> impl Iterator<Item = &SkillId> {
    state.proposals.values().rev().filter_map(|proposal| match &proposal.change {
        Change::SkillCreated { skill, .. } => Some(skill),
        _ => None,
    })
}
