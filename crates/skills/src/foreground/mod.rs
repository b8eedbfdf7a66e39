//! Learning while working: what an agent reports at the end of a turn, which reports count, when a review in the
//! background would be due, and what it would be shown. The worker that would run such reviews is not part of it:
//! everything here is a pure function over plain data.

mod bundle;
mod gate;
mod receipt;
mod signal;

pub use bundle::{Bundle, BundleBudget, Included, OmittedSpan, Reason, Scope, Spotted, bundle, expand};
pub use gate::{Budgets, Counters, Gate, Limits, Origin, Trigger, gate};
pub use receipt::{Language, Receipt, receipt};
pub use signal::{
    CreateTrigger, Defer, Effect, FinalReport, Invocation, Issue, IssueSignal, LearningSignal, Ruling,
    SkillKind, UsedReceipt, Valid, judge,
};
