//! The words of the protocol that both sides use.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::message::RpcError;

/// The newest version of the protocol that is spoken here. It is a number on the wire.
pub const PROTOCOL_VERSION: u16 = 1;

/// The names of methods.
pub mod method {
    /// Client to agent: agrees on a version.
    pub const INITIALIZE: &str = "initialize";
    /// Client to agent: opens a session.
    pub const SESSION_NEW: &str = "session/new";
    /// Client to agent: one turn.
    pub const SESSION_PROMPT: &str = "session/prompt";
    /// Client to agent, a notification: ends the turn.
    pub const SESSION_CANCEL: &str = "session/cancel";
    /// Client to agent: ends a session.
    pub const SESSION_CLOSE: &str = "session/close";
    /// Agent to client, a notification: what happens in a turn.
    pub const SESSION_UPDATE: &str = "session/update";
    /// Agent to client: asks a person before a tool call.
    pub const REQUEST_PERMISSION: &str = "session/request_permission";
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent has finished.
    EndTurn,
    /// The limit on tokens was reached.
    MaxTokens,
    /// The limit on model calls or acts was reached.
    MaxTurnRequests,
    /// The agent refuses to go on.
    Refusal,
    /// The client cancelled the turn.
    Cancelled,
}

/// One part of a prompt, a message or a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The bytes in base 64.
        data: String,
        /// The media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// A link to something that the agent may read.
    ResourceLink {
        /// The link's name.
        name: String,
        /// Its address.
        uri: String,
    },
}

impl ContentBlock {
    /// Creates a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// What a choice of a permission request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Allows this call.
    AllowOnce,
    /// Allows this call and those alike.
    AllowAlways,
    /// Refuses this call.
    RejectOnce,
    /// Refuses this call and those alike.
    RejectAlways,
}

/// A choice of a permission request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// The choice's id.
    pub option_id: String,
    /// Its label.
    pub name: String,
    /// What it does.
    pub kind: OptionKind,
}

/// The answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    /// The turn was cancelled.
    Cancelled,
    /// A choice was made.
    Selected {
        /// The choice's id.
        option_id: String,
    },
}

impl PermissionOutcome {
    /// Reads the result of a permission request.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a result of another form.
    pub fn read(result: &Value) -> Result<Self, String> {
        Self::deserialize(&result["outcome"]).map_err(|error| format!("the permission's outcome: {error}"))
    }

    /// Returns the result of a permission request.
    pub fn result(&self) -> Value {
        json!({ "outcome": self })
    }
}

/// Refuses parameters that are no object, or that have a field which is not in the list. `_meta` may always stand there.
///
/// # Errors
///
/// Returns the error for the other side, with the field's name.
pub fn known_fields(method: &str, params: &Value, known: &[&str]) -> Result<(), RpcError> {
    let Some(fields) = params.as_object() else {
        return Err(RpcError::invalid_params(format!("{method} takes an object")));
    };
    match fields.keys().find(|field| *field != "_meta" && !known.contains(&field.as_str())) {
        Some(field) => Err(RpcError::invalid_params(format!("{method} takes no {field:?} here"))),
        None => Ok(()),
    }
}
