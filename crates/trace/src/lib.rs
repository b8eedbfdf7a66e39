//! Records an attempt (events, blobs, redaction) and reads its trace back.

#![warn(clippy::missing_errors_doc)]

mod blobs;
mod file_source;
mod recorder;
mod trace;

pub use apprentice_secrets::{REDACTED, Redactor};
pub use blobs::{BLOBS_FOLDER, BlobError, Blobs, PictureRef};
pub use file_source::FileSource;
pub use recorder::{EVENTS_FILE, Recorder, blob_path, hex};
pub use trace::{Trace, TraceError};
