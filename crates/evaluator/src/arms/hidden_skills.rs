//! Skills hidden from the tasks of an app because they did harm there: a person's decision, for one run or experiment.
//! The book and the tasks of other apps are unaffected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The skills hidden from the tasks of each app.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HiddenSkills(BTreeMap<SkillId, BTreeSet<String>>);

/// One skill, hidden from the tasks of one app: `mousepad/tabs@thunar`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenSkill {
    /// The skill.
    pub skill: SkillId,
    /// The app, as a domain of the book.
    pub program: String,
}

/// A text is not of the form `domain/skill@program`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a skill to hide: write it as domain/skill@program")]
pub struct HiddenSkillError(String);

impl HiddenSkill {
    /// Parses `domain/skill@program`.
    pub fn parse(text: &str) -> Result<Self, HiddenSkillError> {
        let wrong = || HiddenSkillError(text.to_owned());
        let (skill, program) = text.split_once('@').ok_or_else(wrong)?;
        let skill = SkillId::parse(skill.trim()).map_err(|_| wrong())?;
        match program.trim() {
            "" => Err(wrong()),
            program => Ok(Self { skill, program: program.to_owned() }),
        }
    }
}

impl FromIterator<HiddenSkill> for HiddenSkills {
    fn from_iter<I: IntoIterator<Item = HiddenSkill>>(all: I) -> Self {
        let mut found = Self::default();
        for HiddenSkill { skill, program } in all {
            found.0.entry(skill).or_default().insert(program);
        }
        found
    }
}

impl HiddenSkills {
    /// Whether no skill is hidden.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the skills hidden from a task of these apps.
    pub fn hidden_from(&self, programs: &[String]) -> BTreeSet<SkillId> {
        let hides = |from: &BTreeSet<String>| programs.iter().any(|program| from.contains(program));
        self.0.iter().filter(|(_, from)| hides(from)).map(|(skill, _)| skill.clone()).collect()
    }
}

impl fmt::Display for HiddenSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each =
            self.0.iter().flat_map(|(skill, from)| from.iter().map(move |one| format!("{skill}@{one}")));
        f.write_str(&each.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{HiddenSkill, HiddenSkills};

    #[test]
    fn a_skill_is_hidden_from_the_programs_that_are_named_and_no_others() {
        let all = ["mousepad/tabs@thunar", "mousepad/tabs@terminal", "os/paste@thunar"];
        let found: HiddenSkills = all.iter().map(|text| HiddenSkill::parse(text).expect("reads")).collect();
        let hidden = |programs: &[&str]| -> Vec<String> {
            let programs: Vec<String> = programs.iter().map(|one| (*one).to_owned()).collect();
            found.hidden_from(&programs).iter().map(ToString::to_string).collect()
        };
        assert_eq!(hidden(&["thunar"]), ["mousepad/tabs", "os/paste"]);
        assert_eq!(hidden(&["mousepad", "terminal"]), ["mousepad/tabs"]);
        assert!(hidden(&["mousepad"]).is_empty());
        assert_eq!(found.to_string(), "mousepad/tabs@terminal, mousepad/tabs@thunar, os/paste@thunar");
        for wrong in ["mousepad/tabs", "tabs@thunar", "mousepad/tabs@ ", "@thunar"] {
            assert!(HiddenSkill::parse(wrong).is_err(), "{wrong}");
        }
    }
}
