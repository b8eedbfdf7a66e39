//! Cohen's kappa: the agreement of two raters beyond chance.

/// Agreement of two raters on yes/no items: `[both yes, only the first, only the second, both no]`. `None` without
/// items, or if both raters always give the same answer, since chance then explains all agreement.
pub fn kappa(counts: [u32; 4]) -> Option<f64> {
    let [yes, first, second, no] = counts.map(f64::from);
    let all = yes + first + second + no;
    if all <= 0.0 {
        return None;
    }
    let observed = (yes + no) / all;
    let chance = ((yes + first) * (yes + second) + (no + second) * (no + first)) / (all * all);
    (chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
}

#[cfg(test)]
mod tests {
    use super::kappa;

    #[test]
    fn agreement_beyond_chance_is_counted_as_cohen_does() {
        let near = |counts, wanted: f64| {
            let found = kappa(counts).expect("a number");
            assert!((found - wanted).abs() < 1e-9, "{counts:?}: {found}, not {wanted}");
        };
        // `sklearn.metrics.cohen_kappa_score` and `statsmodels.stats.inter_rater.cohens_kappa` agree.
        near([20, 5, 10, 15], 0.4);
        near([45, 15, 25, 15], 0.130_434_782_608_695_65);
        near([10, 0, 0, 10], 1.0);
        near([0, 10, 10, 0], -1.0);
        near([1, 1, 1, 1], 0.0);
        assert_eq!(kappa([7, 0, 0, 0]), None);
        assert_eq!(kappa([0; 4]), None);
    }
}
