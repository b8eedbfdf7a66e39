//! What the viewer shows.

use crate::control::Processes;
use crate::library::Library;

/// What the viewer shows: recorded runs, and what runs now.
pub struct Shown {
    /// The recorded runs.
    pub library: Library,
    /// The processes whose trials can be watched and steered.
    pub processes: Processes,
}
