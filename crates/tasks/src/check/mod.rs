//! Task checks in two halves: `collect` reads evidence from the machine, and `judge` grades that evidence offline.

mod asked;
mod by_hand;
mod collect;
mod database;
mod evidence;
mod form;
mod getter;
mod judge;
mod metric;

pub use asked::{ASKED_SCHEMA, Asked};
pub use by_hand::{Answer, ByHandError, Question, answer};
pub use collect::{CollectContext, CollectError, collect};
pub use evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceError, FileRef, Found, Piece};
pub use getter::{Ask, ask};
pub use getter::{GETTERS, KNOWN_GETTERS};
pub use judge::{Ending, judge, judge_as};
pub(crate) use metric::same_address;
pub use metric::{Compat, Family, METRICS, Metric, Takes, named};
