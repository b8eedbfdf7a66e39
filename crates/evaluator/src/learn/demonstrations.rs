//! Collects the successful attempts of a learning run as demonstrations.

use std::path::Path;

use apprentice_protocol::Verdict;

use super::learning_run::recorded_attempt;
use crate::demonstration::Demonstration;
use crate::split::SplitLock;
use crate::task_apps::apps_of;
use apprentice_results::row::TrialRow;
use apprentice_tasks::suite::Suite;

/// Collects the successful attempts of a learning run, keeping the shortest of each task. Skips attempts that the
/// split lock does not admit to learning and attempts whose trace cannot be read.
pub fn demonstrations(
    run: &Path,
    rows: &[TrialRow],
    (suite, lock): (&Suite, &SplitLock),
) -> Vec<Demonstration> {
    let mut found: Vec<Demonstration> = Vec::new();
    for row in rows.iter().filter(|row| row.verdict == Verdict::Pass) {
        let Some(task) = suite.task(row.task.as_str()) else { continue };
        let seen = recorded_attempt(run, row.clone(), suite).ok().and_then(|attempted| attempted.trajectory);
        let Some(Ok(admitted)) = seen.map(|(trajectory, _)| lock.admit(row, trajectory)) else { continue };
        let one = Demonstration::of_attempt(
            row.task.clone(),
            apps_of(task),
            admitted.trajectory(),
            row.world_steps,
        );
        match found.iter_mut().find(|known| known.task == one.task) {
            Some(known) if one.world_steps < known.world_steps => *known = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found
}
