//! Recording: events, blobs and the redaction that stands before them; and reading them back.

mod recorder;
mod redact;
mod trace;

pub use recorder::{Recorder, blob_path, hex};
pub use redact::{REDACTED, Redactor};
pub use trace::{Trace, TraceError};
