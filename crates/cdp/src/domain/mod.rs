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

use serde::{Deserialize, Serialize};

/// Empty parameters or an empty reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

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
