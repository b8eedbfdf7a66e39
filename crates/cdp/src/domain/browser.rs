//! The browser as a whole: downloads and its end.

use serde::{Deserialize, Serialize};

use super::{Nothing, bare_commands, command, happening};

bare_commands! {
    /// Ends the browser in good order.
    Close = "Browser.close";
}

/// What to do with downloads.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DownloadBehavior {
    /// Keep them under their own names.
    Allow,
    /// Refuse them.
    Deny,
}

/// Says where downloads go.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDownloadBehavior {
    /// Keep or refuse.
    pub behavior: DownloadBehavior,
    /// The folder, by the browser's own paths.
    pub download_path: String,
    /// Whether progress is reported.
    pub events_enabled: bool,
}

command!(SetDownloadBehavior, "Browser.setDownloadBehavior", Nothing);

/// A download began.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadWillBegin {
    /// Its id.
    pub guid: String,
    /// The name it asks for.
    pub suggested_filename: String,
}

happening!(DownloadWillBegin, "Browser.downloadWillBegin");

/// How a download stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DownloadState {
    /// It goes on.
    InProgress,
    /// It is whole.
    Completed,
    /// It was given up.
    Canceled,
}

/// A download went on.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadProgress {
    /// Its id.
    pub guid: String,
    /// Bytes so far.
    pub received_bytes: f64,
    /// How it stands.
    pub state: DownloadState,
    /// Where it was kept, which may differ from the name it asked for.
    #[serde(default)]
    pub file_path: Option<String>,
}

happening!(DownloadProgress, "Browser.downloadProgress");
