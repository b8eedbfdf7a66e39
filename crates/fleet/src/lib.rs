//! Runs of more than one machine: a queue in PostgreSQL that hands out trials and takes their results, and artifacts in an
//! object store. What one machine does, this crate leaves to the evaluator: it implements its port `TrialQueue`.

#![warn(clippy::missing_errors_doc)]

mod address;
mod artifacts;
mod caps;
mod certificates;
mod database;
mod error_chain;
mod experiment_copy;
mod experiment_runs;
mod fetch;
mod forecast;
mod leader;
mod learning_costs;
mod metrics;
mod on_demand;
mod prepare_run;
mod queue;
mod rate_limit;
mod schema;
mod status;
mod stores;
mod submit;
mod worker;

pub use address::{Address, AddressError};
pub use artifacts::{ArtifactError, Artifacts, FileList, files_below};
pub use caps::{Cap, CapKind};
pub use certificates::CertificatesError;
pub use database::{Database, DatabaseError, Patience};
pub use experiment_runs::{ExperimentRuns, LeadError, LeaderPlace, Needs};
pub use fetch::{Depth, FetchError, Fetched, fetch};
pub use forecast::{FleetForecast, FleetQuestion, ObservedAttempt, forecast_fleet};
pub use leader::{LeadExperiment, Led};
pub use metrics::{metrics, serve_metrics};
pub use on_demand::OnDemand;
pub use prepare_run::{PrepareRun, Prepared, UnfitRun};
pub use queue::{
    Claimant, Claimed, ExperimentRecord, Leadership, Leaving, Outcome, Queue, Renewed, RunRecord, Stored,
    build, build_of,
};
pub use rate_limit::{Metered, RateLimit, RateUnit};
pub use schema::SchemaError;
pub use status::{CapStatus, ExperimentStatus, QueueStatus, RunStatus, WorkerStatus};
pub use stores::{STORE_SETTINGS, StoreAddressError, StoreSettings};
pub use submit::{Submission, SubmitError, submit};
pub use worker::{DEFAULT_LEASE, Worker, WorkerLimits};
