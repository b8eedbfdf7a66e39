//! Answers of the pool to requests that are not carried out: a status, a code for programs, and words for people.

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long a client should wait before it asks a full pool again, in seconds.
const RETRY_AFTER_SECONDS: u16 = 5;

/// A request that was not carried out.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The code by which programs know it.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// The request has a form that is not taken.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// The request fits the state of the session badly.
    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// What the request names does not exist.
    pub(crate) fn absent(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// The world is at fault, and nothing is known of the task.
    pub(crate) fn void(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "void", message)
    }

    /// All places are taken.
    pub(crate) fn full(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", message)
    }

    /// The server ends.
    pub(crate) fn ending() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ending", "the server ends")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let is_full = self.code == "capacity";
        let body = json!({ "status": "error", "code": self.code, "message": self.message });
        let mut response = (self.status, Json(body)).into_response();
        if is_full {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        response
    }
}

/// Reads an object. Serde would read a list too, field by field, which nobody means.
pub(crate) fn object<T: DeserializeOwned>(given: &Value) -> Result<T, String> {
    match given {
        Value::Object(_) => T::deserialize(given).map_err(|error| error.to_string()),
        Value::Null => Err("invalid type: null, expected an object".to_owned()),
        Value::Array(_) => Err("invalid type: a list, expected an object".to_owned()),
        Value::String(_) => Err("invalid type: a text, expected an object".to_owned()),
        Value::Bool(_) | Value::Number(_) => Err(format!("invalid type: {given}, expected an object")),
    }
}
