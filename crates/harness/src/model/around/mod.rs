//! What stands around an adapter, from the inside out: trying again, keeping to a provider's pace, keeping to a
//! budget, and keeping a record. Each is a model itself.

mod budgeted;
mod limited;
mod recorded;
mod retrying;

pub use budgeted::{Budgeted, Ledger, LedgerError};
pub(crate) use budgeted::{Entry, set_aside};
pub use limited::{Limited, Pace};
pub use recorded::{Cassette, CassetteError, Played, PlayedVectors, Recorded, RecordedVectors, Tape};
pub(crate) use retrying::patiently;
pub use retrying::{Patience, Retrying};
