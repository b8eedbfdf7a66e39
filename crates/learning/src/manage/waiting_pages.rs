//! Reports pages that wait for a person to the manager, so that it does not write them again.

use apprentice_protocol::SkillId;
use apprentice_skillbook::State;
use serde_json::{Value, json};

use crate::apply_reviews::Refusal;
use crate::waiting_pages::{waiting_pages, waits_for_a_person};

/// Adds the names of pages that wait for a person to an answer, if there are any.
pub(super) fn tell_waiting_pages(state: &State, answer: &mut Value) {
    let waiting = waiting_pages(state);
    if !waiting.is_empty() {
        answer["waiting_for_a_person"] = json!(waiting);
    }
}

/// Refuses a second page under a name that waits for a person.
pub(super) fn must_not_wait(state: &State, skill: &SkillId) -> Result<(), Refusal> {
    if !waits_for_a_person(state, skill) {
        return Ok(());
    }
    let why = "a page of this name was written before and waits for a person; if it is about the same, leave the item with \
               already_known, and if not, choose another name";
    let code = "waits_for_a_person".to_owned();
    Err(Refusal { skill: Some(skill.clone()), code, why: why.to_owned() })
}
