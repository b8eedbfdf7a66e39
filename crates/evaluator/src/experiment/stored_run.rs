//! A run of an experiment as it is stored.

use std::path::Path;

use super::ExperimentError;
use crate::run::{RunPlan, read_run};
use apprentice_results::report::{ArmKey, PlannedTrial};
use apprentice_runs::latest_run;
use apprentice_runs::row::TrialRow;

/// A stored run. Trace paths of its rows are relative to the report's folder.
pub(super) struct StoredRun {
    pub(super) plan: RunPlan,
    pub(super) rows: Vec<TrialRow>,
}

impl StoredRun {
    /// Reads a run. `from` leads from the report's folder to the run's.
    pub(super) fn read(folder: &Path, from: &str) -> Result<Self, ExperimentError> {
        let (plan, mut rows) = read_run(folder)?;
        for row in rows.iter_mut().filter(|_| !from.is_empty()) {
            row.trace = format!("{from}/{}", row.trace);
        }
        Ok(Self { plan, rows })
    }

    /// Reads the latest run below `folder/name`.
    pub(super) fn below(folder: &Path, name: &str) -> Result<Option<Self>, ExperimentError> {
        let Some(path) = latest_run(&folder.join(name)) else { return Ok(None) };
        let run = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::read(&path, &format!("{name}/{run}")).map(Some)
    }

    /// The run's planned trials.
    pub(super) fn planned(&self) -> impl Iterator<Item = PlannedTrial> {
        self.plan.trials.iter().map(|trial| PlannedTrial {
            trial: trial.trial.clone(),
            task: trial.task.clone(),
            key: ArmKey { role: trial.role, model: trial.model.clone(), arm: trial.arm.clone() },
            seed: trial.seed,
        })
    }
}
