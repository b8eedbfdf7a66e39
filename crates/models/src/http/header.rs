//! The headers that adapters set.

/// A header of a request that an adapter sets: its name in lower case, and its value.
pub type Header = (&'static str, String);
