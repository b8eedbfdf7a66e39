//! The port for tools: what a model is told of a tool, and its code, are one object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Content, EventKind, PortFuture, StepId};

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
}

/// Where in an attempt something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRef {
    /// The step.
    pub step: StepId,
}

/// What a tool answers. Events are returned, because only the loop owns the sink.
#[derive(Clone, Debug, Default)]
pub struct ToolOutcome {
    /// For the model.
    pub content: Vec<Content>,
    /// Whether the model should read it as an error.
    pub is_error: bool,
    /// For the trace, in order.
    pub events: Vec<EventKind>,
}

impl ToolOutcome {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: false, events: Vec::new() }
    }

    /// A refusal in words that the model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: true, events: Vec::new() }
    }
}

/// A tool that a model may call.
pub trait Tool: Send + Sync {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;
    /// Runs it. Bad arguments are an outcome with `is_error`, never a panic.
    fn call<'a>(&'a self, arguments: &'a Value, at: StepRef) -> PortFuture<'a, ToolOutcome>;
}
