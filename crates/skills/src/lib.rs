//! Learns from traces: the skillbook, retrieval, reflection, curation.
//!
//! Touches the file system below the book's folder and nothing else: no network, no processes, no clock.

pub mod book;
pub mod leak;
pub mod lend;
pub mod manage;
pub mod reflect;
mod scan;
mod search;
mod words;

pub use scan::{Finding, scan};
pub use search::Hit;
pub use words::domain_name;
