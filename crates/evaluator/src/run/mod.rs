//! Runs: an immutable plan, a folder with a single writer, and attempts that are never deleted.

mod attempt;
mod budget;
mod check_watch;
mod context;
mod control;
mod conversation;
mod deps;
mod error;
mod fault_watch;
mod plan;
mod planned_arm;
mod progress;
mod queue;
mod resume;
mod scheduler;
mod served;
mod store;
mod trial;
mod void;
mod wording;

pub use crate::trial_identity::{Contender, trial_id};
pub(crate) use budget::scaled_limits;
pub use control::RunControl;
pub use conversation::{CONVERSATION_SCHEMA, ConversationFile, has_conversation, load_conversation};
pub use deps::{AttemptOf, GuidanceFactory, ModelSource, RunDeps};
pub use error::RunError;
pub use plan::{
    AdmissionCounts, ArmPlan, ChosenProfile, Conversations, JudgePlan, ModelPlan, PlanError, PlanRequest,
    RUN_SCHEMA, RunPlan, TrialSpec, attempt_folder, plan,
};
pub use planned_arm::PlannedArm;
pub use progress::Progress;
pub use queue::{Claim, Delivery, Lease, QueueError, TrialQueue};
pub use resume::{ResumeInputs, drift, resume};
pub use scheduler::{PlannedRun, RunSummary, execute_plan, start, start_plan, work};
pub use served::{ServedError, ServedTrial};
pub(crate) use store::has_result;
pub use store::{RunFolder, StoreError, final_results, frozen_book, read_run};
pub use trial::{CarriedOut, Runner};
