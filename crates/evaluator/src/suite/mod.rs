//! Suites and their task files.

pub mod audit;
pub mod load;
mod spot;
pub mod task;

pub use load::{Suite, SuiteError, load};
pub use spot::{Spot, nearest};
