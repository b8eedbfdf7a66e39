//! Acts in worlds: models, environments, the agent loop, recording.
//!
//! This crate knows no skill: a run gets [`Guidance`](apprentice_protocol::Guidance), which may be empty.

pub mod agent;
pub mod env;
pub mod model;
mod prompts;
pub mod tool;

pub use prompts::prompts;
