//! HTTP with a model's server: the request body, the transport, and the classification of failures.
//!
//! Adapters build bodies and parse responses. This module knows no provider's format and does not retry.

mod body;
mod decoded;
mod failure;
mod fragment;
mod schema;
mod transport;

pub(crate) use body::{Json, list, object};
pub(crate) use decoded::{Decoded, Unreadable, read_body, value_of};
pub(crate) use failure::read_error;
pub(crate) use fragment::{Fragments, media_type};
pub(crate) use schema::{Optional, lowered};
pub use transport::{Answer, Deadlines, Endpoint, Secret, Transport, TransportError};
