//! The form in which a model's server got a conversation.

use std::sync::Arc;

use apprentice_protocol::{ChatRequest, ModelProfile};
use serde_json::Value;

/// The messages and tools of a request, as a server gets them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SentForm {
    /// The messages of OpenAI's chat API.
    pub messages: Vec<Value>,
    /// The declared tools; none where the system text names them.
    pub tools: Vec<Value>,
}

/// Writes a request as the server of a model of the named profile got it. `None` for an unknown profile.
pub type AsSent = Arc<dyn Fn(&str, &ChatRequest) -> Option<Result<SentForm, String>> + Send + Sync>;

/// Writes a request that a model of the given profile was sent as the server of a model of another profile would have got it, or
/// says why that is not possible.
pub type AsWritten = Arc<dyn Fn(&ModelProfile, &ChatRequest) -> Result<SentForm, String> + Send + Sync>;

/// The profile for which conversations are written, whatever model had them.
#[derive(Clone)]
pub struct ForProfile {
    /// Its name.
    pub name: String,
    /// Writes a conversation for it.
    pub write: AsWritten,
}
