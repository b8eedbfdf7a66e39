//! The confidence interval of one arm's success rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::mean::mean;
use super::signflip::Interval;

/// The result of one template.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The template's success: seeds averaged within tasks, tasks within the template.
    pub rate: f64,
    /// Number of trials.
    pub trials: u64,
}

/// A rate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Mean over templates.
    pub value: f64,
    /// Wilson's 95 % interval, using the effective number of independent trials.
    pub ci95: Interval,
    /// The effective number of independent trials.
    pub effective_trials: f64,
}

/// Wilson's score interval of `rate`, observed in `trials` independent trials.
pub fn wilson(rate: f64, trials: f64, alpha: f64) -> Interval {
    if trials <= 0.0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let z = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
    let spread = z * z / trials;
    let centre = (rate + spread / 2.0) / (1.0 + spread);
    let half = z / (1.0 + spread) * (rate * (1.0 - rate) / trials + spread / (4.0 * trials)).sqrt();
    // Exact at the bounds, where rounding would leave a residue.
    let low = if rate <= 0.0 { 0.0 } else { centre - half };
    let high = if rate >= 1.0 { 1.0 } else { centre + half };
    Interval { low, high }.within(0.0, 1.0)
}

/// The mean over templates, with an interval that accounts for clustering within templates.
///
/// The effective sample size is `rate (1 - rate) / variance of the mean`, at most the number of trials and at least the
/// number of templates; where the templates do not differ, it is the number of templates.
pub fn clustered_rate(clusters: &[Cluster], alpha: f64) -> Option<Rate> {
    let value = mean(clusters.iter().map(|cluster| cluster.rate))?;
    #[expect(clippy::cast_precision_loss, reason = "numbers of trials are small")]
    let (templates, trials) =
        (clusters.len() as f64, clusters.iter().map(|cluster| cluster.trials).sum::<u64>() as f64);
    let squares: f64 = clusters.iter().map(|cluster| (cluster.rate - value).powi(2)).sum();
    let variance = squares / (templates - 1.0).max(1.0) / templates;
    let worth = if variance > 0.0 { value * (1.0 - value) / variance } else { templates };
    let effective_trials = worth.clamp(templates.min(trials), trials.max(templates));
    Some(Rate { value, ci95: wilson(value, effective_trials, alpha), effective_trials })
}

#[cfg(test)]
mod tests {
    use super::{Cluster, clustered_rate, wilson};

    /// Expected values from `statsmodels.stats.proportion.proportion_confint(method="wilson")`.
    fn check(passed: u32, trials: u32, low: f64, high: f64) {
        let found = wilson(f64::from(passed) / f64::from(trials), f64::from(trials), 0.05);
        assert!((found.low - low).abs() < 1e-6, "{passed}/{trials}: {found:?}, not {low}");
        assert!((found.high - high).abs() < 1e-6, "{passed}/{trials}: {found:?}, not {high}");
    }

    #[test]
    fn ends_agree_with_statsmodels() {
        check(0, 10, 0.0, 0.277_532_8);
        check(10, 10, 0.722_467_2, 1.0);
        check(5, 10, 0.236_593_091, 0.763_406_909);
        check(1, 30, 0.005_908_59, 0.166_703_91);
        check(17, 60, 0.185_068_284, 0.407_672_852);
    }

    #[test]
    fn trials_that_only_repeat_their_template_count_once() {
        let alike: Vec<Cluster> =
            (0..10).map(|place| Cluster { rate: f64::from(place % 2), trials: 6 }).collect();
        let rate = clustered_rate(&alike, 0.05).expect("templates");
        assert!((rate.effective_trials - 10.0).abs() < 1e-9, "{rate:?}");
        let mixed = vec![Cluster { rate: 0.5, trials: 6 }; 10];
        assert!((clustered_rate(&mixed, 0.05).expect("templates").effective_trials - 10.0).abs() < 1e-9);
        let nothing = vec![Cluster { rate: 0.0, trials: 3 }; 8];
        let rate = clustered_rate(&nothing, 0.05).expect("templates");
        assert!(rate.ci95.low == 0.0 && (rate.ci95.high - 0.324_407).abs() < 1e-4, "{rate:?}");
        assert_eq!(clustered_rate(&[], 0.05), None);
    }
}
