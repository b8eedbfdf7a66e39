//! Function tools that do not come from guidance.

pub mod mcp;
