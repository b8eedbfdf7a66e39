//! Audits before money is spent: of a suite's checks, and of a book for material of the test tasks.

pub mod contamination;
pub mod suite;
