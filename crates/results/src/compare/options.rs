//! What a comparison measures, and which rows it accepts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats;

/// The measured outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Success: pass is 1, fail is 0.
    #[default]
    Success,
    /// The score of the checks.
    Score,
}

/// How to treat rows of different suite or skillbook versions on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MixedVersions {
    /// Reject them.
    #[default]
    Refuse,
    /// Compare them and add a note to the result.
    Allow,
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareOptions {
    /// The measured outcome.
    pub measure: Measure,
    /// Significance level.
    pub alpha: f64,
    /// Seed for sampling sign vectors; used above [`stats::EXACT_UP_TO`] templates.
    pub seed: u64,
    /// How to treat mixed versions.
    pub mixed: MixedVersions,
    /// The planned number of trials, where a plan is known. Stopping early when results look good inflates false
    /// positives, so an incomplete plan gets no verdict.
    pub planned: Option<PlannedCounts>,
}

/// Number of planned trials per side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCounts {
    /// Trials of side `a`.
    pub a: usize,
    /// Trials of side `b`.
    pub b: usize,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            measure: Measure::default(),
            alpha: stats::ALPHA,
            seed: 0,
            mixed: MixedVersions::default(),
            planned: None,
        }
    }
}
