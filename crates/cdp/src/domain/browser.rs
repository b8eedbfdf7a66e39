//! The `Browser` domain: downloads, and closing the browser.

use serde::{Deserialize, Serialize};

use super::{Empty, bare_commands, command, event_payload};

bare_commands! {
    /// Closes the browser gracefully.
    Close = "Browser.close";
}

/// Whether downloads are allowed.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DownloadBehavior {
    /// Saves downloads under their own names.
    Allow,
    /// Denies downloads.
    Deny,
}

/// Sets the download folder.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDownloadBehavior {
    /// Whether downloads are saved or denied.
    pub behavior: DownloadBehavior,
    /// The folder, as a path on the browser's machine.
    pub download_path: String,
    /// Whether the browser sends download events.
    pub events_enabled: bool,
    /// The browser context that this is for. `None` for the one that the browser began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_context_id: Option<String>,
}

command!(SetDownloadBehavior, "Browser.setDownloadBehavior", Empty);

/// Event: a download began.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadWillBegin {
    /// The download's id.
    pub guid: String,
    /// The suggested file name.
    pub suggested_filename: String,
}

event_payload!(DownloadWillBegin, "Browser.downloadWillBegin");

/// The state of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DownloadState {
    /// Still receiving data.
    InProgress,
    /// Finished.
    Completed,
    /// Canceled or failed.
    Canceled,
}

/// Event: a download made progress or ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadProgress {
    /// The download's id.
    pub guid: String,
    /// Bytes received so far.
    pub received_bytes: f64,
    /// The current state.
    pub state: DownloadState,
    /// Path of the saved file, whose name may differ from the suggested one.
    #[serde(default)]
    pub file_path: Option<String>,
}

event_payload!(DownloadProgress, "Browser.downloadProgress");
