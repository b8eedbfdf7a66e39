//! Readers of forms in which several metrics find their evidence: archives, XML, JSON, YAML, databases, addresses.

pub(crate) mod attribute_limit;
pub(crate) mod cell_ref;
pub(crate) mod database;
pub(crate) mod json;
pub(crate) mod package;
pub(crate) mod selector;
pub(crate) mod url;
pub(crate) mod xml;
pub(crate) mod yaml;
pub(crate) mod zip_reader;

pub use database::rows as query_database;
pub use json::read as read_json;
pub use url::{Url, same as same_url};
