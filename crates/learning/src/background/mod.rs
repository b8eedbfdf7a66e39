//! Background learning: reviews finished turns of sessions for skills that were not written or not mended while the work
//! was done. Everything here decides about turns that were read already; the evaluator reads them from traces.

mod candidate;
mod decision;
mod publish;
mod review;
mod review_lock;
mod review_log;
mod reviewer;
mod route;
mod session_reading;
mod session_turn;
mod staging;

pub use candidate::{Candidate, Derived, Dropped, derive};
pub(crate) use decision::PROMPT;
pub use decision::{CREATE_SKILL, NO_SKILL, PATCH_SKILL, REVIEW_EVENT};
pub use publish::SkillChange;
pub use review::{ReviewRequest, ReviewSummary, review_sessions};
pub use review_lock::ReviewLock;
pub use review_log::{PendingTurn, pending_turns};
pub use reviewer::ReviewError;
pub use route::{ReportedSignal, Route};
pub(crate) use session_reading::PROMPT as READING_PROMPT;
pub use session_reading::{Answer, READING_SCHEMA, Relation, SessionReading, TurnReading};
pub use session_turn::{SessionRecord, SessionTurn, ViewedSkill, read_session};
pub use staging::StagedChange;
