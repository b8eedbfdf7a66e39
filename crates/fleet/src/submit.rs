//! Submits a planned run: its suite and skillbook become artifacts, then its trials are queued, all at once.

use std::path::Path;

use apprentice_evaluator::run::{RunPlan, TrialSpec};
use apprentice_protocol::RunId;
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

use crate::artifacts::{ArtifactError, Artifacts, files_below};
use crate::database::DatabaseError;
use crate::queue::{Queue, RunRecord, build};

/// A run to submit.
pub struct Submission<'a> {
    /// The plan.
    pub plan: &'a RunPlan,
    /// The suite's folder.
    pub suite: &'a Path,
    /// The suite's or task's file below that folder; empty for the folder.
    pub suite_path: &'a str,
    /// The folder of the frozen skillbook.
    pub book: Option<&'a Path>,
    /// Runs of higher priority go first.
    pub priority: i32,
    /// The cap of the run over all workers, in US dollars.
    pub max_usd: Option<f64>,
    /// The experiment that it belongs to.
    pub experiment: Option<String>,
    /// The artifact with the inputs of its guidance.
    pub guidance: Option<String>,
    /// What a trial needs of a worker.
    pub needs: &'a (dyn Fn(&TrialSpec) -> Vec<String> + Sync),
}

/// The reason a run cannot be submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// A cap needs to know what one trial may cost.
    #[error(
        "a run with a cap needs a cap per trial, so that workers cannot pass it together: set `limits.cost_usd` of each task"
    )]
    NoTrialCap,
    /// The id is taken by another run.
    #[error("the queue already has another run {0}: submit again")]
    Taken(RunId),
    /// Its experiment has ended.
    #[error("the experiment {0} is not open any more: it was cancelled, or has failed")]
    Ended(String),
    /// The plan cannot be written.
    #[error("the plan cannot be written as JSON")]
    Plan(#[source] serde_json::Error),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The artifacts cannot be stored.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// Submits a run. Submitting the same run again changes nothing and returns `false`.
///
/// # Errors
///
/// Fails if the queue has another run of this id, if the run's experiment is not open, or if the database or the store fails.
pub async fn submit(
    queue: &Queue,
    artifacts: &Artifacts,
    submission: &Submission<'_>,
    trial_usd: Option<f64>,
) -> Result<bool, SubmitError> {
    if submission.max_usd.is_some() && trial_usd.is_none() {
        return Err(SubmitError::NoTrialCap);
    }
    let plan = serde_json::to_string(submission.plan).map_err(SubmitError::Plan)?;
    let suite_list = artifacts.put_files(submission.suite, &files_below(submission.suite)?).await?;
    let book_list = match submission.book {
        Some(book) => Some(artifacts.put_files(book, &files_below(book)?).await?),
        None => None,
    };
    let record = RunRecord {
        plan_hash: hex(&Sha256::digest(plan.as_bytes())),
        plan,
        build: build(submission.plan),
        artifacts: artifacts.address().to_owned(),
        suite_list,
        suite_path: submission.suite_path.to_owned(),
        book_list,
        priority: submission.priority,
        max_usd: submission.max_usd,
        trial_usd,
        experiment: submission.experiment.clone(),
        guidance: submission.guidance.clone(),
    };
    if queue.add(submission.plan, &record, submission.needs).await? {
        return Ok(true);
    }
    let run = &submission.plan.run;
    match (queue.record(run).await?, record.experiment) {
        (Some(stored), _) if stored.plan_hash == record.plan_hash => Ok(false),
        (None, Some(experiment)) => Err(SubmitError::Ended(experiment)),
        _ => Err(SubmitError::Taken(run.clone())),
    }
}
