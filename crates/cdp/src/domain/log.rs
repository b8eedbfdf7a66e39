//! The `Log` domain: what the browser itself says about a page, for example a request that failed.

use serde::Deserialize;

use super::{bare_commands, event_payload};

bare_commands! {
    /// Turns on the log. The entries so far come at once.
    Enable = "Log.enable";
    /// Turns off the log.
    Disable = "Log.disable";
}

/// Event: an entry was added.
#[derive(Clone, Debug, Deserialize)]
pub struct EntryAdded {
    /// The entry.
    pub entry: LogEntry,
}

/// An entry of the log.
#[derive(Clone, Debug, Deserialize)]
pub struct LogEntry {
    /// `verbose`, `info`, `warning` or `error`.
    pub level: String,
    /// The text.
    pub text: String,
    /// What it is about.
    #[serde(default)]
    pub url: Option<String>,
}

event_payload!(EntryAdded, "Log.entryAdded");
