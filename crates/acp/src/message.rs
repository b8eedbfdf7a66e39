//! Messages of JSON-RPC 2.0.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The id of a request, as it came: a number, a text or null.
pub type RequestId = Value;

/// An error of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// What is wrong.
    pub message: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The line is no JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    /// The message is no request, or none that fits now.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// There is no such method.
    pub fn no_method(method: &str) -> Self {
        Self::new(-32601, format!("there is no method {method:?}"))
    }

    /// The parameters do not fit.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// The work failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }
}

/// A message of the other side that wants something.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A request; it gets exactly one answer.
    Request {
        /// Its id.
        id: RequestId,
        /// What is asked for.
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// A notification; it gets no answer.
    Notification {
        /// What happened.
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
}

/// A line, read.
pub(crate) enum Parsed {
    Incoming(Incoming),
    /// An answer to a request of this side.
    Answer {
        id: RequestId,
        result: Result<Value, RpcError>,
    },
    /// Nothing that can be used; the error is for the other side, with the id null.
    Junk(RpcError),
}

/// Reads one line.
pub(crate) fn parse(line: &[u8]) -> Parsed {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return Parsed::Junk(RpcError::parse(format!("the line is no JSON: {error}"))),
    };
    let mut fields = match value {
        Value::Object(fields) => fields,
        // The protocol's version 1 leaves batches open, and version 2 has none; the SDKs answer so, too.
        Value::Array(_) => {
            return Parsed::Junk(RpcError::invalid_request(
                "batches are not taken: send each message by itself",
            ));
        }
        _ => return Parsed::Junk(RpcError::invalid_request("a message is an object")),
    };
    if fields.get("jsonrpc") != Some(&Value::from("2.0")) {
        return Parsed::Junk(RpcError::invalid_request("\"jsonrpc\" is not \"2.0\""));
    }
    let id = fields.remove("id");
    if id.as_ref().is_some_and(|id| !(id.is_number() || id.is_string() || id.is_null())) {
        return Parsed::Junk(RpcError::invalid_request("an id is a number, a text or null"));
    }
    let params = fields.remove("params").unwrap_or(Value::Null);
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Parsed::Incoming(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Parsed::Incoming(Incoming::Notification { method, params }),
        (Some(_), _) => Parsed::Junk(RpcError::invalid_request("a method is a text")),
        (None, Some(id)) => match (fields.remove("result"), fields.remove("error")) {
            (_, Some(error)) if !error.is_null() => {
                let read = RpcError::deserialize(&error);
                let error = read.unwrap_or_else(|_| RpcError::internal(error.to_string()));
                Parsed::Answer { id, result: Err(error) }
            }
            (Some(result), _) => Parsed::Answer { id, result: Ok(result) },
            (None, _) => Parsed::Junk(RpcError::invalid_request("a message has a method or a result")),
        },
        (None, None) => Parsed::Junk(RpcError::invalid_request("a message has a method")),
    }
}

/// Writes a request, or without an id a notification.
pub(crate) fn call(id: Option<u64>, method: &str, params: &Value) -> String {
    match id {
        Some(id) => json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        None => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    }
    .to_string()
}

/// Writes an answer.
pub(crate) fn answer(id: &RequestId, result: Result<&Value, &RpcError>) -> String {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
    .to_string()
}
