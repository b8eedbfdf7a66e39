//! Records an attempt (events, blobs, redaction) and reads its trace back.

mod blobs;
mod file_source;
mod recorder;
mod redact;
mod trace;

pub use blobs::{BlobError, Blobs, PictureRef};
pub use file_source::FileSource;
pub use recorder::{Recorder, blob_path, hex};
pub use redact::{REDACTED, Redactor};
pub use trace::{Trace, TraceError};
