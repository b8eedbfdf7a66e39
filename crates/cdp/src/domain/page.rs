//! Pages: addresses, history, frames, pictures, dialogs, file choosers.

use serde::{Deserialize, Serialize};

use super::{Nothing, bare_commands, command, happening};

bare_commands! {
    /// Turns on the page's events.
    Enable = "Page.enable";
    /// Loads the page again.
    Reload = "Page.reload";
    /// Brings the tab to the front.
    BringToFront = "Page.bringToFront";
    /// Ends whatever is loading.
    StopLoading = "Page.stopLoading";
}

/// Opens an address in the tab.
#[derive(Clone, Debug, Serialize)]
pub struct Navigate {
    /// The address.
    pub url: String,
}

/// What became of a navigation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    /// The network's error, for example `net::ERR_NAME_NOT_RESOLVED`.
    #[serde(default)]
    pub error_text: Option<String>,
    /// Whether the address turned out to be a file to keep.
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
    /// Where in the list the tab stands.
    pub current_index: i64,
    /// Oldest first.
    pub entries: Vec<NavigationEntry>,
}

/// One place in a tab's history.
#[derive(Clone, Debug, Deserialize)]
pub struct NavigationEntry {
    /// Its id.
    pub id: i64,
    /// Its address.
    pub url: String,
}

command!(GetNavigationHistory, "Page.getNavigationHistory", NavigationHistory);

/// Goes to a place in the history.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NavigateToHistoryEntry {
    /// Which.
    pub entry_id: i64,
}

command!(NavigateToHistoryEntry, "Page.navigateToHistoryEntry", Nothing);

/// Reads the frames of the session.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GetFrameTree {}

/// The answer to [`GetFrameTree`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frames {
    /// The session's root frame.
    pub frame_tree: FrameTree,
}

/// A frame with the frames in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameTree {
    /// The frame.
    pub frame: Frame,
    /// Frames of the same process in it.
    #[serde(default)]
    pub child_frames: Vec<Self>,
}

/// One frame.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// Its id; the same for as long as the frame exists.
    pub id: String,
    /// The load that made its document: another for every document.
    pub loader_id: String,
    /// Its parent, also one of another process.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// Its address.
    pub url: String,
}

command!(GetFrameTree, "Page.getFrameTree", Frames);

/// How a picture is encoded.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PictureFormat {
    /// PNG.
    Png,
}

/// Takes a picture of the visible page.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureScreenshot {
    /// The encoding.
    pub format: PictureFormat,
    /// Rather quick than small.
    pub optimize_for_speed: bool,
}

/// A picture.
#[derive(Clone, Debug, Deserialize)]
pub struct Picture {
    /// Base64 of the encoded bytes.
    pub data: String,
}

command!(CaptureScreenshot, "Page.captureScreenshot", Picture);

/// Answers an open dialog.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandleJavaScriptDialog {
    /// OK rather than Cancel.
    pub accept: bool,
    /// The text for a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_text: Option<String>,
}

command!(HandleJavaScriptDialog, "Page.handleJavaScriptDialog", Nothing);

/// Reports file choosers instead of showing them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetInterceptFileChooserDialog {
    /// On or off.
    pub enabled: bool,
}

command!(SetInterceptFileChooserDialog, "Page.setInterceptFileChooserDialog", Nothing);

/// Gives the page a size of its own, apart from the window's.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDeviceMetricsOverride {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Device pixels per pixel of the page.
    pub device_scale_factor: f64,
    /// Whether it behaves like a phone.
    pub mobile: bool,
}

command!(SetDeviceMetricsOverride, "Emulation.setDeviceMetricsOverride", Nothing);

/// A dialog opened; it blocks the page until it is answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JavascriptDialogOpening {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text.
    pub message: String,
    /// What a prompt starts with.
    #[serde(default)]
    pub default_prompt: Option<String>,
}

happening!(JavascriptDialogOpening, "Page.javascriptDialogOpening");

/// The dialog was answered.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct JavascriptDialogClosed {
    /// With OK.
    pub result: bool,
}

happening!(JavascriptDialogClosed, "Page.javascriptDialogClosed");

/// A file chooser would have been shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChooserOpened {
    /// `selectSingle` or `selectMultiple`.
    pub mode: String,
    /// The file input that asked for it.
    #[serde(default)]
    pub backend_node_id: Option<i64>,
}

happening!(FileChooserOpened, "Page.fileChooserOpened");

macro_rules! frame_happenings {
    ($($(#[$doc:meta])* $name:ident = $method:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Which frame.
            pub frame_id: String,
        }
        happening!($name, $method);
    )*};
}

frame_happenings! {
    /// A frame began to load.
    FrameStartedLoading = "Page.frameStartedLoading";
    /// A frame has loaded, or stopped trying.
    FrameStoppedLoading = "Page.frameStoppedLoading";
    /// A frame was asked to go elsewhere.
    FrameRequestedNavigation = "Page.frameRequestedNavigation";
    /// A frame is gone, or moved to another process.
    FrameDetached = "Page.frameDetached";
}

/// The page's process died.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct InspectorTargetCrashed {}

happening!(InspectorTargetCrashed, "Inspector.targetCrashed");

/// Turns on the event of a dying process.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct InspectorEnable {}

command!(InspectorEnable, "Inspector.enable", Nothing);
