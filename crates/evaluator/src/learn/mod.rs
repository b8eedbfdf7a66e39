//! The learning cycle: from traces through reviews and learnings to the skillbook.

mod cycle;
mod live;
mod picture;
pub(crate) mod sealed;
mod trajectory;

pub use cycle::{
    Attempted, Attempts, Classroom, CycleError, CycleOptions, Phase, Wanted, Worked, cycle, learn_from,
    wanted,
};
pub use live::{LearningRun, Pupils, RecordedError, learning_plan, recorded, results, training_tasks};
pub use picture::screenshot;
pub use sealed::SealedIndex;
pub use trajectory::{TrajectoryError, trajectory};

#[cfg(test)]
mod tests;
