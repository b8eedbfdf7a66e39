//! Suites, checks, trials, run scheduling, statistics, the learning loop and reports.
//!
//! This is the only crate that knows about both skills and runs.

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
