//! Models: adapters that translate, and never act. They do not know each other.

pub mod builtin;
pub mod scripted;
