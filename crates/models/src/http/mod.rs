//! HTTP with a model's server: the request body, the transport, and the classification of failures.
//!
//! Adapters build bodies and parse responses. This module knows no provider's format and does not retry.

mod body;
mod decode_error;
mod decoded;
mod endpoint;
mod extra_headers;
mod failure;
mod fragment;
#[cfg(feature = "bedrock")]
mod frames;
mod header;
mod response;
mod schema;
mod secret;
mod signing;
pub(crate) mod stream;
mod timeouts;
mod transport;
mod well_formed;

pub(crate) use body::{Json, list, object};
pub(crate) use decode_error::DecodeError;
pub(crate) use decoded::{ParsedReply, count, cut_last_call, read_body, read_body_without_error, value_of};
pub(crate) use endpoint::KeyHeader;
pub use endpoint::{Endpoint, Platform, TokenSource};
pub use extra_headers::{ExtraHeaders, HeaderError};
pub(crate) use failure::{error_in_success, refused_in_file};
pub(crate) use fragment::{PictureCache, media_type};
pub use header::Header;
pub(crate) use schema::{SchemaSubset, enforced_schema, ordered};
pub use secret::Secret;
pub use signing::AwsKeys;
pub use stream::ReplyWords;
pub(crate) use stream::{Assembler, Progress};
pub use timeouts::Timeouts;
pub(crate) use transport::Streamed;
pub use transport::{HttpResponse, Transport, TransportError};
