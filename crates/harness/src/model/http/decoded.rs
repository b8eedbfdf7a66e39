//! The reply that an adapter parsed, before time and cost are added.

use std::time::Duration;

use apprentice_protocol::{Call, ChatReply, ModelError, RawContent, ReplyStop, Timing};
use serde_json::Value;
use serde_json::value::RawValue;

use super::decode_error::DecodeError;
use super::{Transport, error_in_success};
use crate::model::price::{Tariff, Tokens};

/// A parsed reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedReply {
    pub(crate) raw: RawContent,
    pub(crate) say: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) stop: ReplyStop,
    pub(crate) tokens: Tokens,
    pub(crate) provider_model: Option<String>,
}

impl ParsedReply {
    /// Adds time and cost, and returns the reply.
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

impl DecodeError {
    /// Converts to a model error that quotes the response.
    pub(crate) fn into_model_error(self, transport: &Transport, body: &[u8]) -> ModelError {
        transport.misread(self, body)
    }
}

/// Parses the body, unless it is an error sent with a success status.
pub(crate) fn read_body<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, DecodeError> {
    // Parsing as the reply comes first; only a body that fails is checked for an error.
    match serde_json::from_slice::<T>(body) {
        Ok(read) => Ok(read),
        Err(error) => match serde_json::from_slice::<Value>(body).ok().as_ref().and_then(error_in_success) {
            Some(told) => Err(DecodeError::Error(told)),
            None => Err(DecodeError::Form(error)),
        },
    }
}

/// Parses a raw fragment.
pub(crate) fn value_of(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
