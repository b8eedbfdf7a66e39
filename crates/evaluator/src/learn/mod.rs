//! The learning cycle: traces in, reviews and learnings, the book out.

mod cycle;
mod sealed;
mod trajectory;

pub use cycle::{Attempted, Attempts, Classroom, CycleError, CycleOptions, Phase, Wanted, Worked, cycle};
pub use sealed::SealedIndex;
pub use trajectory::{TrajectoryError, trajectory};

#[cfg(test)]
mod tests;
