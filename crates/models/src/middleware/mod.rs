//! Middleware around a model adapter, from the inside out: retries, adaptive rate limits, spending limits, and
//! recording. Each wrapper is itself a model.

mod cassette;
mod output;
mod rate_limit;
mod recording;
mod replay;
mod retry;
mod spending;

pub use cassette::CassetteError;
pub use output::OutputLimited;
pub use rate_limit::{AdaptiveLimit, Limited};
pub use recording::{Recorded, RecordedVectors, Recording};
pub use replay::{Cassette, ReplayedModel, ReplayedVectors};
pub(crate) use retry::with_retries;
pub use retry::{RetryPolicy, Retrying};
pub use spending::{Budgeted, Ledger, LedgerError};
pub(crate) use spending::{Entry, reserve_all};
