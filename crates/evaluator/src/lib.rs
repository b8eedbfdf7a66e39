//! Suites, checks, trials, run scheduling, statistics, the learning loop and reports.
//!
//! This is the only crate that knows about both skills and runs.

pub mod app_versions;
pub mod arms;
pub mod audits;
pub mod background;
mod error_chain;
pub mod estimates;
pub mod experiment;
pub mod functions;
pub mod grading;
pub mod learn;
pub mod run;
#[cfg(test)]
mod sample;
pub mod split;
pub mod task_apps;
pub mod trial_identity;
pub mod verify;
