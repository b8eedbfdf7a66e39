//! Foreground learning: what an agent writes and reports during an attempt, which reports count, when a background
//! review is due, and what it sees. The reviews themselves are in `background`.

mod attempt_learning;
mod bundle;
mod call;
mod event_summary;
mod gate;
mod journal;
mod publish;
mod receipt;
mod report;
mod review;
mod signal;
mod timeline;
mod tools;

pub(crate) use attempt_learning::named;
pub use attempt_learning::{AttemptLearning, AttemptLearningOptions, FinalOutput, Verdict};
pub use bundle::{
    Bundle, BundleBudget, CoveredEvents, IncludedEvent, IndexEntry, OmittedSpan, Reason, SummarizedEvent,
    bundle, expand,
};
pub use call::{FinishCall, LearnAction, LearnReason, LearnStatus, StartCall};
pub use event_summary::summarize_events;
pub use gate::{Budgets, Counters, Gate, Limits, Origin, Trigger, gate};
pub use journal::{
    Journal, JournalEntry, JournalLine, ReviewOutcome, ReviewRecord, TurnPlace, budgets, counters,
};
pub use receipt::{Language, Receipt, receipt};
pub use review::review;
pub(crate) use signal::OWN_PREFIX;
pub use signal::{
    AcceptedSignal, CreateTrigger, Defer, Effect, FinalReport, Invocation, Issue, IssueSignal,
    LearningSignal, Ruling, SkillKind, UsedReceipt, judge,
};
pub use timeline::Timeline;
pub use tools::remember_instruction;
pub(crate) use tools::{LEARN, REMEMBER, REPORT};
pub use tools::{SKILL_LEARNING_FINISH, SKILL_LEARNING_START, SKILL_REPORT, SKILL_TIMELINE};
