//! Holm's correction of a family of p values.

/// Adjusts p values so that claiming every value at or below a level keeps the family-wise error at that level. The
/// result is in input order.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a family has a handful of members")]
        let members = (p_values.len() - rank) as f64;
        floor = floor.max((p_values[at] * members).min(1.0));
        adjusted[at] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;

    /// Expected values from `statsmodels.stats.multitest.multipletests(method="holm")`.
    fn check(p_values: &[f64], expected: &[f64]) {
        let found = holm(p_values);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{p_values:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn adjusted_values_agree_with_statsmodels() {
        check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
        check(&[0.02, 0.02, 0.9], &[0.06, 0.06, 0.9]);
        check(&[0.001], &[0.001]);
        check(&[], &[]);
    }
}
