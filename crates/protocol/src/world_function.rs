//! The port for functions that act in a world. A tool hands one to the agent loop, which carries out its acts as it
//! carries out a model's own: under the same limits, with the same record.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Action, BoxFuture, ImagePoint, Observation, SkillId};

/// What a function asks of the agent loop.
#[derive(Debug)]
pub enum FunctionRequest {
    /// The elements, windows and tabs as they are now.
    Observe,
    /// One action.
    Act {
        /// The action. It names elements, never points.
        action: Box<Action<ImagePoint>>,
        /// The line of the function that asks for it, from 1.
        line: u32,
    },
    /// A wait, at most this long, until what it saw last may have changed.
    AwaitChange(Duration),
    /// Nothing more: the function has ended.
    End(FunctionEnd),
}

/// The answer to a function's last request.
#[derive(Clone, Debug)]
pub enum FunctionAnswer {
    /// The function begins.
    Begin,
    /// The observation.
    Seen(Arc<Observation>),
    /// The action was delivered.
    Acted,
    /// The action was refused or failed, for this reason.
    Refused(String),
    /// The wait is over. The time since the last look began.
    Waited(Duration),
}

/// How a function ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum FunctionEnd {
    /// It ran to its end.
    Returned {
        /// The value that it returned; `null` for none.
        value: Value,
    },
    /// It stopped before its end.
    Stopped(FunctionFailure),
    /// The attempt ended while it ran.
    Interrupted,
}

/// Where and why a function stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionFailure {
    /// The line of the function, from 1; 0 if it did not begin.
    pub line: u32,
    /// The call that could not be done, as it stands in the function; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub act: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for FunctionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.act.is_empty() {
            write!(f, "{}: ", self.act)?;
        }
        f.write_str(&self.reason)
    }
}

/// A running function. Dropping it ends it.
pub trait WorldFunction: Send {
    /// Gives the answer to the last request, and returns the next one.
    fn next(&mut self, answer: FunctionAnswer) -> BoxFuture<'_, FunctionRequest>;
}

/// One call of a function of a skill.
pub struct FunctionCall {
    /// The skill.
    pub skill: SkillId,
    /// The function's name.
    pub name: String,
    /// The function's version.
    pub version: u32,
    /// The arguments, by name.
    pub arguments: Value,
    /// The function, ready to begin.
    pub function: Box<dyn WorldFunction>,
}

/// The record of one call of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionRecord {
    /// The skill.
    pub skill: SkillId,
    /// The function's name.
    pub name: String,
    /// The function's version.
    pub version: u32,
    /// The arguments, by name.
    pub arguments: Value,
    /// Number of actions that it asked for.
    pub acts: u32,
    /// How it ended.
    pub end: FunctionEnd,
    /// Duration in milliseconds.
    pub took_ms: u64,
}
