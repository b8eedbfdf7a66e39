//! Finds keys, tokens and passwords in text by one list, and removes them. Terminal, traces, cassettes, exports, pages and the
//! skillbook use it, so that what is a secret to one is a secret to all.

mod encoded;
mod forms;
mod redactor;
mod scan;
mod values;
mod view;

pub use redactor::{REDACTED, Redactor};
pub use scan::{Found, contains_secret, find};
