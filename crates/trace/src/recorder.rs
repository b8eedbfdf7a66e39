//! Writes the `events.jsonl` of one attempt, and stores blobs under their hash.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    BlobHash, Clock, EVENT_VERSION, Event, EventId, EventKind, EventSink, SinkError, StepId,
};
use sha2::{Digest as _, Sha256};

use super::Redactor;

/// The events of an attempt, in the folder of the attempt.
pub const EVENTS_FILE: &str = "events.jsonl";
/// Extensions of text blobs, which are redacted.
const TEXT_EXTENSIONS: &[&str] = &["txt", "json", "md", "html", "xml"];

/// The trace of one attempt. Lines are appended whole; [`Recorder::sync`] returns when they are on disk.
pub struct Recorder {
    events: File,
    length: u64,
    blobs: PathBuf,
    unsynced: Vec<PathBuf>,
    clock: Arc<dyn Clock>,
    origin: Duration,
    redactor: Arc<Redactor>,
    last: EventId,
}

impl Recorder {
    /// Creates `<attempt>/events.jsonl`, which must not exist yet. Blobs go to the folder `blobs`.
    ///
    /// # Errors
    ///
    /// Fails if the folders cannot be created, if the file exists already, or if the disk is full.
    pub fn create(
        attempt: &Path,
        blobs: &Path,
        clock: Arc<dyn Clock>,
        redactor: Arc<Redactor>,
    ) -> Result<Self, SinkError> {
        std::fs::create_dir_all(attempt).map_err(|error| failed(attempt, &error))?;
        std::fs::create_dir_all(blobs).map_err(|error| failed(blobs, &error))?;
        let path = attempt.join(EVENTS_FILE);
        let events = OpenOptions::new().append(true).create_new(true).open(&path);
        let events = events.map_err(|error| failed(&path, &error))?;
        let origin = clock.mono();
        Ok(Self {
            events,
            length: 0,
            blobs: blobs.to_owned(),
            unsynced: Vec::new(),
            clock,
            origin,
            redactor,
            last: EventId(0),
        })
    }

    /// Returns once every line and blob so far is on disk.
    ///
    /// # Errors
    ///
    /// Fails if an earlier line or blob could not be written, such as on a full disk.
    pub fn sync(&mut self) -> Result<(), SinkError> {
        for path in std::mem::take(&mut self.unsynced) {
            File::open(&path).and_then(|blob| blob.sync_data()).map_err(|error| failed(&path, &error))?;
        }
        File::open(&self.blobs)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| failed(&self.blobs, &error))?;
        self.events.sync_data().map_err(|error| failed(Path::new(EVENTS_FILE), &error))
    }

    fn append(&mut self, line: &str) -> Result<(), SinkError> {
        let bytes = format!("{line}\n");
        match self.events.write_all(bytes.as_bytes()) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                // A half-written line would swallow the next one, so the file is truncated to its last whole line.
                if let Err(second) = self.events.set_len(self.length) {
                    tracing::error!(%second, "could not remove a half-written event line");
                }
                Err(failed(Path::new(EVENTS_FILE), &error))
            }
        }
    }
}

impl EventSink for Recorder {
    fn emit(&mut self, step: Option<StepId>, kind: EventKind) -> Result<EventId, SinkError> {
        let id = self.last.next();
        let elapsed = self.clock.mono().saturating_sub(self.origin);
        let event = Event {
            version: EVENT_VERSION,
            id,
            wall: self.clock.now(),
            mono_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            step,
            kind,
        };
        let line = event.to_line().map_err(|error| SinkError::Io(error.to_string()))?;
        self.append(&self.redactor.clone().apply_to_json(&line))?;
        self.last = id;
        Ok(id)
    }

    fn keep(&mut self, bytes: &[u8], extension: &str) -> Result<BlobHash, SinkError> {
        let text = TEXT_EXTENSIONS.contains(&extension).then(|| std::str::from_utf8(bytes).ok()).flatten();
        let redacted = text.map(|text| match extension {
            "json" => self.redactor.apply_to_json(text),
            _ => self.redactor.apply(text),
        });
        let bytes = redacted.as_deref().map_or(bytes, str::as_bytes);
        let hash = BlobHash::new(hex(&Sha256::digest(bytes)));
        let path = blob_path(&self.blobs, &hash, extension);
        if !path.exists() {
            write_whole(&self.blobs, &path, bytes).map_err(|error| failed(&path, &error))?;
        }
        // A blob that another attempt wrote is synced too: that attempt may not have synced it yet.
        if !self.unsynced.contains(&path) {
            self.unsynced.push(path);
        }
        Ok(hash)
    }
}

/// Returns the path of a blob in the folder `blobs`.
pub fn blob_path(blobs: &Path, hash: &BlobHash, extension: &str) -> PathBuf {
    blobs.join(format!("{hash}.{extension}"))
}

/// Writes to a temporary name first, so that a reader never finds half a blob under its hash.
fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> SinkError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SinkError::DiskFull,
        _ => SinkError::Io(format!("{}: {error}", path.display())),
    }
}

/// Bytes in lower-case hexadecimal: the form of every hash on disk.
pub fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}
