//! Task checks in two halves: `collect` reads evidence from the machine, and `judge` grades that evidence offline.

mod check_state;
mod collect;
mod collect_context;
mod getter;
mod judge;
mod judge_input;
mod list_shape;
mod metric_request;
mod reading;

pub use apprentice_metrics::{
    AnswerComparison, AnswerJudgement, AnswerOutcome, AnswerQuestion, AnswerVerdict, ArgumentKind, Compat,
    EVIDENCE_SCHEMA, Evidence, EvidenceError, EvidenceItem, EvidenceValue, FileRef, METRICS, Metric,
    MetricFamily, Reading, ReadingContent, ReadingKind, named,
};
pub use check_state::CheckedState;
pub use collect::collect;
pub use collect_context::{CollectContext, CollectError};
pub use getter::{GETTERS, UNSUPPORTED_GETTERS, terminal_text, tree_document};
pub(crate) use getter::{is_judged_by_model, is_judged_by_pictures};
pub use judge::{AttemptEnding, judge, judge_with_compat, open_question};
pub use judge_input::{JUDGE_INPUT_SCHEMA, JudgeInput};
pub use metric_request::{MetricRequest, MetricRequestError, MetricResponse, answer};
pub use reading::ProgramError;
