//! The state of a book, as its operations make it.

pub(crate) mod candidate;
pub(crate) mod held_back;
pub(crate) mod index;
pub(crate) mod skill_update;
pub(crate) mod state;
