//! Collects the successful attempts of a learning run as demonstrations.

use std::path::Path;

use apprentice_protocol::Verdict;

use super::learning_run::{RecordedAttemptError, recorded_attempt};
use crate::arms::demonstration::Demonstration;
use crate::split::SplitLock;
use crate::task_apps::apps_of;
use crate::trial_identity::trajectory_id;
use apprentice_runs::row::TrialRow;
use apprentice_tasks::suite::Suite;

/// The reason the demonstrations of a run are incomplete.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrationError {
    /// A passed attempt cannot be read.
    #[error("the attempt {attempt} passed and cannot be read, so it cannot be shown as a demonstration")]
    Attempt {
        /// The attempt, as `<run>/<trial>/<attempt>`.
        attempt: String,
        /// The error.
        #[source]
        source: Box<RecordedAttemptError>,
    },
}

/// Collects the successful attempts of a learning run, keeping the shortest of each task. Skips attempts that the
/// split lock does not admit to learning, and attempts at tasks that the suite no longer has.
pub fn demonstrations(
    run: &Path,
    rows: &[TrialRow],
    suite: &Suite,
    lock: &SplitLock,
) -> Result<Vec<Demonstration>, DemonstrationError> {
    let mut found: Vec<Demonstration> = Vec::new();
    for row in rows.iter().filter(|row| row.verdict == Verdict::Pass) {
        let Some(task) = suite.task(row.task.as_str()) else { continue };
        let read = recorded_attempt(run, row.clone(), suite).map_err(|source| {
            DemonstrationError::Attempt { attempt: trajectory_id(row), source: Box::new(source) }
        })?;
        let seen = read.trajectory.map(|(trajectory, _)| lock.admit(row, trajectory));
        let Some(Ok(admitted)) = seen else { continue };
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
    Ok(found)
}
