//! A reply as an adapter read it, before time and money are added.

use std::time::Duration;

use apprentice_protocol::{Call, ChatReply, ModelError, RawContent, ReplyStop, Timing};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Transport, read_error};
use crate::model::price::{Tariff, Tokens};

/// A reply, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) raw: RawContent,
    pub(crate) say: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) stop: ReplyStop,
    pub(crate) tokens: Tokens,
    pub(crate) provider_model: Option<String>,
}

impl Decoded {
    /// The reply, with its time and its price.
    pub(crate) fn into_reply(self, took: Duration, tariff: Option<&Tariff>) -> ChatReply {
        let working_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        ChatReply {
            raw: self.raw,
            say: self.say,
            calls: self.calls,
            stop: self.stop,
            usage: self.tokens.into(),
            timing: Timing { working_ms, waiting_ms: 0 },
            cost_usd: tariff.map(|tariff| tariff.cost(&self.tokens, working_ms)),
            provider_model: self.provider_model,
        }
    }
}

/// Why a body is not a reply.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is not the JSON that its API promises.
    Form(serde_json::Error),
    /// It is an error in the guise of a success.
    Error(ModelError),
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self::Form(error)
    }
}

impl Unreadable {
    /// A body that breaks its API's promise in words.
    pub(crate) fn form(problem: &str) -> Self {
        Self::Form(serde::de::Error::custom(problem))
    }

    /// The error, with what the server wrote instead.
    pub(crate) fn into_model_error(self, transport: &Transport, body: &[u8]) -> ModelError {
        match self {
            Self::Form(error) => transport.not_json(body, &error),
            Self::Error(error) => transport.redacted(error),
        }
    }
}

/// The body as JSON, unless it is an error in the guise of a success.
pub(crate) fn read_body<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, Unreadable> {
    // Only a small body can be an error, and a reply is read once.
    match serde_json::from_slice::<T>(body) {
        Ok(read) => Ok(read),
        Err(error) => match serde_json::from_slice::<Value>(body).ok().as_ref().and_then(read_error) {
            Some(told) => Err(Unreadable::Error(told)),
            None => Err(Unreadable::Form(error)),
        },
    }
}

/// A fragment's own JSON.
pub(crate) fn value_of(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
