//! Power analysis: simulated experiments under a stated assumption of how an effect is distributed over templates.
//!
//! The assumption ([`PowerAssumptions`]): a skill has the knowledge that a template needs, or it does not. A share of the
//! templates gains [`TEMPLATE_GAIN`] and the others nothing, so that the mean is the effect; effects above [`TEMPLATE_GAIN`] apply to
//! every template equally. Such an effect is harder to detect than the same mean spread evenly, and closer to what
//! skills do.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::signflip::sign_flip;
use super::thresholds::{ALPHA, MIN_TEMPLATES};

/// Gain of a template for which a skill has the missing knowledge.
pub const TEMPLATE_GAIN: f64 = 0.6;

/// The target power of a design.
pub const POWER: f64 = 0.8;

/// Simulated experiments per estimate.
const EXPERIMENTS: u32 = 1_500;

/// Margin by which an estimated power must exceed [`POWER`]: two standard errors of the estimate, so that the plan
/// keeps its promise.
const MARGIN: f64 = 0.02;

/// Maximum number of templates for which the exact test is simulated; above, its normal approximation is used.
const EXACT_TEMPLATES: usize = 12;

/// Maximum number of templates considered.
const MAX_TEMPLATES: usize = 400;

/// The size of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// Test templates, one task each.
    pub templates: usize,
    /// Seeds per task, paired between the arms.
    pub seeds: u32,
}

/// Assumptions about templates without a book and about the distribution of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerAssumptions {
    /// Maximum success rate of a template without a book; rates are uniform from 0 to this.
    pub base: f64,
}

impl Default for PowerAssumptions {
    fn default() -> Self {
        Self { base: 0.4 }
    }
}

impl PowerAssumptions {
    /// Draws the success rates of one template without and with a book, for a mean effect over templates.
    pub fn rates(self, effect: f64, random: &mut ChaCha8Rng) -> [f64; 2] {
        let base: f64 = random.random::<f64>() * self.base;
        let size = effect.abs();
        let gain = match size < TEMPLATE_GAIN {
            true if random.random_bool((size / TEMPLATE_GAIN).clamp(0.0, 1.0)) => TEMPLATE_GAIN,
            true => 0.0,
            false => size,
        };
        let helped = (base + gain).min(1.0);
        if effect < 0.0 { [helped, base] } else { [base, helped] }
    }
}

/// Returns the share of experiments in which an effect of this size is claimed.
pub fn power(design: Design, effect: f64, assumed: PowerAssumptions) -> f64 {
    if design.templates < MIN_TEMPLATES {
        return 0.0;
    }
    let mut random = ChaCha8Rng::seed_from_u64(0x9e37_79b9);
    let step = 1.0 / f64::from(design.seeds.max(1));
    let found = (0..EXPERIMENTS).filter(|_| {
        let differences: Vec<f64> = (0..design.templates)
            .map(|_| {
                let [a, b] = assumed.rates(effect, &mut random);
                share(b, design.seeds, &mut random) - share(a, design.seeds, &mut random)
            })
            .collect();
        let rejected = p_value(&differences, step) <= ALPHA;
        rejected && differences.iter().sum::<f64>() * effect > 0.0
    });
    f64::from(u32::try_from(found.count()).unwrap_or(EXPERIMENTS)) / f64::from(EXPERIMENTS)
}

/// Returns the smallest effect, in steps of one point, that a design detects with [`POWER`]; `None` if it detects none.
pub fn smallest_effect(design: Design, assumed: PowerAssumptions) -> Option<f64> {
    let enough = |points: u32| power(design, f64::from(points) / 100.0, assumed) >= POWER + MARGIN;
    let points = first(1, 100, enough)?;
    Some(f64::from(points) / 100.0)
}

/// Returns the fewest templates with which an effect is detected with [`POWER`]; `None` if more than 400 are needed.
pub fn templates_needed(effect: f64, seeds: u32, assumed: PowerAssumptions) -> Option<usize> {
    let enough = |templates: usize| power(Design { templates, seeds }, effect, assumed) >= POWER + MARGIN;
    let found = first(
        u32::try_from(MIN_TEMPLATES).unwrap_or(u32::MAX),
        u32::try_from(MAX_TEMPLATES).unwrap_or(u32::MAX),
        |templates| enough(templates as usize),
    )?;
    Some(found as usize)
}

/// The first number in `low..=high` that is enough, by bisection; `enough` must be monotonic.
fn first(mut low: u32, mut high: u32, enough: impl Fn(u32) -> bool) -> Option<u32> {
    if !enough(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

fn share(rate: f64, seeds: u32, random: &mut ChaCha8Rng) -> f64 {
    let seeds = seeds.max(1);
    let passed = (0..seeds).filter(|_| random.random_bool(rate.clamp(0.0, 1.0))).count();
    f64::from(u32::try_from(passed).unwrap_or(seeds)) / f64::from(seeds)
}

/// The p value of the sign-flip test: exact for few templates, the normal approximation for many, where sampling sign
/// vectors for every simulated experiment would take minutes. Flipping one sign moves the sum by twice a multiple of
/// `step`; the continuity correction is half of that.
pub(crate) fn p_value(differences: &[f64], step: f64) -> f64 {
    if differences.len() <= EXACT_TEMPLATES {
        return sign_flip(differences, ALPHA, 0).map_or(1.0, |found| found.p);
    }
    let sum: f64 = differences.iter().sum();
    let squares: f64 = differences.iter().map(|value| value * value).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let z = (sum.abs() - step).max(0.0) / squares.sqrt();
    Normal::standard().sf(z) * 2.0
}

#[cfg(test)]
mod tests {
    use super::{Design, PowerAssumptions, power, smallest_effect, templates_needed};

    #[test]
    fn more_templates_and_larger_effects_are_found_more_often() {
        let assumed = PowerAssumptions::default();
        let at = |templates, seeds, effect| power(Design { templates, seeds }, effect, assumed);
        assert!(at(7, 3, 1.0) == 0.0, "too few templates find nothing");
        assert!(at(12, 3, 0.0) <= 0.05 && at(40, 3, 0.0) <= 0.05, "nothing is found where nothing is");
        assert!(at(12, 3, 0.2) < at(24, 3, 0.2) && at(24, 3, 0.2) < at(48, 3, 0.2));
        assert!(at(12, 3, 0.2) < at(12, 3, 0.5));
        assert!(at(12, 1, 0.4) < at(12, 5, 0.4), "repeats help");
        let turned = (at(24, 3, -0.3) - at(24, 3, 0.3)).abs();
        assert!(turned < 0.03, "a harm is found as a gain is: {turned}");
    }

    #[test]
    fn a_plan_and_its_power_agree() {
        let assumed = PowerAssumptions::default();
        let templates = templates_needed(0.2, 3, assumed).expect("a number");
        assert!((20..=60).contains(&templates), "{templates}");
        let effect = smallest_effect(Design { templates, seeds: 3 }, assumed).expect("an effect");
        assert!((effect - 0.2).abs() <= 0.021, "{effect} with {templates} templates");
        assert_eq!(smallest_effect(Design { templates: 5, seeds: 9 }, assumed), None);
        assert_eq!(templates_needed(0.001, 1, assumed), None);
    }
}
