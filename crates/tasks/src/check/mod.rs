//! Task checks in two halves: `collect` reads evidence from the machine, and `judge` grades that evidence offline.

mod answer_judgement;
mod check_state;
mod collect;
mod collect_context;
mod database;
mod evidence;
mod getter;
mod judge;
mod judge_input;
mod list_shape;
mod metric;
mod metric_request;
mod reading;
mod reading_content;
mod test_subject;

pub use answer_judgement::{AnswerComparison, AnswerJudgement, AnswerOutcome, AnswerQuestion, AnswerVerdict};
pub use check_state::CheckedState;
pub use collect::collect;
pub use collect_context::{CollectContext, CollectError};
pub use evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceError, EvidenceItem, EvidenceValue, FileRef, Reading};
pub(crate) use getter::call_page;
pub use getter::{GETTERS, UNSUPPORTED_GETTERS};
pub use getter::{HttpRequest, ask, terminal_text, tree_document};
pub use judge::{AttemptEnding, judge, judge_with_compat, open_question};
pub use judge_input::{JUDGE_INPUT_SCHEMA, JudgeInput};
pub use metric::{ArgumentKind, Compat, METRICS, Metric, MetricFamily, named};
pub(crate) use metric::{Url, kind_to_read, same_url};
pub use metric_request::{MetricRequest, MetricRequestError, MetricResponse, answer};
pub use reading::ProgramError;
pub use reading_content::{ReadingContent, ReadingKind};
