//! Middleware around a model adapter, from the inside out: retries, adaptive rate limits, spending limits, and
//! recording. Each wrapper is itself a model.

mod budgeted;
mod cassette;
mod limited;
mod played;
mod recorded;
mod retrying;

pub use budgeted::{Budgeted, Ledger, LedgerError};
pub(crate) use budgeted::{Entry, set_aside};
pub use cassette::CassetteError;
pub use limited::{Limited, Pace};
pub use played::{Cassette, Played, PlayedVectors};
pub use recorded::{Recorded, RecordedVectors, Tape};
pub(crate) use retrying::patiently;
pub use retrying::{Patience, Retrying};
