//! A folder for logs, and what is read of them as JSON.

use std::fs;
use std::path::PathBuf;

use apprentice_transcripts::{ReadError, ReadSummary, find};
use serde_json::Value;
use tempfile::TempDir;

/// A folder that is removed at the end.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, bytes).expect("written");
        path
    }

    /// Writes one JSON value per line.
    pub(crate) fn lines(&self, name: &str, lines: &[Value]) -> PathBuf {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write(name, text)
    }

    /// Reads the only log of a path.
    pub(crate) fn read(&self, name: &str) -> Value {
        let mut all = self.read_all(name).expect("logs");
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    /// Reads all logs of a path.
    pub(crate) fn read_all(&self, name: &str) -> Result<Vec<Value>, ReadError> {
        let found = find(&self.path(name))?;
        let logs: Result<Vec<_>, _> = found.iter().map(ReadSummary::read).collect();
        Ok(logs?.iter().map(|log| serde_json::to_value(log.shown()).expect("json")).collect())
    }
}

/// Asserts that a value holds these fields, and perhaps others.
#[track_caller]
pub(crate) fn holds(found: &Value, expected: &Value) {
    for (name, expected) in expected.as_object().expect("fields") {
        assert_eq!(&found[name], expected, "{name} of {found:#}");
    }
}
