//! Reports whose words the gate held back. Such a report is marked, so that no later item shows its words and nobody can
//! cite it. When a person accepts the change that waits, the mark goes.

use std::sync::Arc;

use apprentice_protocol::SkillId;

use super::model::Cause;
use super::state::State;
use crate::effect::Concern;

/// Ending of the item under which a log notes that something was held back.
const HELD_BACK: &str = ":held_back";

/// Returns the cause under which the log notes what was held back in an item.
pub(crate) fn held_back_cause(cause: Cause) -> Cause {
    Cause { item: format!("{}{HELD_BACK}", cause.item), ..cause }
}

impl State {
    /// Marks the report behind an item: nobody is to see or cite its words.
    pub(super) fn mark_held_back(&mut self, cause: &Cause, found: &[Concern]) {
        self.change_marks(cause, |marks| {
            marks.extend(found);
            marks.sort_unstable();
            marks.dedup();
        });
    }

    /// Removes the mark from the report behind a change that a person accepted.
    pub(super) fn lift_held_back(&mut self, cause: &Cause) {
        self.change_marks(cause, Vec::clear);
    }

    /// Changes the marks of the learning or review that an item is about.
    fn change_marks(&mut self, cause: &Cause, change: impl Fn(&mut Vec<Concern>)) {
        let Cause { trajectory, item, .. } = cause;
        let item = item.strip_suffix(HELD_BACK).unwrap_or(item);
        if let Some(place) = item.strip_prefix("learning:") {
            let known = self.reflections.get(trajectory);
            let place = place.parse::<usize>().ok();
            let learning =
                known.zip(place).and_then(|(checked, place)| checked.learnings.get(place)).cloned();
            let of_item = self.candidates.iter_mut().filter(|one| one.trajectory == *trajectory);
            of_item
                .filter(|one| Some(&one.learning) == learning.as_ref())
                .for_each(|one| change(&mut one.held_back));
        } else if let Some(received) = reviewed(item) {
            let now = self.resolve(&received).map(|skill| skill.id.clone());
            let Some(skill) = now.and_then(|id| self.skills.get_mut(&id)) else { return };
            let remarks = Arc::make_mut(skill).remarks.iter_mut();
            remarks.filter(|one| one.trajectory == *trajectory).for_each(|one| change(&mut one.held_back));
        }
    }
}

/// Returns the skill that an item reviews, or that a note of the handler is for.
fn reviewed(item: &str) -> Option<SkillId> {
    let note = item.strip_prefix("note:").and_then(|note| Some(note.rsplit_once(':')?.0));
    SkillId::parse(item.strip_prefix("review:").or(note)?).ok()
}
