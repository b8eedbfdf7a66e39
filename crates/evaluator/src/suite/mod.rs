//! Suites and their task files.

pub mod task;
