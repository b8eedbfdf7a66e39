//! Suites of tasks: reading them, preparing their worlds, collecting evidence, judging it, varying them by seed.
//!
//! This crate knows no model and no skill. [`check::collect`] gathers evidence from a world; [`check::judge`] grades it
//! without one.

#![warn(clippy::missing_errors_doc)]

pub mod check;
pub mod setup;
pub mod solution;
pub mod suite;
pub mod task;
pub mod task_world;
pub mod variation;
pub mod world_io;
