//! Why an attempt ended: the reason of a judged attempt, or the cause that voids it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why an attempt ended regularly. The checks judge such an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model declared the task done.
    Done,
    /// The model gave an answer.
    Answered,
    /// The model declared the task infeasible.
    GaveUp,
    /// The cap on world steps or turns was reached.
    StepLimit,
    /// The cap on tokens was reached.
    TokenLimit,
    /// The cap on cost was reached.
    TrialCostLimit,
    /// The cap on working time was reached.
    WorkingTimeLimit,
    /// The model repeated the same actions on the same screen.
    Loop,
    /// Three unusable replies in a row.
    InvalidOutput,
    /// The provider refused the request.
    Refused,
    /// A pending safety check was declined.
    SafetyCheckDeclined,
    /// The conversation exceeds the model's context.
    ContextFull,
}

/// The infrastructure failure that made an attempt void. A void attempt is not judged and does not count as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VoidCause {
    /// The world did not start.
    WorldStart,
    /// A setup step failed.
    Setup,
    /// The world died during the attempt.
    WorldLost,
    /// Input could no longer be delivered.
    InputLost,
    /// The model was unavailable after all retries.
    ModelUnavailable,
    /// The model's server sent an invalid response.
    ModelProtocol,
    /// The model's server refused the form of a request.
    RequestRefused,
    /// A check crashed.
    CheckCrashed,
    /// Evidence that a check needs is missing.
    EvidenceMissing,
    /// A program that the task needs is not installed.
    MissingProgram,
    /// The disk is full.
    DiskFull,
    /// The task needs hosts that worlds may not reach by the setting `network`.
    NetworkNotAllowed,
    /// The process was stopped during the attempt.
    Interrupted,
    /// A person stopped the trial. It is not tried again.
    #[serde(rename = "stopped_by_a_person")]
    StoppedByPerson,
    /// A person acted in the trial, so that its outcome is not the model's. Only comparisons and reports count a trial so; its
    /// row keeps the verdict.
    PersonActed,
    /// A bug in this program.
    Internal,
}
