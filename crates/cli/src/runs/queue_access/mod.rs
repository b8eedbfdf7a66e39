//! The queue of a fleet as commands reach it: where it is, and its runs for those that read runs.

mod address;
mod reading;

pub(crate) use address::{QueueAddress, database_failure, patient_store_settings, store_settings};
pub(crate) use reading::{Scratch, fetch_failure, opened, whole};
