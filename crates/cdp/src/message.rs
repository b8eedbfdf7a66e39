//! The wire format: outgoing and incoming messages, and the traits that give them types.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A typed call. The value serializes to the call's parameters.
pub trait Command: Serialize + Sync {
    /// The method, for example `Page.navigate`.
    const METHOD: &'static str;
    /// Type of the reply's result.
    type Reply: DeserializeOwned;
}

/// The parameters of a typed event.
pub trait EventPayload: DeserializeOwned {
    /// The method, for example `Page.javascriptDialogOpening`.
    const METHOD: &'static str;
}

/// The browser's error reply to a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ErrorReply {
    /// JSON-RPC error code, `-32000` for most errors.
    pub code: i64,
    /// The browser's error message.
    pub message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outgoing<'a, P: ?Sized> {
    pub(crate) id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) params: &'a P,
}

/// An incoming message. A reply has an id, an event has a method.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Incoming<'a> {
    pub(crate) id: Option<u64>,
    #[serde(borrow)]
    pub(crate) session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    pub(crate) error: Option<ErrorReply>,
}
