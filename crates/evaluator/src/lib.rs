//! Judges: suites, checks, trials, dispatch, statistics, the learning loop, reports.
//!
//! The only crate that knows both that a skill exists and that a run happened.

pub mod arm;
pub mod audit;
pub mod bundle;
pub mod experiment;
pub mod forecast;
pub mod grade;
pub mod hygiene;
pub mod learn;
pub mod precedent;
pub mod run;
#[cfg(test)]
mod sample;
pub mod servers;
pub mod split;
pub mod suppress;
pub mod version;
