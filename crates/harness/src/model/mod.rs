//! Model adapters. They translate requests and replies and never act on a world. They do not depend on each other.

pub mod anthropic;
pub mod around;
pub mod calibrate;
pub mod compat;
pub mod embeddings;
pub mod exchange;
pub mod gemini;
pub mod grounded;
pub mod hosted;
pub mod identity;
pub mod openai;
pub mod price;
pub mod probe;
pub mod safety;
pub mod scripted;
pub(crate) mod tongue;
