//! The gateway: the only way by which a book is written.

pub(crate) mod add_figure;
pub(crate) mod approval;
pub(crate) mod gate;
pub(crate) mod gateway;
pub(crate) mod inspection;
pub(crate) mod open_unlocked;
pub(crate) mod request;
pub(crate) mod revert;
pub(crate) mod validate;
pub(crate) mod write_mode;
