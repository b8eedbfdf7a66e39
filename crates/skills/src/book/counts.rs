//! Counters of reviews: what one review adds, and sums of them.

use serde::{Deserialize, Serialize};

/// What one review adds to the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Times its text was received.
    pub times_requested: u32,
    /// Times it was followed; in part counts as configured.
    pub times_followed: f64,
    /// Times it helped.
    pub positive_impact: u32,
    /// Times it hurt.
    pub negative_impact: u32,
    /// Times it changed little.
    pub neutral_impact: u32,
    /// Times it was received and the reflector said nothing.
    pub times_unreviewed: u32,
}

impl Counts {
    /// Requests that were not followed.
    pub fn times_not_followed(&self) -> f64 {
        f64::from(self.times_requested) - self.times_followed
    }

    /// Reviews with an impact.
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
