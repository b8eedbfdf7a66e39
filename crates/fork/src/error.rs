//! Why a recorded trial cannot be forked.

use std::io;
use std::path::PathBuf;

use apprentice_protocol::{BlobHash, SkillId, StepId};
use apprentice_runs::WrongPlace;
use apprentice_trace::TraceError;

use apprentice_evaluator::arms::ArmError;
use apprentice_evaluator::run::{PlanError, RunError, StoreError};

/// Why a recorded trial cannot be forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// No run below the folder has such a trial.
    #[error("no trial below {} begins with {prefix:?}", root.display())]
    NoTrial {
        /// The folder that was searched.
        root: PathBuf,
        /// The trial's id or its beginning, as given.
        prefix: String,
    },
    /// Several trials fit.
    #[error("{} trials begin with {prefix:?}: {}", found.len(), found.join(", "))]
    Ambiguous {
        /// The trial's id or its beginning, as given.
        prefix: String,
        /// Each trial with its run's folder.
        found: Vec<String>,
    },
    /// The trial has no attempt of this number, or no judged one.
    #[error("trial {trial} has {what}")]
    NoAttempt {
        /// The trial's id.
        trial: String,
        /// What is missing.
        what: String,
    },
    /// The attempt is void.
    #[error("attempt {attempt} of trial {trial} is void: it was not judged, and cannot be forked")]
    Void {
        /// The trial's id.
        trial: String,
        /// The attempt's number.
        attempt: u32,
    },
    /// The attempt ended before the step.
    #[error("the attempt has the steps s1 to {last}; there is no step {step} to fork at")]
    NoStep {
        /// The step as given.
        step: StepId,
        /// The attempt's last step.
        last: StepId,
    },
    /// The folder holds no run.
    #[error(transparent)]
    Other(#[from] WrongPlace),
    /// The run's plan or rows cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace lacks what a fork needs.
    #[error("{}: {what}", path.display())]
    Incomplete {
        /// The trace.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// A file that the trace names cannot be read.
    #[error("cannot read the recorded {what} {hash} of step {step}")]
    Blob {
        /// What the file holds.
        what: &'static str,
        /// Its hash.
        hash: BlobHash,
        /// The step.
        step: StepId,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A recorded action holds a secret that was removed from the trace.
    #[error("step {0} typed a secret, which the trace does not hold; fork at it or before it")]
    Secret(StepId),
    /// The suite is another one, or has changed.
    #[error("the suite {name:?} has changed since the run: its files have the hash {now}, and had {then}")]
    SuiteChanged {
        /// The suite's name in the run.
        name: String,
        /// The present hash.
        now: String,
        /// The hash in the plan.
        then: String,
    },
    /// The suite no longer has the task.
    #[error("the suite has no task {0:?}")]
    NoTask(String),
    /// The book has no such skill.
    #[error("the skillbook has no skill {skill}{hint}")]
    NoSkill {
        /// The skill.
        skill: SkillId,
        /// A suffix of the message that suggests the nearest id; empty when no id is near.
        hint: String,
    },
    /// The variant does not change the help of the recorded trial.
    #[error("{0}")]
    SameHelp(String),
    /// There would be no attempt.
    #[error("a fork needs at least one attempt of each arm")]
    NoTimes,
    /// A baseline has no turns of its own.
    #[error("{0} is no model that can go on from a step; name one with --model")]
    Baseline(String),
    /// An arm's help cannot be built.
    #[error("the help of the arm {arm}")]
    Help {
        /// The arm.
        arm: String,
        /// The cause.
        #[source]
        source: Box<ArmError>,
    },
    /// The attempts cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The attempts cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file of the fork cannot be written.
    #[error("{}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}
