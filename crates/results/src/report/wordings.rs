//! How often the same trials passed when the task was asked for in other words.

use std::collections::BTreeSet;

use apprentice_protocol::{TaskId, Verdict};

use super::grouping::Grouped;
use super::headline::help;
use super::input::ArmKey;
use super::schema::WordingComparison;
use crate::ablations::AblationArm;
use apprentice_runs::rows::Trial;

/// Compares the arms in other wordings with the same arms in the suite's own.
pub(super) fn compare(grouped: &Grouped<'_>) -> Vec<WordingComparison> {
    let pair = |(key, reworded): (&ArmKey, &Vec<Trial<'_>>)| {
        let Some(AblationArm::Reworded(arm)) = AblationArm::parse(&key.arm) else { return None };
        let key = ArmKey { arm: arm.to_string(), ..key.clone() };
        let own = grouped.get(&key)?;
        let (reworded, own) = (Outcomes::of(reworded), Outcomes::of(own));
        let both: BTreeSet<_> = reworded.judged.intersection(&own.judged).copied().collect();
        let passed = |one: &Outcomes<'_>| one.passed.intersection(&both).count();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Some(WordingComparison {
            key,
            trials: count(both.len()),
            reworded_passed: count(passed(&reworded)),
            own_passed: count(passed(&own)),
        })
    };
    grouped.iter().filter_map(pair).filter(|one| one.trials > 0).collect()
}

/// Trials by task and seed.
struct Outcomes<'a> {
    judged: BTreeSet<(&'a TaskId, u32)>,
    passed: BTreeSet<(&'a TaskId, u32)>,
}

impl<'a> Outcomes<'a> {
    fn of(trials: &'a [Trial<'_>]) -> Self {
        let judged = trials.iter().filter(|trial| !trial.is_void()).map(|trial| trial.last);
        let place = |row: &'a apprentice_runs::row::TrialRow| (&row.task, row.seed);
        let passed = judged.clone().filter(|row| row.verdict == Verdict::Pass).map(place).collect();
        Self { judged: judged.map(place).collect(), passed }
    }
}

/// The comparisons in a sentence; `None` if there are none.
pub(super) fn sentence(found: &[WordingComparison]) -> Option<String> {
    let one = |one: &WordingComparison| {
        format!(
            "{} {} passed {} of {} ({} in the suite’s words)",
            one.key.model,
            help(&one.key.arm),
            one.reworded_passed,
            one.trials,
            one.own_passed
        )
    };
    let parts: Vec<String> = found.iter().map(one).collect();
    (!parts.is_empty()).then(|| format!("Asked for in other words: {}.", parts.join("; ")))
}
