//! Everything that reads a book and writes nothing: snapshots, search, history, events, verification.

pub(crate) mod blame;
pub(crate) mod difference;
pub(crate) mod events;
pub(crate) mod fitting;
pub(crate) mod freeze;
pub(crate) mod history;
pub(crate) mod known_versions;
pub(crate) mod search;
pub(crate) mod snapshot;
pub mod verification;
