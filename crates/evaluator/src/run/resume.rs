//! Goes on with a run: the plan minus what is finished, unless the world it was planned in has changed.

use std::path::Path;

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::dispatch::{Progress, RunError, RunSummary, carry_out};
use super::plan::{ArmPlan, RunPlan};
use super::store::RunFolder;
use super::trial::{RunDeps, Runner};
use apprentice_tasks::suite::Suite;

/// What a resumed run meets now, to be compared with what it was planned with.
pub struct Current {
    /// The suite.
    pub suite: Suite,
    /// Hash of the split.
    pub split_hash: Option<String>,
    /// Content hashes of the frozen books by arm.
    pub books: Vec<ArmPlan>,
    /// The program's version.
    pub program: String,
    /// Go on although something differs; every later row says so.
    pub accept_drift: bool,
}

/// Goes on with the run in `folder`.
pub async fn resume(
    folder: &Path,
    current: Current,
    jobs: usize,
    deps: RunDeps,
    (progress, cancel): (UnboundedSender<Progress>, CancellationToken),
) -> Result<RunSummary, RunError> {
    let folder = RunFolder::open(folder)?;
    let mut drift = drift(folder.plan(), &current);
    drift.extend(folder.plan().changed_models(&deps).await);
    let drift = (!drift.is_empty()).then(|| format!("{} changed", drift.join(", ")));
    if let (Some(drift), false) = (&drift, current.accept_drift) {
        return Err(RunError::Drift(drift.clone()));
    }
    let mut runner = Runner::new(folder, current.suite, deps, progress, cancel);
    runner.admit = drift;
    carry_out(runner, jobs).await
}

/// What differs, in words.
fn drift(plan: &RunPlan, current: &Current) -> Vec<String> {
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
