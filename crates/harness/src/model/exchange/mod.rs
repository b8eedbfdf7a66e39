//! One exchange with a model's server: the body that goes out, the way there, and what a failure means.
//!
//! Adapters build bodies and read answers; nothing here knows a provider's words, and nothing here tries again.

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
