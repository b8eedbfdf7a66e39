//! Additional arms: skill ablations (leave one out), wider limits, and repeated tries. They show the value of a single
//! skill and what the same compute achieves without a book. All are exploratory.

use std::fmt;

use apprentice_protocol::{Limits, SkillId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const WITHOUT: &str = "without:";
const MORE_STEPS: &str = "more-steps";
const TRY: &str = "try-";

/// The additional arms that an experiment runs with its first student.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FurtherArms {
    /// Runs without a book and multiplies the limits by this factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_steps: Option<u32>,
    /// Runs without a book and tries each seed this many times in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u32>,
    /// Runs with the book minus one skill, for this many of its most requested skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave_one_out: Option<u32>,
}

impl FurtherArms {
    /// Whether no additional arm is requested.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Iterates over the arms without a book.
    pub(crate) fn unhelped(self) -> impl Iterator<Item = Further> {
        let again = (2..=self.best_of.unwrap_or(1)).map(Further::Again);
        self.more_steps.map(|_| Further::MoreSteps).into_iter().chain(again)
    }
}

/// An additional arm, as named in the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Further {
    /// The book without one skill: `without:<domain>/<name>`.
    Without(SkillId),
    /// No book and wider limits: `more-steps`.
    MoreSteps,
    /// No book and a repeated try of the same seed: `try-2`, `try-3` and so on; the first try is the arm `none`.
    Again(u32),
}

impl Further {
    /// Parses an arm's name; `None` for any other kind of arm.
    pub fn parse(arm: &str) -> Option<Self> {
        if let Some(skill) = arm.strip_prefix(WITHOUT) {
            return SkillId::parse(skill).ok().map(Self::Without);
        }
        match arm.strip_prefix(TRY) {
            Some(number) => number.parse().ok().filter(|number| *number >= 2).map(Self::Again),
            None => (arm == MORE_STEPS).then_some(Self::MoreSteps),
        }
    }

    /// Whether an arm only serves to compute another number and is not reported on its own.
    pub fn is_part(arm: &str) -> bool {
        matches!(Self::parse(arm), Some(Self::Without(_) | Self::Again(_)))
    }
}

impl fmt::Display for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Without(skill) => write!(f, "{WITHOUT}{skill}"),
            Self::MoreSteps => f.write_str(MORE_STEPS),
            Self::Again(number) => write!(f, "{TRY}{number}"),
        }
    }
}

/// Multiplies the limits. The limit on repeated actions is not a budget and stays.
pub(crate) fn widened(limits: Limits, times: u32) -> Limits {
    let times = times.max(1);
    Limits {
        world_steps: limits.world_steps.saturating_mul(times),
        turns: limits.turns.saturating_mul(times),
        tokens: limits.tokens.map(|tokens| tokens.saturating_mul(times.into())),
        cost_usd: limits.cost_usd.map(|usd| usd * f64::from(times)),
        working_s: limits.working_s.saturating_mul(times.into()),
        repeats: limits.repeats,
    }
}

/// Derives the model's sampling seed for a later try, so that the model need not repeat itself.
pub(crate) fn seed_of_try(seed: u64, number: u32) -> u64 {
    if number < 2 {
        return seed;
    }
    let digest = Sha256::digest(format!("try\0{number}\0{seed}"));
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Limits, SkillId};

    use super::{Further, FurtherArms, seed_of_try, widened};

    #[test]
    fn names_lead_back_to_arms() {
        let skill = SkillId::parse("mousepad/tabs").expect("an id");
        for arm in [Further::Without(skill), Further::MoreSteps, Further::Again(3)] {
            assert_eq!(Further::parse(&arm.to_string()), Some(arm));
        }
        for other in ["none", "pull", "try-1", "try-", "without:", "more-steps-2"] {
            assert_eq!(Further::parse(other), None, "{other}");
        }
        let asked = FurtherArms { more_steps: Some(2), best_of: Some(3), leave_one_out: None };
        let names: Vec<String> = asked.unhelped().map(|arm| arm.to_string()).collect();
        assert_eq!(names, ["more-steps", "try-2", "try-3"]);
        assert_eq!(FurtherArms { best_of: Some(1), ..FurtherArms::default() }.unhelped().count(), 0);
    }

    #[test]
    fn budgets_widen_and_tries_differ() {
        let limits = Limits { world_steps: 10, tokens: Some(100), cost_usd: Some(0.5), ..Limits::default() };
        let wide = widened(limits, 3);
        assert_eq!((wide.world_steps, wide.tokens, wide.cost_usd), (30, Some(300), Some(1.5)));
        assert_eq!((wide.turns, wide.repeats), (limits.turns * 3, limits.repeats));
        assert_eq!(widened(limits, 0), limits);
        let seeds: std::collections::BTreeSet<u64> = (1..6).map(|number| seed_of_try(7, number)).collect();
        assert!(seeds.len() == 5 && seed_of_try(7, 1) == 7);
    }
}
