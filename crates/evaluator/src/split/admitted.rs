//! Attempts that learning accepts: a lock admitted them, or they belong to no suite.

use apprentice_protocol::{Trajectory, Verdict};
use apprentice_screening::leak::HeldOutIndex;

use super::SplitError;
use crate::trial_identity::hashed;

/// A trajectory of a training task, admitted by a lock, or of an instruction of the user's own. Learning accepts no other
/// input.
///
/// [`SplitLock::admit`] and, for attempts that belong to no suite, [`TrainTrajectory::of_own`] are the only constructors.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainTrajectory(Trajectory, String);

impl TrainTrajectory {
    /// Admits an attempt at an instruction of the user's own, which is in no suite and so in no split. The instruction
    /// must not repeat a held-out task of the suites that the book is locked to.
    pub fn of_own(trajectory: Trajectory, held_out: &dyn HeldOutIndex) -> Result<Self, SplitError> {
        if trajectory.verdict == Verdict::Void {
            return Err(SplitError::Void(trajectory.id));
        }
        if let Some(found) = held_out.find(&trajectory.goal) {
            return Err(SplitError::HeldOutWords { attempt: trajectory.id, found });
        }
        let template = format!("own:{}", hashed(&[("instruction", &trajectory.goal)]));
        Ok(Self(trajectory, template))
    }

    /// The trajectory of a training template, as the lock found it.
    pub(super) fn of_template(trajectory: Trajectory, template: &str) -> Self {
        Self(trajectory, template.to_owned())
    }

    /// The trajectory.
    pub fn trajectory(&self) -> &Trajectory {
        &self.0
    }

    /// The template of the trajectory's task.
    pub fn template(&self) -> &str {
        &self.1
    }

    /// Returns the trajectory by value.
    pub fn into_inner(self) -> Trajectory {
        self.0
    }
}
