//! Checks in two halves: `collect` looks at the world, `judge` grades what was found without one.

mod asked;
mod collect;
mod evidence;
mod getter;
mod judge;
mod metric;

pub use asked::{ASKED_SCHEMA, Asked};
pub use collect::{CollectContext, CollectError, collect};
pub use evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceError, FileRef, Found, Piece};
pub use getter::GETTERS;
pub use judge::{Ending, judge};
pub use metric::METRICS;
