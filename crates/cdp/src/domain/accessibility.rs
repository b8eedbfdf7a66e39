//! The accessibility tree.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{bare_commands, command};

bare_commands! {
    /// Keeps the tree alive between reads, so that they are quick.
    Enable = "Accessibility.enable";
}

/// Reads the whole tree of one frame.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetFullAxTree {
    /// How deep; everything if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The frame; the session's root if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<String>,
}

/// A frame's tree.
#[derive(Clone, Debug, Deserialize)]
pub struct AxTree {
    /// Its nodes, the root first.
    pub nodes: Vec<AxNode>,
}

command!(GetFullAxTree, "Accessibility.getFullAXTree", AxTree);

/// One node of the tree.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AxNode {
    /// Its id within this reply.
    pub node_id: String,
    /// Whether assistive programs pass over it.
    #[serde(default)]
    pub ignored: bool,
    /// What it is.
    #[serde(default)]
    pub role: Option<AxValue>,
    /// Its name.
    #[serde(default)]
    pub name: Option<AxValue>,
    /// Its value.
    #[serde(default)]
    pub value: Option<AxValue>,
    /// Its states and other properties.
    #[serde(default)]
    pub properties: Vec<AxProperty>,
    /// Its children, in order.
    #[serde(default)]
    pub child_ids: Vec<String>,
    /// The node of the document that it stands for.
    #[serde(default, rename = "backendDOMNodeId")]
    pub backend_dom_node_id: Option<i64>,
}

/// A named property.
#[derive(Clone, Debug, Deserialize)]
pub struct AxProperty {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: AxValue,
}

/// A value.
#[derive(Clone, Debug, Deserialize)]
pub struct AxValue {
    /// The value itself: text, a number, a truth value.
    #[serde(default)]
    pub value: Value,
}
