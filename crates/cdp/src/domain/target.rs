//! Targets: tabs, frames of other processes, workers; how they appear, are attached and go.

use serde::{Deserialize, Serialize};

use super::{Nothing, command, happening};
use crate::session::SessionId;

/// A target as the browser describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfo {
    /// Its id.
    pub target_id: String,
    /// `page`, `iframe`, `worker`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// The target that opened it.
    #[serde(default)]
    pub opener_id: Option<String>,
}

/// Attaches to a target.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachToTarget {
    /// Which.
    pub target_id: String,
    /// Whether its messages travel on this same socket.
    pub flatten: bool,
}

/// The session of an attached target.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// The session.
    pub session_id: SessionId,
}

command!(AttachToTarget, "Target.attachToTarget", Attached);

/// Attaches to what is there and to what appears under the session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetAutoAttach {
    /// On or off.
    pub auto_attach: bool,
    /// Whether a new target stands still until `Runtime.runIfWaitingForDebugger`.
    pub wait_for_debugger_on_start: bool,
    /// Whether messages travel on this same socket.
    pub flatten: bool,
}

command!(SetAutoAttach, "Target.setAutoAttach", Nothing);

/// Reports every target as it appears, changes and goes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetDiscoverTargets {
    /// On or off.
    pub discover: bool,
}

command!(SetDiscoverTargets, "Target.setDiscoverTargets", Nothing);

/// Opens a tab.
#[derive(Clone, Debug, Serialize)]
pub struct CreateTarget {
    /// Its address.
    pub url: String,
}

/// The tab that was opened.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// Its target.
    pub target_id: String,
}

command!(CreateTarget, "Target.createTarget", Created);

/// Closes a tab.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloseTarget {
    /// Which.
    pub target_id: String,
}

command!(CloseTarget, "Target.closeTarget", Nothing);

/// Brings a tab to the front.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivateTarget {
    /// Which.
    pub target_id: String,
}

command!(ActivateTarget, "Target.activateTarget", Nothing);

/// Lists all targets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GetTargets {}

/// All targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Targets {
    /// Their descriptions.
    pub target_infos: Vec<TargetInfo>,
}

command!(GetTargets, "Target.getTargets", Targets);

/// A target was attached to.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedToTarget {
    /// Its session.
    pub session_id: SessionId,
    /// What it is.
    pub target_info: TargetInfo,
    /// Whether it stands still until told to run.
    pub waiting_for_debugger: bool,
}

happening!(AttachedToTarget, "Target.attachedToTarget");

/// A session ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DetachedFromTarget {
    /// Which.
    pub session_id: SessionId,
}

happening!(DetachedFromTarget, "Target.detachedFromTarget");

/// A target's title or address changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfoChanged {
    /// How it is now.
    pub target_info: TargetInfo,
}

happening!(TargetInfoChanged, "Target.targetInfoChanged");

/// A target's process died.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetCrashed {
    /// Which.
    pub target_id: String,
    /// How the process ended.
    pub status: String,
    /// With which code.
    pub error_code: i64,
}

happening!(TargetCrashed, "Target.targetCrashed");

/// A target is gone.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetDestroyed {
    /// Which.
    pub target_id: String,
}

happening!(TargetDestroyed, "Target.targetDestroyed");
