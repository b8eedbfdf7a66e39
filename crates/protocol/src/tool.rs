//! The port for tools: an object with both a tool's description for the model and its code.

use serde_json::Value;

use crate::{BoxFuture, Content, EventKind, FunctionCall, StepId, ToolSpec};

/// A position in an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRef {
    /// The step.
    pub step: StepId,
}

/// The result of a tool call. Events are returned because only the agent loop owns the sink.
#[derive(Clone, Debug, Default)]
pub struct ToolOutcome {
    /// Content for the model.
    pub content: Vec<Content>,
    /// Whether the result is an error for the model.
    pub is_error: bool,
    /// Events for the trace, in order.
    pub events: Vec<EventKind>,
    /// Marks on texts of the conversation, in order.
    pub marks: Vec<TextMark>,
}

/// A mark that a tool sets on its own texts in the conversation, for the time when the model's context is full. The
/// tool chooses the key that names a text; several results may hold texts with the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMark {
    /// This result holds a text with this key. The text may be left out as any other may, unless its key is pinned.
    Holds(String),
    /// The texts with this key are needed, so they stay in the conversation.
    Pins(String),
    /// The texts with this key are no longer needed, so they are left out before anything else.
    Releases {
        /// The key of the texts.
        key: String,
        /// The words that replace a text that is left out.
        left_out: &'static str,
    },
}

impl ToolOutcome {
    /// Creates a result with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Creates an error with a message that the model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: true, ..Self::default() }
    }
}

/// A tool that a model may call.
pub trait Tool: Send + Sync {
    /// Returns the tool's description for the model.
    fn spec(&self) -> &ToolSpec;
    /// Returns the function that a call with these arguments runs in the world. `None` for a tool that runs none, and
    /// for arguments that do not fit: [`Tool::call`] then answers.
    fn function(&self, _arguments: &Value) -> Option<FunctionCall> {
        None
    }
    /// Runs the tool. Invalid arguments give an outcome with `is_error`, never a panic.
    fn call<'a>(&'a self, arguments: &'a Value, at: StepRef) -> BoxFuture<'a, ToolOutcome>;
}
