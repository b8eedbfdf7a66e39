//! Task checks in two halves: `collect` reads evidence from the machine, and `judge` grades that evidence offline.

mod collect;
mod database;
mod evidence;
mod getter;
mod judge;
mod judge_input;
mod list_shape;
mod metric;
mod metric_request;

pub use collect::{CollectContext, CollectError, collect};
pub use evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceError, FileRef, Found, Piece};
pub use getter::{Ask, ask};
pub use getter::{GETTERS, KNOWN_GETTERS};
pub use judge::{Ending, judge, judge_as};
pub use judge_input::{ASKED_SCHEMA, Asked};
pub(crate) use metric::same_address;
pub use metric::{Compat, Family, METRICS, Metric, Takes, named};
pub use metric_request::{Answer, ByHandError, Question, answer};
