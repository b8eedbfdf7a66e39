//! The material of a review: the attempt, its verdict, and the skills that it received.

use apprentice_protocol::{JudgedBy, TrajectoryStep, Verdict};
use serde::Deserialize;

/// The attempt under review.
#[derive(Deserialize)]
pub(super) struct ReviewMaterial {
    pub(super) goal: String,
    #[serde(default)]
    pub(super) apps: Vec<String>,
    /// `None` if nobody judged.
    pub(super) verdict: Option<Verdict>,
    #[serde(default)]
    pub(super) judged_by: JudgedBy,
    #[serde(default = "default_max_learnings")]
    pub(super) max_learnings: usize,
    #[serde(default)]
    pub(super) skills: Vec<ReceivedSkill>,
    #[serde(default)]
    pub(super) steps: Vec<TrajectoryStep>,
}

impl ReviewMaterial {
    /// Returns the program that was worked in.
    pub(super) fn scope(&self) -> &str {
        self.apps.first().map_or("general", String::as_str)
    }
}

/// A skill that the attempt received.
#[derive(Deserialize)]
pub(super) struct ReceivedSkill {
    pub(super) id: String,
    pub(super) text: String,
}

const fn default_max_learnings() -> usize {
    3
}
