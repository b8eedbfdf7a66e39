//! Model adapters, and what stands around a call: retries, limits, money, recordings. Adapters translate requests and
//! replies; they never act on a world, and none depends on another.

pub mod acp;
pub(crate) mod action_format;
pub mod anthropic;
pub mod batch;
pub mod calibrate;
pub mod compat;
pub mod embeddings;
pub mod family;
pub mod gemini;
pub mod grounded;
pub mod hosted;
pub mod http;
pub mod identity;
pub mod limits;
pub mod middleware;
pub mod openai;
pub mod options;
pub mod price;
pub mod probe;
mod prompts;
pub mod safety;
pub mod scripted;
mod written_calls;

pub use prompts::prompts;
