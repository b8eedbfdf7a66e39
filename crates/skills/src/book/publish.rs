//! Applies a package that an agent wrote as a new skill or as a new text of an existing skill.

use super::operation::{Change, Origin};
use super::serialization::Operation;
use super::state::{Skill, State, hash, renew};

impl State {
    /// Applies a published package. Its files are stored under their hashes before the operation is written, so the
    /// operation alone decides whether the skill exists.
    pub(super) fn publish(&mut self, operation: &Operation) {
        let Change::SkillPublished { skill: id, text, domain, package } = &operation.change else { return };
        domain.iter().for_each(|domain| self.open_domain(domain));
        if self.skills.contains_key(id) {
            self.with(id, |skill| {
                skill.text.clone_from(text);
                renew(skill, operation.id);
                skill.record_written(&operation.seen, operation.actor);
            });
        } else {
            let mut new = Skill::new(id, (text, Vec::new()), Origin::Learned, operation.id);
            new.record_written(&operation.seen, operation.actor);
            self.create(new);
        }
        self.with(id, |skill| {
            let mut package = package.clone();
            package.view_hash = hash(skill.view().as_bytes());
            skill.package = Some(package);
        });
    }
}
