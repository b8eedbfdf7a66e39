//! Success by program, as OSWorld reports it: the mean score of the judged trials of a program's tasks.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{TaskId, Verdict};

use super::grouping::Grouped;
use super::schema::{ProgramReport, ProgramScore};
use crate::stats::mean;
use apprentice_runs::row::Role;

/// Returns the programs in order of their names, each with one entry per arm in the report's order. Empty where no program
/// is known, or all tasks are of one program.
pub(super) fn programs(grouped: &Grouped<'_>, known: &BTreeMap<TaskId, String>) -> Vec<ProgramReport> {
    let arms: Vec<_> = grouped.iter().filter(|(key, _)| key.role != Role::Baseline).collect();
    let names: BTreeSet<&String> = arms
        .iter()
        .flat_map(|(_, trials)| trials.iter())
        .filter_map(|trial| known.get(&trial.last.task))
        .collect();
    if names.len() < 2 {
        return Vec::new();
    }
    let of = |program: &String| ProgramReport {
        program: program.clone(),
        arms: arms
            .iter()
            .map(|(_, trials)| {
                let own = || trials.iter().filter(|trial| known.get(&trial.last.task) == Some(program));
                let judged = || own().map(|trial| trial.last).filter(|row| row.verdict != Verdict::Void);
                let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                ProgramScore {
                    tasks: count(own().map(|trial| &trial.last.task).collect::<BTreeSet<_>>().len()),
                    trials: count(own().count()),
                    void: count(own().count() - judged().count()),
                    score: mean(judged().map(|row| row.score)),
                }
            })
            .collect(),
    };
    names.into_iter().map(of).collect()
}
