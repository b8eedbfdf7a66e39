//! Shipped skills: how desktops and browsers behave whatever the program, and how to write skills. They are read-only,
//! appear in no log and no counter, and reach no measured trial. A book contains one only as a copy that a person
//! imported.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use apprentice_protocol::SkillId;

use crate::package::{Package, SKILL_FILE, parse_package};
use crate::{OpId, Origin, Skill, Snapshot};

pub use crate::skill::shipped_id::is_shipped;

/// Package folders with their skill files.
const FILES: [(&str, &str); 5] = [
    ("interaction-dialogs", include_str!("prompts/interaction-dialogs/SKILL.md")),
    ("interaction-downloads", include_str!("prompts/interaction-downloads/SKILL.md")),
    ("interaction-frames", include_str!("prompts/interaction-frames/SKILL.md")),
    ("interaction-file-chooser", include_str!("prompts/interaction-file-chooser/SKILL.md")),
    ("right-learn-skill", include_str!("prompts/right-learn-skill/SKILL.md")),
];

const INTERACTION: &str = "interaction";
const AUTHORING: &str = "authoring";
const DOMAINS: [(&str, &str); 2] =
    [(INTERACTION, "How desktops and browsers behave, in any program."), (AUTHORING, "How to write skills.")];

/// The shipped skills that an agent may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShippedPart {
    /// The skills about desktops and browsers.
    Interaction,
    /// All shipped skills, including the one on writing skills.
    All,
}

struct ShippedSkills {
    packages: Vec<Package>,
    skills: BTreeMap<SkillId, Arc<Skill>>,
}

/// Returns the shipped packages.
pub fn packages() -> &'static [Package] {
    &shelf().packages
}

fn shelf() -> &'static ShippedSkills {
    static SHELF: OnceLock<ShippedSkills> = OnceLock::new();
    SHELF.get_or_init(|| {
        let packages = FILES.map(|(name, text)| Package {
            name: name.to_owned(),
            files: [(SKILL_FILE.to_owned(), text.as_bytes().to_vec())].into(),
        });
        let skills = packages.iter().filter_map(skill).map(|skill| (skill.id.clone(), Arc::new(skill)));
        ShippedSkills { skills: skills.collect(), packages: packages.to_vec() }
    })
}

fn skill(package: &Package) -> Option<Skill> {
    let (id, _, text) = parse_package(package, INTERACTION).ok()?;
    Some(Skill::new(&id, &text, Vec::new(), Origin::Shipped, OpId(0)))
}

impl Snapshot {
    /// Returns the same book with shipped skills added. A skill of the book takes precedence over a shipped skill of
    /// the same name.
    #[must_use]
    pub fn with_shipped(&self, part: ShippedPart) -> Self {
        let chosen = |id: &SkillId| part == ShippedPart::All || id.domain() == INTERACTION;
        let mut skills = self.state().skills.clone();
        for (id, skill) in shelf().skills.iter().filter(|(id, _)| chosen(id)) {
            skills.entry(id.clone()).or_insert_with(|| Arc::clone(skill));
        }
        self.with_skills(skills).with_domains(&DOMAINS)
    }

    /// Returns one line per shipped skill.
    pub fn shipped_lines(&self) -> String {
        let shipped = self.skills().filter(|skill| skill.origin == Origin::Shipped);
        let lines = shipped.map(|skill| crate::skill_line(skill.id.as_str(), &skill.text.description) + "\n");
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::shelf;
    use crate::skill::shipped_id::SHIPPED_IDS;

    #[test]
    fn the_reserved_ids_are_those_of_the_packages() {
        assert!(shelf().skills.keys().map(|id| id.as_str()).eq(SHIPPED_IDS));
    }
}
