//! Skills that an agent activates, with the tools that they bring along.

pub(crate) mod activated;
pub(crate) mod source_format;
mod tool_text;
