//! What each metric gets and returns: its input, its score, and the compatibility mode.

mod compat;
mod input;
mod score;
mod truth;

pub use compat::{Compat, CompatProbe};
pub use input::MetricInput;
pub(crate) use input::{entries, optional_strings, texts};
pub use score::{MetricError, Score};
pub(crate) use score::{difference, quote, show, task_error, upstream_error};
pub use truth::is_truthy;
