//! Why a response, or an event of one, is not a reply.

use apprentice_protocol::ModelError;

/// A response body that is not a reply.
#[derive(Debug)]
pub(crate) enum DecodeError {
    /// It does not match the API's schema.
    Form(serde_json::Error),
    /// It is an error sent with a success status.
    Error(ModelError),
    /// The provider behind a server broke off within the reply.
    BrokenOff(ModelError),
}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        Self::Form(error)
    }
}

impl DecodeError {
    /// A mismatch with the API that has no parser error.
    pub(crate) fn form(problem: &str) -> Self {
        Self::Form(serde::de::Error::custom(problem))
    }
}
