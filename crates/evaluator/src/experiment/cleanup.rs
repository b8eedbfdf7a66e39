//! When the cleaner of an experiment looks at a skill, as its sheet and its definition say it.

use apprentice_skills::clean::CleanOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What singles a skill out. The usual values suit books that are read often; where each skill is read a few times
/// only, lower ones make the cleaner look at all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupRule {
    /// Negative reviews from which on a skill may count as harmful.
    pub negatives: u32,
    /// Share of positive reviews, 0 to 1, below which it does.
    pub positive_share: f64,
    /// Likeness, 0 to 1, from which on two skills of a domain are looked at as a pair.
    pub likeness: f64,
    /// Requests from which on it counts how often a skill was followed.
    pub requests: u32,
    /// Share of requests, 0 to 1, below which a skill counts as hardly followed.
    pub follow_share: f64,
}

impl Default for CleanupRule {
    fn default() -> Self {
        Self::of(&CleanOptions::default())
    }
}

impl CleanupRule {
    /// What the cleaner's options say.
    pub fn of(options: &CleanOptions) -> Self {
        Self {
            negatives: options.negative_threshold,
            positive_share: options.positive_ratio,
            likeness: options.similarity,
            requests: options.min_requests,
            follow_share: options.follow_rate,
        }
    }

    /// The cleaner's options, with a cleanup after so many trajectories.
    pub fn options(self, every: usize) -> CleanOptions {
        CleanOptions {
            every,
            negative_threshold: self.negatives,
            positive_ratio: self.positive_share,
            similarity: self.likeness,
            min_requests: self.requests,
            follow_rate: self.follow_share,
            ..CleanOptions::default()
        }
    }

    /// Whether nothing is out of the usual.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
