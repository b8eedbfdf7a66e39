//! Resumes a run: executes the unfinished trials of its plan, unless the plan's inputs have changed.

use std::path::Path;

use super::control::RunControl;
use super::deps::RunDeps;
use super::error::RunError;
use super::plan::{ArmPlan, RunPlan};
use super::scheduler::{RunSummary, execute_plan};
use super::store::RunFolder;
use super::trial::Runner;
use apprentice_tasks::suite::Suite;

/// The current inputs of a resumed run, for comparison with its plan.
pub struct ResumeInputs {
    /// The suite.
    pub suite: Suite,
    /// Hash of the split lock.
    pub split_hash: Option<String>,
    /// The frozen skillbook of each arm.
    pub books: Vec<ArmPlan>,
    /// The version of the program.
    pub program: String,
    /// Resume despite differences; every later row records them.
    pub accept_drift: bool,
}

/// Resumes the run in `folder`.
pub async fn resume(
    folder: &Path,
    current: ResumeInputs,
    jobs: usize,
    deps: RunDeps,
    control: RunControl,
) -> Result<RunSummary, RunError> {
    let folder = RunFolder::open(folder)?;
    let mut drift = drift(folder.plan(), &current);
    drift.extend(deps.model_drift(folder.plan()).await);
    let drift = (!drift.is_empty()).then(|| format!("{} changed", drift.join(", ")));
    if let (Some(drift), false) = (&drift, current.accept_drift) {
        return Err(RunError::Drift(drift.clone()));
    }
    // The plan's name decides the variations: the folder may have been renamed since.
    let suite = Suite { name: folder.plan().suite.clone(), ..current.suite };
    let mut runner = Runner::new(folder, suite, deps, control);
    runner.accepted_drift = drift;
    execute_plan(runner, jobs).await
}

/// Returns the names of a plan's inputs that differ from what is here now.
pub fn drift(plan: &RunPlan, current: &ResumeInputs) -> Vec<String> {
    let prompt_hash = apprentice_harness::agent::prompt_hash();
    let book = |arm: &ArmPlan| {
        let now = current.books.iter().find(|now| now.arm == arm.arm);
        now.and_then(|now| now.skillbook_hash.as_ref()) == arm.skillbook_hash.as_ref()
    };
    let aids = |arm: &ArmPlan| {
        let now = current.books.iter().find(|now| now.arm == arm.arm);
        now.map_or(arm.aids.is_empty(), |now| now.aids == arm.aids)
    };
    let same = [
        ("suite", plan.suite_hash == current.suite.hash),
        ("split", plan.split_hash == current.split_hash),
        ("book", plan.arms.iter().all(book)),
        ("tool servers or embeddings", plan.arms.iter().all(aids)),
        ("prompts", plan.prompt_hash == prompt_hash),
        ("program version", plan.program == current.program),
    ];
    same.iter().filter(|(_, same)| !same).map(|(name, _)| (*name).to_owned()).collect()
}
