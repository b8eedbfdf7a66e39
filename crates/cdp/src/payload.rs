//! What a message holds, in the form in which it came.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::cbor;

/// The result of a call or the parameters of an event, not yet deserialized.
#[derive(Clone, Debug)]
pub struct Payload(Form);

#[derive(Clone, Debug)]
enum Form {
    Json(Box<RawValue>),
    Cbor(Box<[u8]>),
}

impl Payload {
    /// A payload in JSON.
    pub fn json(value: &RawValue) -> Self {
        Self(Form::Json(value.to_owned()))
    }

    pub(crate) fn cbor(value: &[u8]) -> Self {
        Self(Form::Cbor(value.into()))
    }

    /// Nothing, where a message says nothing.
    pub(crate) fn null() -> Self {
        Self(Form::Json(RawValue::NULL.to_owned()))
    }

    /// Deserializes it as `T`.
    ///
    /// # Errors
    ///
    /// Fails if it does not have the form of `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        match &self.0 {
            Form::Json(value) => serde_json::from_str(value.get()),
            Form::Cbor(bytes) => cbor::from_slice(bytes),
        }
    }
}
