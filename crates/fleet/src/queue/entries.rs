//! The entries of the queue: runs as they are submitted, attempts as they are claimed, and the outcome of a result.

use apprentice_evaluator::run::{RunPlan, TrialSpec};
use apprentice_protocol::{RunId, TrialId, Verdict, VoidCause};
use apprentice_runs::row::TrialRow;

/// A run as it is submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The plan.
    pub plan: String,
    /// SHA-256 of the plan.
    pub plan_hash: String,
    /// The build whose workers may carry it out, as [`build`] returns it.
    pub build: String,
    /// The address of the artifacts.
    pub artifacts: String,
    /// The list of the suite's files.
    pub suite_list: String,
    /// The suite's file below its folder; empty for the folder.
    pub suite_path: String,
    /// The list of the skillbook's files.
    pub book_list: Option<String>,
    /// Runs of higher priority go first.
    pub priority: i32,
    /// The cap of the whole run over all workers, in US dollars.
    pub max_usd: Option<f64>,
    /// What one trial may cost at most, in US dollars.
    pub trial_usd: Option<f64>,
    /// The experiment that it belongs to.
    pub experiment: Option<String>,
    /// The artifact with the inputs of its guidance, where plan, suite and skillbook are not enough.
    pub guidance: Option<String>,
}

/// Who claims.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<'a> {
    /// The worker.
    pub worker: &'a str,
    /// The build whose runs it carries out.
    pub build: &'a str,
    /// What it offers.
    pub offers: &'a [String],
    /// Runs that it leaves to others.
    pub unfit: &'a [String],
}

/// An attempt that was claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialSpec,
    /// The fencing attempt number.
    pub attempt: u32,
}

/// A lease that is still held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Renewed {
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialId,
    /// The attempt number.
    pub attempt: u32,
}

/// What was done with a delivered result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It counts.
    Taken,
    /// The lease had been lost: it is kept among the refused ones.
    Refused,
}

/// What a result means for its trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The trial has its result.
    Final,
    /// The attempt was void, and counts among those after which a trial is given up.
    Void,
    /// The attempt was interrupted, and does not count.
    Interrupted,
}

impl Outcome {
    /// Reads the outcome from a row, by the rules of a run's folder.
    pub fn of(row: &TrialRow) -> Self {
        match (row.verdict, row.void_cause) {
            (Verdict::Pass | Verdict::Fail, _) | (_, Some(VoidCause::StoppedByPerson)) => Self::Final,
            (Verdict::Void, Some(VoidCause::Interrupted)) => Self::Interrupted,
            (Verdict::Void, _) => Self::Void,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Void => "void",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The build that a plan was made for: the program's version and its prompts.
pub fn build(plan: &RunPlan) -> String {
    build_of(&plan.program, &plan.prompt_hash)
}

/// The build of a program of this version with these prompts.
pub fn build_of(program: &str, prompt_hash: &str) -> String {
    format!("{program} {prompt_hash}")
}
