//! The folder of a run: the names of its files, what a path holds, and readers for it.
//!
//! Every command that reads a run, an experiment or a bundle opens it here, so that a path that holds something else is
//! refused in the same words everywhere.

#![warn(clippy::missing_errors_doc)]

pub mod bundle;
pub mod layout;
mod open;
mod place;
pub mod row;
pub mod rows;
mod stored_run;
mod wanted;

pub use open::{OpenError, Opened, RUN_SCHEMA, open, read_plan, read_rows};
pub use place::{Place, find_runs, latest_run};
pub use stored_run::{PlanHead, PlannedTrialHead, RunError, StoredRun};
pub use wanted::{Wanted, WrongPlace, check};
