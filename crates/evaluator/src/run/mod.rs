//! Runs: an immutable plan, a folder with a single writer, and attempts that are never deleted.

mod attempt;
mod budget;
mod conversation;
mod plan;
mod resume;
mod scheduler;
mod store;
mod trial;

pub(crate) use budget::widened;
pub use conversation::{CONVERSATION_SCHEMA, Kept, said, was_kept};
pub use plan::{
    AdmissionCounts, ArmPlan, Contender, Conversations, ModelPlan, PlanError, PlanRequest, RUN_SCHEMA,
    RunPlan, TrialSpec, attempt_folder, plan, trial_id,
};
pub use resume::{Current, resume};
pub use scheduler::{Progress, RunError, RunSummary, carry_out, start};
pub use store::{PLAN_FILE, ROWS_FILE, RunFolder, StoreError, finished, peek};
pub use trial::{Lend, Lent, ModelSource, RunDeps, Runner};
