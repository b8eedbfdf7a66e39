//! The harness: models, environments, the agent loop and recording.
//!
//! This crate does not know about skills: a run receives [`Guidance`](apprentice_protocol::Guidance), which may be
//! empty.

pub mod agent;
pub mod env;
pub mod fork;
pub mod model;
mod prompts;
pub mod tool;

pub use prompts::prompts;
