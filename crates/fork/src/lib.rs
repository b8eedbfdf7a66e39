//! Forks: a recorded attempt is brought to one of its steps in a fresh world, and goes on from there several times with
//! the recorded help and with one thing changed. The difference is the effect of that help at that place.

mod error;
mod find;
mod load;
mod report;
mod text;
mod variant;
mod work;

pub use error::ForkError;
pub use find::{FoundTrial, find_trial};
pub use load::ForkSite;
pub use report::{
    FORK_SCHEMA, ForkArm, ForkAttempt, ForkEffect, ForkRate, ForkReport, ForkVerdict, History, MIN_JUDGED,
    PartingRecord, RecordedAttempt,
};
pub use text::fork_text;
pub use variant::Variant;
pub use work::{Fork, ForkOutcome};
