//! Runs: an immutable plan, a folder with a single writer, and attempts that are never deleted.

mod attempt;
mod budget;
mod conversation;
mod plan;
mod resume;
mod scheduler;
mod store;
mod trial;

pub(crate) use budget::scaled_limits;
pub use conversation::{CONVERSATION_SCHEMA, ConversationFile, has_conversation, said};
pub use plan::{
    AdmissionCounts, ArmPlan, Contender, Conversations, ModelPlan, PlanError, PlanRequest, RUN_SCHEMA,
    RunPlan, TrialSpec, attempt_folder, plan, trial_id,
};
pub use resume::{ResumeInputs, resume};
pub use scheduler::{Progress, RunError, RunSummary, execute_plan, start};
pub use store::{PLAN_FILE, ROWS_FILE, RunFolder, StoreError, finished, read_run};
pub use trial::{GuidanceFactory, ModelSource, RunDeps, Runner};
