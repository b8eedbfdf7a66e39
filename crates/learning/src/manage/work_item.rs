//! The items that the manager decides, and its options.

use apprentice_protocol::SkillId;
use apprentice_skillbook::review::{Learning, SkillReview};
use apprentice_skillbook::{Actor, Change, LeftItem, Stage, State};

use crate::cleanup::{CleanupOptions, CleanupTask, HarmRule};

/// Options of the manager.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManageOptions {
    /// Replies per item.
    pub turns: u32,
    /// Number of separate attempts that make a pattern.
    pub corroboration: usize,
    /// From when on a skill hurts more than it helps, so that its review may delete it.
    pub harm: HarmRule,
}

impl Default for ManageOptions {
    fn default() -> Self {
        Self { turns: 12, corroboration: 2, harm: HarmRule::default() }
    }
}

/// The item to decide.
#[derive(Clone, Debug)]
pub enum WorkItem<'a> {
    /// A review that the table forwards, with the skill as the agent received it.
    Review(&'a SkillId, &'a SkillReview),
    /// New knowledge, with its position in the reflection.
    Learning(usize, &'a Learning),
    /// A finding of the cleaner.
    Cleanup(&'a CleanupTask, &'a CleanupOptions),
}

impl WorkItem<'_> {
    pub(super) fn key(&self) -> String {
        match self {
            Self::Review(skill, _) => format!("review:{skill}"),
            Self::Learning(place, _) => format!("learning:{place}"),
            Self::Cleanup(task, _) => task.key(),
        }
    }

    /// Returns the skills that the item is about, under their current ids. Empty if it may concern any skill.
    pub(super) fn skills(&self, state: &State) -> Vec<SkillId> {
        match self {
            Self::Review(skill, _) => vec![state.resolve(skill).map_or(*skill, |now| &now.id).clone()],
            Self::Learning(..) => Vec::new(),
            Self::Cleanup(task, _) => task.skills().into_iter().cloned().collect(),
        }
    }

    pub(super) fn role(&self) -> (Actor, Stage) {
        match self {
            Self::Review(..) | Self::Learning(..) => (Actor::Manager, Stage::Manage),
            Self::Cleanup(..) => (Actor::Cleaner, Stage::Clean),
        }
    }

    /// Returns the record that nothing was changed. A pair that stays is stored with the hashes of its texts.
    pub(super) fn closing(&self, outcome: String, left: Option<LeftItem>) -> Change {
        match self {
            Self::Cleanup(CleanupTask::Duplicates { skill_ids, hashes, .. }, _) => {
                Change::PairKept { skills: skill_ids.clone(), hashes: hashes.clone(), left }
            }
            Self::Cleanup(..) | Self::Review(..) | Self::Learning(..) => Change::ItemClosed { outcome, left },
        }
    }
}
