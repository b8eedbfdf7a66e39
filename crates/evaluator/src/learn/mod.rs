//! The learning cycle: from traces through reviews and learnings to the skillbook.

mod ahead;
mod crop_places;
mod cycle;
mod demonstrations;
mod figure_cut;
mod foreign_trace;
mod function_calls;
pub(crate) mod held_out;
mod learning_run;
mod locked_suites;
mod own_attempt;
mod own_learning;
mod screenshot;
mod step_pictures;
mod trajectory;

pub use ahead::{ReviewsAhead, reviews_ahead};
pub use cycle::{
    AttemptOutcome, AttemptRequest, AttemptSource, CycleContext, CycleError, CycleOptions, LearningRecord,
    Phase, UnreadReview, attempt_requests, cycle, learn_from,
};
pub use demonstrations::{DemonstrationError, demonstrations};
pub use foreign_trace::{ForeignTrace, NotLearned, foreign_trace};
pub use held_out::HeldOutTasks;
pub use learning_run::{
    BetweenAttempts, LearningRun, RecordedAttemptError, Roles, TrainingTasks, last_attempts, learning_plan,
    recorded_attempt, training_tasks,
};
pub use locked_suites::{LockedSuites, LockedSuitesError, lock_book};
pub use own_attempt::{OwnAttempt, OwnAttemptError};
pub use own_learning::{JudgedAttempt, learn_from_foreign, learn_from_own};
pub use screenshot::screenshot;
pub(crate) use step_pictures::PICTURE_SIDE;
pub use step_pictures::{PictureError, TraceFiles, step_pictures};
pub use trajectory::{TrajectoryError, trajectory};

#[cfg(test)]
mod tests;
