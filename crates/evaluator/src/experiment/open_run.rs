//! Opens a run of an experiment: a new one, or the latest one, which must have been planned with the same settings.

use std::path::Path;

use super::{ExperimentDeps, ExperimentError};
use crate::run::{RunFolder, RunPlan};
use apprentice_runs::latest_run;

/// Opens the latest run below a folder, which must have been planned alike, or creates one.
pub(super) async fn open_or_create(
    deps: &ExperimentDeps,
    root: &Path,
    wanted: RunPlan,
) -> Result<RunFolder, ExperimentError> {
    let Some(path) = latest_run(root) else {
        return Ok(RunFolder::create(root, deps.run.resolve_runtime(wanted).await)?);
    };
    let run = RunFolder::open(&path)?;
    let mut differing = differing(run.plan(), &wanted);
    differing.extend(deps.run.model_drift(run.plan()).await);
    refuse_drift(&run, differing)?;
    Ok(run)
}

/// Names the settings in which a stored plan differs from the current one.
fn differing(begun: &RunPlan, wanted: &RunPlan) -> Vec<String> {
    let same = [
        ("suite", begun.suite_hash == wanted.suite_hash),
        ("split", begun.split_hash == wanted.split_hash),
        ("book", begun.arms == wanted.arms),
        ("prompts", begun.prompt_hash == wanted.prompt_hash),
        ("program version", begun.program == wanted.program),
        ("trials", begun.trials == wanted.trials),
    ];
    same.iter().filter(|(_, same)| !same).map(|(name, _)| (*name).to_owned()).collect()
}

/// Refuses to resume a run that was planned with different settings.
pub(super) fn refuse_drift(run: &RunFolder, fields: Vec<String>) -> Result<(), ExperimentError> {
    match fields.is_empty() {
        true => Ok(()),
        false => Err(ExperimentError::Drift { run: run.path().to_owned(), fields }),
    }
}
