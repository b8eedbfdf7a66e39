//! Thresholds for cleaning the skillbook, as configured in an experiment.

use apprentice_learning::cleanup::CleanupOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Thresholds at which a cleanup examines a skill. The defaults suit books that are read often; where each skill is
/// read only a few times, lower values are needed for any cleanup to happen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupRule {
    /// Minimum negative reviews before a skill may count as harmful.
    pub negatives: u32,
    /// Share of positive reviews, 0 to 1, below which a skill counts as harmful.
    pub positive_share: f64,
    /// Similarity, 0 to 1, from which two skills of a domain are examined as a pair.
    pub likeness: f64,
    /// Minimum requests before the follow rate counts.
    pub requests: u32,
    /// Share of requests, 0 to 1, below which a skill counts as rarely followed.
    pub follow_share: f64,
}

impl Default for CleanupRule {
    fn default() -> Self {
        Self::of(&CleanupOptions::default())
    }
}

impl CleanupRule {
    /// Extracts the rule from the cleaner's options.
    pub fn of(options: &CleanupOptions) -> Self {
        Self {
            negatives: options.negative_threshold,
            positive_share: options.positive_ratio,
            likeness: options.similarity,
            requests: options.min_requests,
            follow_share: options.follow_rate,
        }
    }

    /// Converts the rule to the cleaner's options, with a cleanup after every `every` trajectories.
    pub fn options(self, every: usize) -> CleanupOptions {
        CleanupOptions {
            every,
            negative_threshold: self.negatives,
            positive_ratio: self.positive_share,
            similarity: self.likeness,
            min_requests: self.requests,
            follow_rate: self.follow_share,
            ..CleanupOptions::default()
        }
    }

    /// Whether the rule equals the default.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
