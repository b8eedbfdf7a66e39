//! Scripts in the page.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Nothing, bare_commands, command};

bare_commands! {
    /// Lets a target run that stands still since it appeared.
    RunIfWaitingForDebugger = "Runtime.runIfWaitingForDebugger";
    /// Ends the script that runs.
    TerminateExecution = "Runtime.terminateExecution";
}

/// Evaluates an expression in the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluate {
    /// The expression.
    pub expression: String,
    /// Whether to wait for the promise it gives.
    pub await_promise: bool,
    /// Whether the result comes as JSON.
    pub return_by_value: bool,
}

command!(Evaluate, "Runtime.evaluate", Evaluated);

/// Calls a function on an object of the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFunctionOn {
    /// The function's source.
    pub function_declaration: String,
    /// What `this` is.
    pub object_id: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// Whether to wait for the promise it gives.
    pub await_promise: bool,
    /// Whether the result comes as JSON.
    pub return_by_value: bool,
}

/// One argument of a call, by value.
#[derive(Clone, Debug, Serialize)]
pub struct Argument {
    /// The value.
    pub value: Value,
}

command!(CallFunctionOn, "Runtime.callFunctionOn", Evaluated);

/// What a script left.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluated {
    /// Its result.
    pub result: RemoteObject,
    /// What it threw.
    #[serde(default)]
    pub exception_details: Option<ExceptionDetails>,
}

/// A value of the page, or a handle on one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteObject {
    /// The value, if it was asked for.
    #[serde(default)]
    pub value: Value,
    /// The handle, if it has one.
    #[serde(default)]
    pub object_id: Option<String>,
    /// What kind of object, for example `node`.
    #[serde(default)]
    pub subtype: Option<String>,
    /// In the page's own words.
    #[serde(default)]
    pub description: Option<String>,
}

/// What was thrown.
#[derive(Clone, Debug, Deserialize)]
pub struct ExceptionDetails {
    /// In short.
    pub text: String,
    /// The thrown value.
    #[serde(default)]
    pub exception: Option<RemoteObject>,
}

/// A script threw, or gave something else than expected.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a script in the page failed: {0}")]
pub struct ScriptError(pub String);

impl Evaluated {
    /// The result, or what was thrown.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, ScriptError> {
        if let Some(details) = self.exception_details {
            let thrown = details.exception.and_then(|thrown| thrown.description);
            return Err(ScriptError(thrown.unwrap_or(details.text)));
        }
        serde_json::from_value(self.result.value).map_err(|error| ScriptError(error.to_string()))
    }
}

/// Lets a handle go.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseObject {
    /// Which.
    pub object_id: String,
}

command!(ReleaseObject, "Runtime.releaseObject", Nothing);
