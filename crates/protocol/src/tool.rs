//! The port for tools: an object with both a tool's description for the model and its code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Content, EventKind, PortFuture, StepId};

/// The description of a tool for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// The name: letters, digits and underscores.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

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
}

impl ToolOutcome {
    /// Creates a result with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: false, events: Vec::new() }
    }

    /// Creates an error with a message that the model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: true, events: Vec::new() }
    }
}

/// A tool that a model may call.
pub trait Tool: Send + Sync {
    /// Returns the tool's description for the model.
    fn spec(&self) -> &ToolSpec;
    /// Runs the tool. Invalid arguments give an outcome with `is_error`, never a panic.
    fn call<'a>(&'a self, arguments: &'a Value, at: StepRef) -> PortFuture<'a, ToolOutcome>;
}
