//! Plans the arms of a run: the tasks on which each arm has guidance, and its entry in the plan.

use std::collections::BTreeSet;

use apprentice_protocol::TaskId;

use super::plan::ArmPlan;
use crate::arms::{ArmError, GuidanceProvider};
use apprentice_results::arm::Arm;

/// An arm of a run before its models are named.
pub struct PlannedArm {
    /// The arm.
    pub arm: Arm,
    /// The tasks on which it has guidance; the others are not planned.
    pub tasks: BTreeSet<TaskId>,
    /// Its entry in the plan.
    pub entry: ArmPlan,
}

impl PlannedArm {
    /// Plans an arm on those of the tasks for which the provider has guidance.
    pub fn new(arm: Arm, provider: &GuidanceProvider, tasks: &BTreeSet<TaskId>) -> Result<Self, ArmError> {
        Ok(Self { arm, tasks: provider.eligible_tasks(arm, tasks)?, entry: ArmPlan::of(arm, provider) })
    }
}

impl ArmPlan {
    /// Returns the entry of an arm in the plan.
    pub fn of(arm: Arm, provider: &GuidanceProvider) -> Self {
        Self {
            arm: arm.to_string(),
            skillbook_hash: arm.needs_book().then(|| provider.hash().to_owned()),
            aids: provider.inputs(arm),
            ..Self::default()
        }
    }
}
