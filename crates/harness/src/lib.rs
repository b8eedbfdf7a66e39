//! The harness: environments, the agent loop and recording.
//!
//! This crate knows neither skills nor models: the loop asks the port
//! [`ChatModel`](apprentice_protocol::ChatModel), and a run receives [`Guidance`](apprentice_protocol::Guidance), which may be
//! empty.

pub mod agent;
pub mod env;
pub mod fork;
mod prompts;
mod rows;
pub mod tool;

pub use prompts::prompts;
