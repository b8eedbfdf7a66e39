//! Tracks which skill's text each tool result holds. The text of an active skill stays in the conversation; the text of
//! a skill that was put away is the first to be trimmed.

use std::collections::BTreeMap;

use apprentice_protocol::{CallId, EventKind, Message, SkillEvent, SkillEventKind, SkillId};

/// The state of a skill that was opened in this attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkillState {
    /// Its tools are open, so its text is needed.
    Active,
    /// Its tools were closed again, and its text was not requested since.
    PutAway,
}

/// Skill states, from the events that tools reported.
#[derive(Debug, Default)]
pub(super) struct SkillTexts {
    standing: BTreeMap<SkillId, SkillState>,
    /// Calls of the current turn whose results hold a skill's text.
    answers: Vec<(CallId, SkillId)>,
}

impl SkillTexts {
    /// Stores the skill events of a call's result.
    pub(super) fn note(&mut self, call: &CallId, events: &[EventKind]) {
        for event in events {
            let EventKind::Skill(SkillEvent { happening, skill: Some(skill), .. }) = event else { continue };
            match happening {
                SkillEventKind::Viewed => {
                    self.answers.push((call.clone(), skill.clone()));
                    if self.standing.get(skill) == Some(&SkillState::PutAway) {
                        self.standing.remove(skill);
                    }
                }
                SkillEventKind::Activated => drop(self.standing.insert(skill.clone(), SkillState::Active)),
                SkillEventKind::Offloaded => drop(self.standing.insert(skill.clone(), SkillState::PutAway)),
                _ => {}
            }
        }
    }

    /// Returns, for each part of a message, the skill whose text it holds. Clears the notes of the current turn.
    pub(super) fn owners(&mut self, message: &Message) -> Vec<Option<SkillId>> {
        let Message::Results { results, .. } = message else { return Vec::new() };
        let answers = std::mem::take(&mut self.answers);
        let owner = |id: &CallId| answers.iter().find(|(call, _)| call == id).map(|(_, skill)| skill.clone());
        results.iter().flat_map(|result| vec![owner(&result.id); result.content.len()]).collect()
    }

    pub(super) fn standing(&self, skill: Option<&SkillId>) -> Option<SkillState> {
        self.standing.get(skill?).copied()
    }
}
