//! A reflection that was matched with its trajectory, and what of it is not used.

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reflection::{Learning, SkillReview};

/// A part of a reflection that is not used, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "dropped", rename_all = "snake_case")]
pub enum Dropped {
    /// A review of a skill that the attempt never received.
    UnknownSkill {
        /// The skill id as the model wrote it.
        skill_id: String,
    },
    /// A second review of the same skill.
    SecondReview {
        /// The skill.
        skill: SkillId,
    },
    /// A learning over the cap. It is stored as a candidate.
    OverCap {
        /// Position in the list.
        index: usize,
    },
    /// A text that no skill may contain.
    Refused {
        /// Location of the text.
        place: String,
        /// Reason for refusing it.
        why: String,
        /// The words that were meant, for a person. Empty if not even the log may hold them.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
}

/// A reflection that matches its trajectory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Reviews, at most one per received skill, in the order of receipt.
    pub reviews: Vec<(SkillId, SkillReview)>,
    /// Skills that were received and not reviewed.
    pub unreviewed: Vec<SkillId>,
    /// Learnings with adjusted confidence.
    pub learnings: Vec<Learning>,
    /// Learnings over the cap.
    pub overflow: Vec<Learning>,
    /// Parts that were not used.
    pub dropped: Vec<Dropped>,
}

impl Checked {
    /// Returns every free text, for scanning.
    pub fn texts(&self) -> Vec<&str> {
        let reviews = self.reviews.iter().flat_map(|(_, review)| review.texts());
        let learnings = self.learnings.iter().chain(&self.overflow);
        reviews.chain(learnings.flat_map(Learning::texts)).collect()
    }

    /// Removes texts that are refused. `refuse` returns the reason, and the words that the log may keep.
    #[must_use]
    pub fn without_refused(mut self, refuse: impl Fn(&str) -> Option<(String, String)>) -> Self {
        let Self { reviews, unreviewed, learnings, overflow, dropped } = &mut self;
        reviews.retain(|(skill, review)| {
            let why = review.texts().into_iter().find_map(&refuse);
            if let Some((why, text)) = why.clone() {
                unreviewed.push(skill.clone());
                dropped.push(Dropped::Refused { place: format!("review of {skill}"), why, text });
            }
            why.is_none()
        });
        for (name, list) in [("learning", learnings), ("learning over the cap", overflow)] {
            list.retain(|learning| {
                let why = learning.texts().into_iter().find_map(&refuse);
                if let Some((why, text)) = why.clone() {
                    dropped.push(Dropped::Refused { place: name.to_owned(), why, text });
                }
                why.is_none()
            });
        }
        self
    }
}
