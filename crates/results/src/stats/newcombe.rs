//! The difference of two success rates over independent trials, with Newcombe's interval.

use super::signflip::Interval;
use super::wilson::wilson;

/// Passes among independent trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Trials that passed.
    pub passed: u32,
    /// All trials.
    pub trials: u32,
}

impl Passes {
    /// The share that passed; `None` without a trial.
    pub fn rate(self) -> Option<f64> {
        (self.trials > 0).then(|| f64::from(self.passed) / f64::from(self.trials))
    }
}

/// The difference `one - other` of two rates, with Newcombe's hybrid score interval (1998, method 10). `None` if one
/// side has no trial.
pub fn newcombe(one: Passes, other: Passes, alpha: f64) -> Option<(f64, Interval)> {
    let (p, q) = (one.rate()?, other.rate()?);
    let a = wilson(p, f64::from(one.trials), alpha);
    let b = wilson(q, f64::from(other.trials), alpha);
    let difference = p - q;
    let below = ((p - a.low).powi(2) + (b.high - q).powi(2)).sqrt();
    let above = ((a.high - p).powi(2) + (q - b.low).powi(2)).sqrt();
    Some((difference, Interval { low: difference - below, high: difference + above }.within(-1.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::{Passes, newcombe};

    /// The examples of Newcombe (1998), table II, method 10.
    #[test]
    fn ends_agree_with_the_published_examples() {
        for ((a, m), (b, n), low, high) in [
            ((56, 70), (48, 80), 0.0524, 0.3339),
            ((9, 10), (3, 10), 0.1705, 0.8090),
            ((6, 7), (2, 7), 0.0582, 0.8062),
            ((5, 56), (0, 29), -0.0381, 0.1926),
            ((0, 10), (0, 20), -0.1611, 0.2775),
            ((0, 10), (0, 10), -0.2775, 0.2775),
            ((10, 10), (0, 20), 0.6791, 1.0),
            ((10, 10), (0, 10), 0.6075, 1.0),
        ] {
            let (one, other) = (Passes { passed: a, trials: m }, Passes { passed: b, trials: n });
            let (difference, found) = newcombe(one, other, 0.05).expect("trials");
            assert!((difference - (f64::from(a) / f64::from(m) - f64::from(b) / f64::from(n))).abs() < 1e-12);
            assert!((found.low - low).abs() < 6e-5, "{a}/{m} - {b}/{n}: {found:?}, not {low}");
            assert!((found.high - high).abs() < 6e-5, "{a}/{m} - {b}/{n}: {found:?}, not {high}");
        }
        assert_eq!(newcombe(Passes::default(), Passes { passed: 1, trials: 1 }, 0.05), None);
    }
}
