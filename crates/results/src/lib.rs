//! What finished trials say: statistics, comparison, reports.
//!
//! Everything is computed from rows alone, whoever wrote them, so others' results can be analysed too.

#![warn(clippy::missing_errors_doc)]

pub mod ablations;
pub mod arm;
pub mod auto_arm;
pub mod compare;
pub mod contamination;
pub mod report;
#[cfg(test)]
mod sample;
pub mod selftest;
pub mod stats;
pub mod step_caps;
