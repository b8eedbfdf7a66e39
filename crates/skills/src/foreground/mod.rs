//! Foreground learning: what an agent writes and reports during an attempt, which reports count, when a background
//! review is due, and what it would see. The worker that would run such reviews is not part of this module.

mod bundle;
mod call;
mod gate;
mod journal;
mod publish;
mod receipt;
mod report;
mod review;
mod signal;
mod spot;
mod timeline;
mod tools;
mod workshop;

pub use bundle::{
    Bundle, BundleBudget, Included, Indexed, OmittedSpan, Reason, Scope, Spotted, bundle, expand,
};
pub use call::{FinishCall, LearnAction, LearnReason, LearnStatus, StartCall};
pub use gate::{Budgets, Counters, Gate, Limits, Origin, Trigger, gate};
pub use journal::{Journal, JournalLine, Told, budgets, counters};
pub use receipt::{Language, Receipt, receipt};
pub use review::review;
pub use signal::{
    CreateTrigger, Defer, Effect, FinalReport, Invocation, Issue, IssueSignal, LearningSignal, Ruling,
    SkillKind, UsedReceipt, Valid, judge,
};
pub use spot::spot_all;
pub use timeline::Timeline;
pub(crate) use tools::REPORT;
pub use tools::{SKILL_LEARNING_FINISH, SKILL_LEARNING_START, SKILL_REPORT, SKILL_TIMELINE};
pub(crate) use workshop::LEARN;
pub use workshop::{FinalOutput, Verdict, Workshop, WorkshopPlan};
