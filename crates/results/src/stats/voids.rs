//! When void attempts rule out a verdict. A void trial is missing data, which may not be missing at random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::fisher::fishers_exact;

/// Largest share of void trials, on either side, at which a verdict is still given.
pub const VOID_CAP: f64 = 0.05;

/// Void trials of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VoidCounts {
    /// Void trials.
    pub void: u64,
    /// All trials.
    pub trials: u64,
}

/// A problem with the void trials of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoidFault {
    /// A side has a larger share than [`VOID_CAP`].
    TooMany,
    /// The two sides' shares differ by more than chance (Fisher's exact test at 5 %).
    Unequal,
}

impl VoidCounts {
    /// Returns the share of void trials.
    pub fn share(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "numbers of trials are small")]
        let (void, trials) = (self.void as f64, self.trials.max(1) as f64);
        void / trials
    }

    /// Checks the void trials of two sides; `None` if they are acceptable.
    pub fn fault(&self, other: &Self) -> Option<VoidFault> {
        if self.share() > VOID_CAP || other.share() > VOID_CAP {
            return Some(VoidFault::TooMany);
        }
        let table = [
            self.void,
            other.void,
            self.trials.saturating_sub(self.void),
            other.trials.saturating_sub(other.void),
        ];
        let p = fishers_exact(&table, Alternative::TwoSided).unwrap_or(1.0);
        (p <= super::thresholds::ALPHA).then_some(VoidFault::Unequal)
    }
}

#[cfg(test)]
mod tests {
    use super::{VoidCounts, VoidFault};

    fn check(a: (u64, u64), b: (u64, u64), expected: Option<VoidFault>) {
        let [a, b] = [a, b].map(|(void, trials)| VoidCounts { void, trials });
        assert_eq!(a.fault(&b), expected, "{a:?} {b:?}");
        assert_eq!(b.fault(&a), expected, "{b:?} {a:?}");
    }

    #[test]
    fn many_or_unequal_voids_forbid_a_verdict() {
        check((0, 0), (0, 0), None);
        check((0, 30), (0, 30), None);
        check((1, 30), (0, 30), None);
        check((2, 30), (2, 30), Some(VoidFault::TooMany));
        check((5, 100), (5, 100), None);
        // scipy.stats.fisher_exact: 0.0594 and 0.0302.
        check((5, 100), (0, 100), None);
        check((6, 150), (0, 150), Some(VoidFault::Unequal));
    }
}
