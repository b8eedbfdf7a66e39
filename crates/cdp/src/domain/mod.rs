//! The parts of the protocol we use, as types; a field we do not read is not there.

pub mod accessibility;
pub mod browser;
pub mod dom;
pub mod input;
pub mod network;
pub mod page;
pub mod runtime;
pub mod target;

use serde::{Deserialize, Serialize};

/// A call without parameters or an empty reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// Names a call's method and its reply.
macro_rules! command {
    ($name:ident, $method:literal, $reply:ty) => {
        impl crate::message::Command for $name {
            const METHOD: &'static str = $method;
            type Reply = $reply;
        }
    };
}

/// Names an event.
macro_rules! happening {
    ($name:ident, $method:literal) => {
        impl crate::message::Happening for $name {
            const METHOD: &'static str = $method;
        }
    };
}

/// Declares calls that take no parameters and answer nothing.
macro_rules! bare_commands {
    ($($(#[$doc:meta])* $name:ident = $method:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, serde::Serialize)]
        pub struct $name {}
        crate::domain::command!($name, $method, crate::domain::Nothing);
    )*};
}

pub(crate) use {bare_commands, command, happening};
