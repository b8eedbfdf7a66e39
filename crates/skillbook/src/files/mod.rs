//! The pages on disk: what a person changed, and what is written again.

pub(crate) mod disk;
pub(crate) mod file_stamps;
