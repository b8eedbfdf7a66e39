//! The `Target` domain: tabs, out-of-process frames and workers, and sessions on them.

use serde::{Deserialize, Serialize};

use super::{Empty, command, event_payload};
use crate::session_id::SessionId;

/// The browser's description of a target.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfo {
    /// The target's id.
    pub target_id: String,
    /// `page`, `iframe`, `worker`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The page's title.
    pub title: String,
    /// The page's URL.
    pub url: String,
    /// The target that opened it.
    #[serde(default)]
    pub opener_id: Option<String>,
    /// The browser context that it belongs to.
    #[serde(default)]
    pub browser_context_id: Option<String>,
}

/// Attaches to a target.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachToTarget {
    /// The target.
    pub target_id: String,
    /// Whether the session's messages travel on this socket (flat mode).
    pub flatten: bool,
}

/// The reply to [`AttachToTarget`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// The new session.
    pub session_id: SessionId,
}

command!(AttachToTarget, "Target.attachToTarget", Attached);

/// Attaches automatically to existing and new targets related to the session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetAutoAttach {
    /// Whether to attach automatically.
    pub auto_attach: bool,
    /// Whether new targets are paused until `Runtime.runIfWaitingForDebugger`.
    pub wait_for_debugger_on_start: bool,
    /// Whether messages travel on this socket (flat mode).
    pub flatten: bool,
}

command!(SetAutoAttach, "Target.setAutoAttach", Empty);

/// Reports the creation, changes and destruction of all targets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetDiscoverTargets {
    /// Whether to report targets.
    pub discover: bool,
}

command!(SetDiscoverTargets, "Target.setDiscoverTargets", Empty);

/// Makes a browser context: pages in it share no cookies, storage and permissions with those of others.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateBrowserContext {
    /// Whether it ends with the connection.
    pub dispose_on_detach: bool,
}

/// The reply to [`CreateBrowserContext`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedContext {
    /// The context.
    pub browser_context_id: String,
}

command!(CreateBrowserContext, "Target.createBrowserContext", CreatedContext);

/// Closes all pages of a browser context, and forgets what they kept.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DisposeBrowserContext {
    /// The context.
    pub browser_context_id: String,
}

command!(DisposeBrowserContext, "Target.disposeBrowserContext", Empty);

/// How a window is shown.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowState {
    /// Over the whole screen, without a frame.
    Fullscreen,
}

/// Opens a tab.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTarget {
    /// The tab's initial URL.
    pub url: String,
    /// The browser context. `None` for the one that the browser began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_context_id: Option<String>,
    /// Whether it gets a window of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_window: Option<bool>,
    /// How its own window is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_state: Option<WindowState>,
}

/// The reply to [`CreateTarget`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The tab's target.
    pub target_id: String,
}

command!(CreateTarget, "Target.createTarget", Created);

/// Closes a tab.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloseTarget {
    /// The tab's target.
    pub target_id: String,
}

command!(CloseTarget, "Target.closeTarget", Empty);

/// Brings a tab to the front.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivateTarget {
    /// The tab's target.
    pub target_id: String,
}

command!(ActivateTarget, "Target.activateTarget", Empty);

/// Lists all targets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GetTargets {}

/// The reply to [`GetTargets`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Targets {
    /// Descriptions of all targets.
    pub target_infos: Vec<TargetInfo>,
}

command!(GetTargets, "Target.getTargets", Targets);

/// Event: a session on a target began.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedToTarget {
    /// The new session.
    pub session_id: SessionId,
    /// The target.
    pub target_info: TargetInfo,
    /// Whether the target is paused until told to run.
    pub waiting_for_debugger: bool,
}

event_payload!(AttachedToTarget, "Target.attachedToTarget");

/// Event: a session ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DetachedFromTarget {
    /// The session.
    pub session_id: SessionId,
}

event_payload!(DetachedFromTarget, "Target.detachedFromTarget");

/// Event: a target's title or URL changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfoChanged {
    /// The new description.
    pub target_info: TargetInfo,
}

event_payload!(TargetInfoChanged, "Target.targetInfoChanged");

/// Event: a target's process died.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetCrashed {
    /// The target.
    pub target_id: String,
    /// How the process ended.
    pub status: String,
    /// The process's exit code.
    pub error_code: i64,
}

event_payload!(TargetCrashed, "Target.targetCrashed");
