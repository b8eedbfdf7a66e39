//! Model adapters. They translate requests and replies and never act on a world. They do not depend on each other.

pub(crate) mod action_format;
pub mod anthropic;
pub mod batch;
pub mod calibrate;
pub mod compat;
pub mod embeddings;
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
pub mod safety;
pub mod scripted;
