//! The `Runtime` domain: scripts in the page.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{bare_commands, command, event_payload};

bare_commands! {
    /// Resumes a target that was paused when it appeared.
    RunIfWaitingForDebugger = "Runtime.runIfWaitingForDebugger";
    /// Turns on the events of the console. The messages so far come at once.
    Enable = "Runtime.enable";
    /// Turns off the events of the console.
    Disable = "Runtime.disable";
    /// Ends the script that runs.
    TerminateExecution = "Runtime.terminateExecution";
}

/// Evaluates an expression in the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluate {
    /// The expression.
    pub expression: String,
    /// Whether to await a returned promise.
    pub await_promise: bool,
    /// Whether to return the result as JSON rather than as a handle.
    pub return_by_value: bool,
    /// Time limit of the script in milliseconds, without what it awaits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
}

command!(Evaluate, "Runtime.evaluate", Evaluated);

/// Calls a function with an object of the page as `this`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFunctionOn {
    /// Source of the function.
    pub function_declaration: String,
    /// Handle on the object used as `this`.
    pub object_id: String,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// Whether to await a returned promise.
    pub await_promise: bool,
    /// Whether to return the result as JSON rather than as a handle.
    pub return_by_value: bool,
}

/// An argument, passed by value.
#[derive(Clone, Debug, Serialize)]
pub struct Argument {
    /// The value.
    pub value: Value,
}

command!(CallFunctionOn, "Runtime.callFunctionOn", Evaluated);

/// The result of a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluated {
    /// The returned value.
    pub result: RemoteObject,
    /// The thrown exception.
    #[serde(default)]
    pub exception_details: Option<ExceptionDetails>,
}

/// A value in the page, or a handle on it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteObject {
    /// The value, if it was returned by value.
    #[serde(default)]
    pub value: Value,
    /// The handle, if the value is an object.
    #[serde(default)]
    pub object_id: Option<String>,
    /// Kind of object, for example `node`.
    #[serde(default)]
    pub subtype: Option<String>,
    /// The browser's textual description.
    #[serde(default)]
    pub description: Option<String>,
}

impl RemoteObject {
    /// The value as a console shows it.
    pub fn shown(&self) -> String {
        match (&self.value, &self.description) {
            (Value::String(text), _) => text.clone(),
            (_, Some(description)) => description.clone(),
            (Value::Null, None) => self.subtype.clone().unwrap_or_else(|| "undefined".to_owned()),
            (value, None) => value.to_string(),
        }
    }
}

/// Event: a page wrote to its console.
#[derive(Clone, Debug, Deserialize)]
pub struct ConsoleApiCalled {
    /// `log`, `warning`, `error`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// What was written.
    pub args: Vec<RemoteObject>,
}

event_payload!(ConsoleApiCalled, "Runtime.consoleAPICalled");

/// Event: an exception was thrown and not caught.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionThrown {
    /// The exception.
    pub exception_details: ExceptionDetails,
}

event_payload!(ExceptionThrown, "Runtime.exceptionThrown");

/// A thrown exception.
#[derive(Clone, Debug, Deserialize)]
pub struct ExceptionDetails {
    /// Short description.
    pub text: String,
    /// The thrown value.
    #[serde(default)]
    pub exception: Option<RemoteObject>,
}

impl ExceptionDetails {
    /// The exception in words.
    pub fn shown(&self) -> String {
        let thrown = self.exception.as_ref().map(RemoteObject::shown);
        thrown.unwrap_or_else(|| self.text.clone())
    }
}

/// A script threw an exception or returned a value of an unexpected type.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a script in the page failed: {0}")]
pub struct ScriptError(pub String);

impl Evaluated {
    /// Returns the result as `T`, or the thrown exception as an error.
    ///
    /// # Errors
    ///
    /// Fails if the script threw an exception, or if its result does not have the form of `T`.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, ScriptError> {
        if let Some(details) = self.exception_details {
            return Err(ScriptError(details.shown()));
        }
        serde_json::from_value(self.result.value).map_err(|error| ScriptError(error.to_string()))
    }
}
