//! Where runs are that a command reads, watches or steers.

pub(crate) mod control_socket;
pub(crate) mod experiment_progress;
#[cfg(feature = "fleet")]
pub(crate) mod queue_access;
pub(crate) mod run_place;
pub(crate) mod run_progress;
