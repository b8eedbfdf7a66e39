//! The wire form of the protocol: what is sent, what comes back, and how both get types.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A typed call: its parameters serialise as themselves.
pub trait Command: Serialize + Sync {
    /// Its name, for example `Page.navigate`.
    const METHOD: &'static str;
    /// What a successful reply holds.
    type Reply: DeserializeOwned;
}

/// A typed event's parameters.
pub trait Happening: DeserializeOwned {
    /// Its name, for example `Page.javascriptDialogOpening`.
    const METHOD: &'static str;
}

/// The browser's own refusal of a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Refusal {
    /// JSON-RPC's code; `-32000` for most.
    pub code: i64,
    /// In the browser's words.
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

/// A message as it arrives: a reply has an id, an event a method.
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
    pub(crate) error: Option<Refusal>,
}
