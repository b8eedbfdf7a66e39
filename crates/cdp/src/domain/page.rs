//! The `Page` domain: navigation, history, frames, screenshots, dialogs, file choosers.

use serde::{Deserialize, Serialize};

use super::{Binary, Empty, bare_commands, command, event_payload};

bare_commands! {
    /// Turns on page events.
    Enable = "Page.enable";
    /// Reloads the page.
    Reload = "Page.reload";
    /// Stops all loading.
    StopLoading = "Page.stopLoading";
}

/// Navigates the tab to a URL.
#[derive(Clone, Debug, Serialize)]
pub struct Navigate {
    /// The URL.
    pub url: String,
}

/// The result of a navigation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    /// The network error, for example `net::ERR_NAME_NOT_RESOLVED`.
    #[serde(default)]
    pub error_text: Option<String>,
    /// Whether the navigation became a download.
    #[serde(default)]
    pub is_download: bool,
}

command!(Navigate, "Page.navigate", Navigated);

/// Reads the tab's history.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GetNavigationHistory {}

/// A tab's history.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NavigationHistory {
    /// Index of the current entry.
    pub current_index: i64,
    /// The entries, oldest first.
    pub entries: Vec<NavigationEntry>,
}

/// An entry of a tab's history.
#[derive(Clone, Debug, Deserialize)]
pub struct NavigationEntry {
    /// The entry's id.
    pub id: i64,
    /// The entry's URL.
    pub url: String,
}

command!(GetNavigationHistory, "Page.getNavigationHistory", NavigationHistory);

/// Navigates to an entry of the history.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NavigateToHistoryEntry {
    /// The entry.
    pub entry_id: i64,
}

command!(NavigateToHistoryEntry, "Page.navigateToHistoryEntry", Empty);

/// Reads the session's frame tree.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GetFrameTree {}

/// The reply to [`GetFrameTree`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frames {
    /// The session's root frame.
    pub frame_tree: FrameTree,
}

/// A frame with its child frames.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameTree {
    /// The frame.
    pub frame: Frame,
    /// Child frames in the same process.
    #[serde(default)]
    pub child_frames: Vec<Self>,
}

/// A frame.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// The frame's id, which stays the same for as long as the frame exists.
    pub id: String,
    /// Id of the load that created the document. Each document has another.
    pub loader_id: String,
    /// The parent frame, which may be in another process.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// The frame's URL.
    pub url: String,
}

command!(GetFrameTree, "Page.getFrameTree", Frames);

/// Encoding of a screenshot.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PictureFormat {
    /// PNG.
    Png,
}

/// Takes a screenshot of the visible page.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureScreenshot {
    /// The encoding.
    pub format: PictureFormat,
    /// Whether to prefer encoding speed over a small size.
    pub optimize_for_speed: bool,
}

/// A screenshot.
#[derive(Clone, Debug, Deserialize)]
pub struct Picture {
    /// The encoded picture.
    pub data: Binary,
}

command!(CaptureScreenshot, "Page.captureScreenshot", Picture);

/// Answers an open dialog.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandleJavaScriptDialog {
    /// Whether to accept the dialog (OK) or dismiss it (Cancel).
    pub accept: bool,
    /// The text to enter in a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_text: Option<String>,
}

command!(HandleJavaScriptDialog, "Page.handleJavaScriptDialog", Empty);

/// Runs a script in each new document before the page's own.
#[derive(Clone, Debug, Serialize)]
pub struct AddScriptToEvaluateOnNewDocument {
    /// The script.
    pub source: String,
}

command!(AddScriptToEvaluateOnNewDocument, "Page.addScriptToEvaluateOnNewDocument", Empty);

/// Reports file choosers as events instead of showing them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetInterceptFileChooserDialog {
    /// Whether file choosers are intercepted.
    pub enabled: bool,
}

command!(SetInterceptFileChooserDialog, "Page.setInterceptFileChooserDialog", Empty);

/// Sets the size of the page, independently of the window.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDeviceMetricsOverride {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Device pixels per CSS pixel.
    pub device_scale_factor: f64,
    /// Whether to emulate a mobile device.
    pub mobile: bool,
}

command!(SetDeviceMetricsOverride, "Emulation.setDeviceMetricsOverride", Empty);

/// Event: a dialog opened. It blocks the page until it is answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JavascriptDialogOpening {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The dialog's text.
    pub message: String,
    /// The initial text of a prompt.
    #[serde(default)]
    pub default_prompt: Option<String>,
}

event_payload!(JavascriptDialogOpening, "Page.javascriptDialogOpening");

/// Event: the dialog was answered.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct JavascriptDialogClosed {
    /// Whether it was accepted.
    pub result: bool,
}

event_payload!(JavascriptDialogClosed, "Page.javascriptDialogClosed");

/// Event: a file chooser would have been shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChooserOpened {
    /// `selectSingle` or `selectMultiple`.
    pub mode: String,
    /// The file input that opened the chooser.
    #[serde(default)]
    pub backend_node_id: Option<i64>,
}

event_payload!(FileChooserOpened, "Page.fileChooserOpened");

macro_rules! frame_events {
    ($($(#[$doc:meta])* $name:ident = $method:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// The frame.
            pub frame_id: String,
        }
        event_payload!($name, $method);
    )*};
}

frame_events! {
    /// Event: a frame began to load.
    FrameStartedLoading = "Page.frameStartedLoading";
    /// Event: a frame has loaded or stopped loading.
    FrameStoppedLoading = "Page.frameStoppedLoading";
    /// Event: a frame was removed or moved to another process.
    FrameDetached = "Page.frameDetached";
}

/// Event: a page whose process had died was loaded again.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TargetReloadedAfterCrash {}

event_payload!(TargetReloadedAfterCrash, "Inspector.targetReloadedAfterCrash");

/// Ends the page's process as a crash does, also where the page does not answer.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Crash {}

command!(Crash, "Page.crash", Empty);

/// Turns on [`TargetReloadedAfterCrash`].
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct InspectorEnable {}

command!(InspectorEnable, "Inspector.enable", Empty);
