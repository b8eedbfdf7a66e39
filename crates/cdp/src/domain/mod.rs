//! Types for the parts of the protocol that we use. Fields that we do not read are left out.

pub mod accessibility;
pub mod browser;
pub mod dom;
pub mod input;
pub mod log;
pub mod network;
pub mod page;
pub mod runtime;
pub mod target;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Empty parameters or an empty reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

/// Bytes, which are Base64 in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binary(pub Vec<u8>);

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Binary;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Binary, E> {
                Ok(Binary(bytes.to_vec()))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Binary, E> {
                BASE64.decode(text).map(Binary).map_err(E::custom)
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Bytes)
        } else {
            deserializer.deserialize_bytes(Bytes)
        }
    }
}

/// Implements `Command` with a method and a reply type.
macro_rules! command {
    ($name:ident, $method:literal, $reply:ty) => {
        impl crate::message::Command for $name {
            const METHOD: &'static str = $method;
            type Reply = $reply;
        }
    };
}

/// Implements the event trait with a method.
macro_rules! event_payload {
    ($name:ident, $method:literal) => {
        impl crate::message::EventPayload for $name {
            const METHOD: &'static str = $method;
        }
    };
}

/// Declares calls without parameters and with an empty reply.
macro_rules! bare_commands {
    ($($(#[$doc:meta])* $name:ident = $method:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, serde::Serialize)]
        pub struct $name {}
        crate::domain::command!($name, $method, crate::domain::Empty);
    )*};
}

pub(crate) use {bare_commands, command, event_payload};
