//! Review counters: the contribution of one review, and sums of contributions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The contribution of one review to a skill's counters, or a sum of contributions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Times an agent received the skill's text.
    pub times_requested: u32,
    /// Times an agent followed the skill. Partial following counts as configured.
    pub times_followed: f64,
    /// Times the skill helped.
    pub positive_impact: u32,
    /// Times the skill hurt.
    pub negative_impact: u32,
    /// Times the skill changed little.
    pub neutral_impact: u32,
    /// Times an agent received the skill and the reflector left it unreviewed.
    pub times_unreviewed: u32,
}

impl Counts {
    /// Returns the number of requests that the agent did not follow.
    pub fn times_not_followed(&self) -> f64 {
        f64::from(self.times_requested) - self.times_followed
    }

    /// Returns the number of reviews with an impact: positive, negative or neutral.
    pub fn impacts(&self) -> u32 {
        self.positive_impact + self.negative_impact + self.neutral_impact
    }
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            times_requested: self.times_requested.saturating_sub(other.times_requested),
            times_followed: (self.times_followed - other.times_followed).max(0.0),
            positive_impact: self.positive_impact.saturating_sub(other.positive_impact),
            negative_impact: self.negative_impact.saturating_sub(other.negative_impact),
            neutral_impact: self.neutral_impact.saturating_sub(other.neutral_impact),
            times_unreviewed: self.times_unreviewed.saturating_sub(other.times_unreviewed),
        }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.times_requested += other.times_requested;
        self.times_followed += other.times_followed;
        self.positive_impact += other.positive_impact;
        self.negative_impact += other.negative_impact;
        self.neutral_impact += other.neutral_impact;
        self.times_unreviewed += other.times_unreviewed;
    }
}
