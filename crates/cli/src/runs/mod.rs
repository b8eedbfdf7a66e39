//! Where runs are that a command reads, watches or steers.

pub(crate) mod control_socket;
#[cfg(feature = "fleet")]
pub(crate) mod queue_access;
pub(crate) mod run_place;
