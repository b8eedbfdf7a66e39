//! The versions of the programs that an agent uses. They are unknown when the book is prepared, because the environment
//! is not open yet, and are added once known.

use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{EventKind, Versions};

/// The program versions of one trial's environment. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct KnownVersions(Arc<Mutex<Versions>>);

impl KnownVersions {
    /// Records the versions that a trial event reports.
    pub fn record(&self, event: &EventKind) {
        if let EventKind::VersionsSeen { versions } = event {
            let seen = versions.iter().filter_map(|(app, version)| Some((app.clone(), version.clone()?)));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(seen);
        }
    }

    /// Returns the versions known so far.
    pub fn versions(&self) -> Versions {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
