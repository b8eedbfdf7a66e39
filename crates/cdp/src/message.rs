//! The wire format: outgoing and incoming messages, and the traits that give them types.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Error, Value};

use crate::cbor;
use crate::payload::Payload;

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

/// The form of the messages of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireForm {
    /// JSON, on the debugging port.
    Json,
    /// CBOR, on the debugging pipe.
    Cbor,
}

impl WireForm {
    /// Encodes a call.
    pub(crate) fn encode<P: Serialize + ?Sized>(self, call: &Outgoing<'_, P>) -> Result<Vec<u8>, Error> {
        if self == Self::Json {
            return serde_json::to_vec(call);
        }
        let mut members = vec![("id", Value::from(call.id)), ("method", Value::from(call.method))];
        members.extend(call.session_id.map(|session| ("sessionId", Value::from(session))));
        members.push(("params", serde_json::to_value(call.params)?));
        cbor::message(&members).ok_or_else(|| serde::ser::Error::custom("the call is too long"))
    }

    /// Reads the frame of a message.
    pub(crate) fn decode(self, message: &[u8]) -> Result<Incoming<'_>, Error> {
        match self {
            Self::Json => serde_json::from_slice(message).map(IncomingJson::read),
            Self::Cbor => Incoming::from_cbor(message),
        }
    }
}

/// An incoming message. A reply has an id, an event has a method.
#[derive(Default)]
pub(crate) struct Incoming<'a> {
    pub(crate) id: Option<u64>,
    pub(crate) session_id: Option<Cow<'a, str>>,
    pub(crate) method: Option<Cow<'a, str>>,
    pub(crate) params: Option<Payload>,
    pub(crate) result: Option<Payload>,
    pub(crate) error: Option<ErrorReply>,
}

/// An incoming message in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IncomingJson<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ErrorReply>,
}

impl<'a> IncomingJson<'a> {
    fn read(self) -> Incoming<'a> {
        let Self { id, session_id, method, params, result, error } = self;
        let (params, result) = (params.map(Payload::json), result.map(Payload::json));
        Incoming { id, session_id, method, params, result, error }
    }
}

impl<'a> Incoming<'a> {
    fn from_cbor(message: &'a [u8]) -> Result<Self, Error> {
        let mut read = Self::default();
        for (key, value) in cbor::members(message)? {
            match key {
                "id" => read.id = Some(cbor::from_slice(value)?),
                "sessionId" => read.session_id = Some(Cow::Owned(cbor::from_slice(value)?)),
                "method" => read.method = Some(Cow::Owned(cbor::from_slice(value)?)),
                "params" => read.params = Some(Payload::cbor(value)),
                "result" => read.result = Some(Payload::cbor(value)),
                "error" => read.error = Some(cbor::from_slice(value)?),
                // Later versions may say more.
                _ => {}
            }
        }
        Ok(read)
    }
}
