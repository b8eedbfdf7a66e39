//! Suites, checks, trials, run scheduling, statistics, the learning loop and reports.
//!
//! This is the only crate that knows about both skills and runs.

pub mod arm;
pub mod bundle;
pub mod check;
pub mod compare;
pub mod experiment;
pub mod forecast;
pub mod further;
pub mod grade;
pub mod hygiene;
pub mod learn;
pub mod precedent;
pub mod report;
pub mod row;
pub mod rows;
pub mod run;
pub mod seed;
pub mod selftest;
pub mod servers;
pub mod setup;
pub mod solution;
pub mod split;
pub mod stats;
pub mod suite;
pub mod suppress;
pub mod version;
