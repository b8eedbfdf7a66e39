//! The reply that an adapter parsed, before time and cost are added.

use std::time::Duration;

use apprentice_protocol::{Call, CallBody, ChatReply, ModelError, RawContent, ReplyStop, Timing};
use serde_json::Value;
use serde_json::value::RawValue;

use super::decode_error::DecodeError;
use super::{Transport, error_in_success};
use crate::price::{Tariff, Tokens};

/// A parsed reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedReply {
    pub(crate) raw: RawContent,
    pub(crate) say: Vec<String>,
    pub(crate) thoughts: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) stop: ReplyStop,
    /// `None` if the server does not say how many there were.
    pub(crate) tokens: Option<Tokens>,
    /// What the server says that the call cost.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) provider_model: Option<String>,
}

impl ParsedReply {
    /// Adds time and cost, and returns the reply.
    pub(crate) fn into_reply(self, took: Duration, tariff: Option<&Tariff>) -> ChatReply {
        let working_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        ChatReply {
            raw: self.raw,
            say: self.say,
            thoughts: self.thoughts,
            calls: self.calls,
            stop: self.stop,
            usage: self.tokens.unwrap_or_default().into(),
            timing: Timing { working_ms, waiting_ms: 0 },
            cost_usd: match tariff {
                Some(Tariff::Hour(_)) => tariff.map(|tariff| tariff.cost(&Tokens::default(), working_ms)),
                _ => self.cost_usd.or_else(|| Some(tariff?.cost(&self.tokens?, working_ms))),
            },
            estimated: self.tokens.is_none(),
            adapted: Vec::new(),
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

/// A body that may hold an error.
#[derive(serde::Deserialize)]
struct WithError<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
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

/// Parses the body, unless it holds an error. An error counts more than words beside it, which came before it.
pub(crate) fn read_body_without_error<'a, T: serde::Deserialize<'a>>(
    body: &'a [u8],
) -> Result<T, DecodeError> {
    let error = serde_json::from_slice::<WithError<'_>>(body).ok().and_then(|body| body.error);
    if error.is_some_and(|error| error.get() != "null")
        && let Some(told) = serde_json::from_slice::<Value>(body).ok().as_ref().and_then(error_in_success)
    {
        return Err(DecodeError::Error(told));
    }
    read_body(body)
}

/// Reads a count. Some servers send whole numbers as fractions, or as text.
pub(crate) fn count(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2^53"
    )]
    let whole =
        |number: f64| (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64);
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses a raw fragment.
pub(crate) fn value_of(raw: &RawValue) -> Result<Value, DecodeError> {
    Ok(serde_json::from_str(raw.get())?)
}

/// Takes the last call of a reply that its limit cut, in tokens: its end may be missing, and half an action must not be
/// carried out.
pub(crate) fn cut_last_call(calls: &mut [Call], limit: Option<u64>) {
    let Some(last) = calls.last_mut() else { return };
    let limit =
        limit.filter(|tokens| *tokens > 0).map_or(String::new(), |tokens| format!(" of {tokens} tokens"));
    let problem = format!("the reply was cut at its limit{limit}; say it again, shorter");
    last.body = CallBody::Unusable { problem };
}
