//! The operation log: changes as typed records, and the file that holds them.

pub(crate) mod change;
pub(crate) mod change_name;
pub(crate) mod citation;
pub(crate) mod judgement;
pub(crate) mod log_file;
pub(crate) mod operation;
pub(crate) mod proposal;
