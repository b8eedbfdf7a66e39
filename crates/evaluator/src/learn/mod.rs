//! The learning cycle: from traces through reviews and learnings to the skillbook.

mod cycle;
mod demonstrations;
pub(crate) mod held_out;
mod learning_run;
mod screenshot;
mod trajectory;

pub use cycle::{
    AttemptOutcome, AttemptRequest, AttemptSource, CycleContext, CycleError, CycleOptions, LearningRecord,
    Phase, attempt_requests, cycle, learn_from,
};
pub use demonstrations::demonstrations;
pub use held_out::HeldOutTasks;
pub use learning_run::{
    LearningRun, RecordedAttemptError, Roles, last_attempts, learning_plan, recorded_attempt, training_tasks,
};
pub use screenshot::screenshot;
pub use trajectory::{TrajectoryError, trajectory};

#[cfg(test)]
mod tests;
