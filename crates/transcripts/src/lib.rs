//! Reads what other agent programs log. Each program has a module below `programs/`, which knows its files alone; all of them
//! give a [`Transcript`]: turns of the model, calls with results, thoughts, tokens, verdicts, and what is missing.
//!
//! The rules come from logs that the programs' versions of November 2026 wrote against a scripted server. A log of a known
//! program in an unknown version is an error that says so.

#![warn(clippy::missing_errors_doc)]

mod document;
mod draft;
mod error;
mod export_index;
mod find;
mod in_order;
mod json;
mod lines;
mod model;
mod neighbours;
mod node;
mod pictures;
mod programs;
mod read;
mod recognise;
mod samples;
mod summary;
mod texts;
mod tree;
mod unpacked;

pub use error::{KNOWN, ReadError};
pub use find::{Found, MAX_LOGS, find};
pub use in_order::{Out, in_order};
pub use model::{
    Accuracy, Branch, Call, Continues, Ending, Helper, Log, Program, Target, Tokens, Transcript, Turn,
    Verdict,
};
pub use read::{read, read_each};
pub use summary::{LogSummary, ReadSummary, SampleSummary};
