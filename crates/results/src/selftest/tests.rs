//! The self-test passes the real comparison and fails invalid ones.

use super::{Comparator, Scenario, ScenarioResult, run_scenario, selftest};
use crate::compare::{CompareOptions, Comparison, Finding, compare};
use crate::stats::mcnemar;
use apprentice_runs::row::TrialRow;

#[test]
fn the_comparison_passes() {
    let found = selftest(120);
    for world in &found.worlds {
        // So few experiments widen the bounds by chance; `apprentice selftest stats` runs 1,000.
        assert!(world.effect > 0.0 || world.helps <= 0.1, "{world:?}");
        assert!(world.covered.is_none_or(|covered| covered >= 0.89), "{world:?}");
        assert!(world.effect == 0.0 || world.helps >= 0.74, "{world:?}");
    }
}

/// Runs one scenario with the real comparison and a modified verdict.
fn with(world: Scenario, experiments: u32, verdict: impl Fn(&Comparison) -> Finding) -> ScenarioResult {
    let verdicts: Comparator<'_> = &|a, b, _| {
        let mut found = compare(a, b, CompareOptions::default()).ok()?;
        found.verdict = verdict(&found);
        Some(found)
    };
    run_scenario(world, experiments, verdicts)
}

fn by_sign(found: &Comparison) -> Finding {
    match found.difference {
        Some(difference) if difference > 0.0 => Finding::Better,
        _ => Finding::Worse,
    }
}

#[test]
fn a_comparison_that_dares_nothing_or_everything_fails() {
    let shy = with(Scenario::Planted, 20, |_| Finding::Inconclusive);
    assert!(!shy.faults.is_empty(), "{shy:?}");
    let bold = with(Scenario::Independent, 100, by_sign);
    assert!(!bold.faults.is_empty(), "{bold:?}");
}

#[test]
fn taking_trials_for_independent_evidence_fails() {
    let ahead = |rows: &[TrialRow], others: &[TrialRow]| {
        let pairs = rows.iter().zip(others);
        pairs.filter(|(one, other)| one.score > other.score).count() as u64
    };
    let naive: Comparator<'_> = &|a, b, _| {
        let mut found = compare(a, b, CompareOptions::default()).ok()?;
        let sure = mcnemar(ahead(a, b), ahead(b, a)).p <= 0.05;
        found.verdict = if sure { by_sign(&found) } else { Finding::Inconclusive };
        Some(found)
    };
    let found = run_scenario(Scenario::TaskRepeat, 200, naive);
    assert!(!found.faults.is_empty(), "{found:?}");
}

#[test]
fn leaving_the_plan_or_the_voids_out_of_sight_fails() {
    for world in [Scenario::EarlyStop, Scenario::UnequalVoid] {
        let found = with(world, 150, |found| match found.p_signflip {
            Some(p) if p <= 0.05 => by_sign(found),
            _ => Finding::Inconclusive,
        });
        assert!(!found.faults.is_empty(), "{found:?}");
    }
}
