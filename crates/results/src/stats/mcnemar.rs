//! McNemar's exact test on discordant pairs. Descriptive: it assumes independent pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The two discordant cells and the p value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McNemar {
    /// Pairs in which only the first side passes.
    pub b: u64,
    /// Pairs in which only the second side passes.
    pub c: u64,
    /// Two-sided exact p value.
    pub p: f64,
    /// The unit of a pair: `task`, decided by the majority of its seeds without a void trial; a draw counts for neither
    /// side.
    pub unit: String,
}

/// Tests whether changes in both directions are equally likely.
pub fn mcnemar(b: u64, c: u64) -> McNemar {
    let p = match Binomial::new(0.5, b + c) {
        Ok(binomial) if b + c > 0 => (2.0 * binomial.cdf(b.min(c))).min(1.0),
        Ok(_) | Err(_) => 1.0,
    };
    McNemar { b, c, p, unit: "task".into() }
}

#[cfg(test)]
mod tests {
    use super::mcnemar;

    /// Expected values from `statsmodels.stats.contingency_tables.mcnemar(exact=True)`.
    fn check(b: u64, c: u64, p: f64) {
        let found = mcnemar(b, c).p;
        assert!((found - p).abs() < 1e-9, "b {b}, c {c}: {found}, not {p}");
    }

    #[test]
    fn p_agrees_with_statsmodels() {
        check(0, 0, 1.0);
        check(0, 1, 1.0);
        check(1, 9, 0.021_484_375);
        check(3, 12, 0.035_156_25);
        check(5, 5, 1.0);
        check(40, 20, 0.013_489_293_731);
    }
}
