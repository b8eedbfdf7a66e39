//! Suites and their task files.

pub mod audit;
pub mod load;
mod selection;
mod spot;
pub mod task;

pub use load::{Suite, SuiteError, load};
pub use selection::{SELECTION_SCHEMA, Selection, SelectionError};
pub use spot::{Spot, nearest};
