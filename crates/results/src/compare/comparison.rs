//! The result of a comparison as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::Measure;
use super::pair::{Flips, TemplateDifference};
use crate::stats::{Interval, McNemar, VoidCounts};
use apprentice_runs::row::Role;
use apprentice_runs::rows::VoidAttempt;

/// Schema name of the comparison result.
pub const COMPARE_SCHEMA: &str = "apprentice.compare/1";

/// The conclusion of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// `b` is better than `a`.
    Better,
    /// `b` is worse than `a`.
    Worse,
    /// The data support neither claim.
    Inconclusive,
    /// Too few templates for any claim.
    TooFew,
    /// Too many missing or void trials for a verdict.
    NoVerdict,
}

impl Finding {
    /// Returns the finding in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Inconclusive => "inconclusive",
            Self::TooFew => "too few to decide",
            Self::NoVerdict => "no verdict",
        }
    }
}

/// The arm, role and model of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedArm {
    /// The arm's name.
    pub arm: String,
    /// The model's role.
    pub role: Role,
    /// The model's name.
    pub model: String,
}

/// Void trials of both sides, with sensitivity bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Voids {
    /// Void trials of `a`.
    pub a: VoidCounts,
    /// Void trials of `b`.
    pub b: VoidCounts,
    /// Every void attempt, including those that a later attempt replaced.
    pub attempts: Vec<VoidAttempt>,
    /// The difference if every void trial of `a` had passed and every void trial of `b` had failed.
    pub worst_for_b: Option<f64>,
    /// The difference if every void trial of `a` had failed and every void trial of `b` had passed.
    pub best_for_b: Option<f64>,
}

/// Trials without a partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// Trials of `a` without a partner in `b`.
    pub a: usize,
    /// Trials of `b` without a partner in `a`.
    pub b: usize,
    /// Unpaired trials whose task and seed both sides ran, so the partner is missing.
    pub missing: usize,
}

/// The share of seed pairs of a task that agree; `None` where no task has two seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeedAgreement {
    /// Agreement in `a`.
    pub a: Option<f64>,
    /// Agreement in `b`.
    pub b: Option<f64>,
}

/// The result of a comparison. Differences are `b - a`: positive means that `b` is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// Side `a`.
    pub a: ComparedArm,
    /// Side `b`.
    pub b: ComparedArm,
    /// The measured outcome.
    pub measure: Measure,
    /// Templates with at least one pair.
    pub templates: usize,
    /// Tasks with at least one pair.
    pub tasks: usize,
    /// Number of paired trials.
    pub trials: usize,
    /// Mean difference over templates; `None` without a pair.
    pub difference: Option<f64>,
    /// 95 % confidence interval: the differences that the sign-flip test does not reject at 5 %.
    pub ci95: Option<Interval>,
    /// Two-sided p value of the sign-flip test.
    pub p_signflip: Option<f64>,
    /// Whether the test enumerated all sign vectors.
    pub p_exact: bool,
    /// Tasks that only one side solves; descriptive.
    pub mcnemar: McNemar,
    /// The conclusion.
    pub verdict: Finding,
    /// The reason for the conclusion, in words.
    pub because: String,
    /// Notes that qualify the result.
    pub notes: Vec<String>,
    /// Void trials.
    pub voids: Voids,
    /// Trials without a partner.
    pub unpaired: Unpaired,
    /// Pairs in which exactly one side passes.
    pub flips: Flips,
    /// Agreement between seeds of one task.
    pub seed_agreement: SeedAgreement,
    /// Results by template, ordered by name.
    pub by_template: Vec<TemplateDifference>,
}
