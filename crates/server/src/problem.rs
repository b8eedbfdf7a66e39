//! Answers to requests that cannot be carried out, in the form of OSWorld's server.

use apprentice_protocol::{MachineError, WorldError};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A request that was not carried out.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    message: String,
}

/// The answer of a handler.
pub(crate) type Answer<T> = Result<T, Problem>;

impl Problem {
    /// The request is at fault.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// What the request names does not exist.
    pub(crate) fn absent(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }

    /// The world is at fault, or it lacks what the request needs.
    pub(crate) fn world(message: impl Into<String>) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, message: message.into() }
    }

    /// No world is open.
    pub(crate) fn closed(why: &str) -> Self {
        let message = format!("no world is open: {why}; POST /reset opens one");
        Self { status: StatusCode::SERVICE_UNAVAILABLE, message }
    }

    /// The sender may not ask this.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, message: message.into() }
    }

    /// What is wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same problem, found while doing something.
    pub(crate) fn during(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::NotFound(_) => Self::absent(error.to_string()),
            MachineError::Refused { .. } => Self::request(error.to_string()),
            MachineError::Unsupported(_)
            | MachineError::MissingProgram(_)
            | MachineError::Lost(_)
            | MachineError::TimedOut(_) => Self::world(error.to_string()),
        }
    }
}

impl From<WorldError> for Problem {
    fn from(error: WorldError) -> Self {
        Self::world(error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // Clients of OSWorld read `message` or `error`, depending on the path.
        let body = json!({ "status": "error", "message": self.message, "error": self.message });
        (self.status, Json(body)).into_response()
    }
}
