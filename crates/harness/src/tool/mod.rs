//! Function tools that are not lent by guidance.

pub mod mcp;
