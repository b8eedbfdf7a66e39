//! Reports whose words the gate held back. Such a report is marked, so that no later item shows its words and nobody can
//! cite it. When a person accepts the change that waits, the mark goes.

use std::sync::Arc;

use apprentice_protocol::SkillId;
use apprentice_screening::effect::Concern;

use super::state::State;
use crate::skill::model::Cause;

/// Ending of the item under which a log notes that something was held back.
const HELD_BACK: &str = ":held_back";

/// Returns the cause under which the log notes what was held back in an item.
pub fn held_back_cause(cause: Cause) -> Cause {
    Cause { item: format!("{}{HELD_BACK}", cause.item), ..cause }
}

impl State {
    /// Marks the report behind an item: nobody is to see or cite its words.
    pub(crate) fn mark_held_back(&mut self, cause: &Cause, found: &[Concern]) {
        self.change_marks(cause, |marks| {
            marks.extend(found);
            marks.sort_unstable();
            marks.dedup();
        });
    }

    /// Removes the mark from the report behind a change that a person accepted.
    pub(crate) fn lift_held_back(&mut self, cause: &Cause) {
        self.change_marks(cause, Vec::clear);
    }

    /// Changes the marks of the learning or review that an item is about.
    fn change_marks(&mut self, cause: &Cause, change: impl Fn(&mut Vec<Concern>)) {
        let Cause { trajectory, item, .. } = cause;
        let item = item.strip_suffix(HELD_BACK).unwrap_or(item);
        if let Some(index) = item.strip_prefix("learning:") {
            let reflection = self.reflections.get(trajectory);
            let index = index.parse::<usize>().ok();
            let learning =
                reflection.zip(index).and_then(|(checked, index)| checked.learnings.get(index)).cloned();
            let of_item = self.candidates.iter_mut().filter(|candidate| candidate.trajectory == *trajectory);
            of_item
                .filter(|candidate| Some(&candidate.learning) == learning.as_ref())
                .for_each(|candidate| change(&mut candidate.held_back));
        } else if let Some(received) = reviewed(item) {
            let now = self.resolve(&received).map(|skill| skill.id.clone());
            let Some(skill) = now.and_then(|id| self.skills.get_mut(&id)) else { return };
            let remarks = Arc::make_mut(skill).remarks.iter_mut();
            remarks
                .filter(|remark| remark.trajectory == *trajectory)
                .for_each(|remark| change(&mut remark.held_back));
        }
    }
}

/// Returns the skill that an item reviews, or that a note of the handler is for.
fn reviewed(item: &str) -> Option<SkillId> {
    let note = item.strip_prefix("note:").and_then(|note| Some(note.rsplit_once(':')?.0));
    SkillId::parse(item.strip_prefix("review:").or(note)?).ok()
}
