//! Runs of more than one machine: a queue in PostgreSQL that hands out trials and takes their results, and artifacts in an
//! object store. What one machine does, this crate leaves to the evaluator: it implements its port `TrialQueue`.

mod address;
mod artifacts;
mod database;
mod fetch;
mod queue;
mod rate_limit;
mod schema;
mod status;
mod submit;
mod worker;

pub use address::{Address, AddressError};
pub use artifacts::{ArtifactError, Artifacts, FileList};
pub use database::{Database, DatabaseError, Patience};
pub use fetch::{FetchError, Fetched, fetch};
pub use queue::{Claimant, Claimed, Outcome, Queue, Renewed, RunRecord, Stored, build, build_of};
pub use rate_limit::{Metered, RateLimit};
pub use schema::SchemaError;
pub use status::{QueueStatus, RunStatus, WorkerStatus};
pub use submit::{Submission, SubmitError, submit};
pub use worker::{PrepareRun, Prepared, UnfitRun, Worker, WorkerLimits};
