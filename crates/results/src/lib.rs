//! What finished trials say: rows, statistics, comparison, reports.
//!
//! Everything is computed from rows alone; [`stored_run`] opens a run's folder for readers of traces. It accepts any file of that form, so others' results can be analysed too.

pub mod ablations;
pub mod arm;
pub mod auto_arm;
pub mod compare;
pub mod contamination;
pub mod report;
pub mod row;
pub mod rows;
pub mod selftest;
pub mod stats;
pub mod step_caps;
pub mod stored_run;
