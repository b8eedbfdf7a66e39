//! Middleware around a model adapter, from the inside out: retries, adaptive rate limits, spending limits, and
//! recording. Each wrapper is itself a model.

mod cassette;
mod rate_limit;
mod recording;
mod replay;
mod retry;
mod spending;

pub use cassette::CassetteError;
pub use rate_limit::{Limited, Pace};
pub use recording::{Recorded, RecordedVectors, Tape};
pub use replay::{Cassette, Played, PlayedVectors};
pub(crate) use retry::patiently;
pub use retry::{Patience, Retrying};
pub use spending::{Budgeted, Ledger, LedgerError};
pub(crate) use spending::{Entry, set_aside};
