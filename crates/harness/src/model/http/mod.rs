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
pub(crate) use decoded::{DecodeError, ParsedReply, read_body, value_of};
pub(crate) use failure::error_in_success;
pub(crate) use fragment::{PictureCache, media_type};
pub(crate) use schema::{OptionalProperties, strict_schema};
pub use transport::{Endpoint, HttpResponse, Secret, Timeouts, Transport, TransportError};
