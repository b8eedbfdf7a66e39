//! Trials grouped by role, model and arm, and their success by template.

use std::collections::BTreeMap;

use apprentice_protocol::{TaskId, Verdict};

use super::input::ArmKey;
use crate::stats::{Cluster, mean};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows::{Trial, trials};

/// Trials by role, model and arm.
pub(super) type Grouped<'a> = BTreeMap<ArmKey, Vec<Trial<'a>>>;

/// Groups the trials of rows.
pub(super) fn by_key(rows: &[TrialRow]) -> Grouped<'_> {
    let mut grouped = Grouped::new();
    for trial in trials(rows) {
        grouped.entry(ArmKey::of(trial.last)).or_default().push(trial);
    }
    grouped
}

/// Success by template: seeds averaged within tasks, tasks within templates; void trials are left out.
pub(super) fn clusters(trials: &[Trial<'_>]) -> BTreeMap<String, Cluster> {
    let mut outcomes: BTreeMap<&str, BTreeMap<&TaskId, Vec<f64>>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| !trial.is_void()) {
        let row = trial.last;
        let passed = f64::from(u8::from(row.verdict == Verdict::Pass));
        outcomes.entry(&row.template).or_default().entry(&row.task).or_default().push(passed);
    }
    let averaged = outcomes.into_iter().filter_map(|(template, tasks)| {
        let rate = mean(tasks.values().filter_map(|repeats| mean(repeats.iter().copied())))?;
        let trials = tasks.values().map(|repeats| repeats.len() as u64).sum();
        Some((template.to_owned(), Cluster { rate, trials }))
    });
    averaged.collect()
}
