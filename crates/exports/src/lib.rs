//! Writes the attempts of a run in the formats of other programs: result trees, logs, spans, tables, training data; and answers
//! questions in SQL about them.
//!
//! An export reads a run's plan, rows, events and blobs, one attempt at a time, and needs no suite, world or network.
//! The output folder appears whole or not at all.

#![warn(clippy::missing_errors_doc)]

mod as_sent;
mod card;
mod conversation;
mod cover;
mod episode;
mod export;
mod folder;
mod formats;
mod manifest;
mod names;
mod parquet;
mod request;
mod select;
mod sql;
mod writers;

pub use apprentice_runs::RunError;
pub use as_sent::{AsSent, AsWritten, ForProfile, SentForm};
pub use export::{ExportError, export};
pub use folder::FolderError;
pub use formats::{ExportFormat, PictureForm};
pub use manifest::{EXPORT_SCHEMA, LeftOut, Manifest};
pub use request::ExportRequest;
pub use select::{Guidance, Selection, SplitChoice, StepRange};
pub use sql::{SQL_SCHEMA, SQL_TABLES, SqlAnswer, SqlError, sql};
