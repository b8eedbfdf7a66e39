//! The `Accessibility` domain: the accessibility tree.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{bare_commands, command};

bare_commands! {
    /// Keeps the tree up to date between reads, which makes reading it fast.
    Enable = "Accessibility.enable";
}

/// Reads the complete tree of one frame.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetFullAxTree {
    /// Depth limit. `None` reads all levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The frame. `None` reads the session's root frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<String>,
}

/// Reads one node of the tree.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPartialAxTree {
    /// The DOM node, by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_node_id: Option<i64>,
    /// The DOM node, by a handle on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
    /// Whether to read its ancestors, siblings and children as well.
    pub fetch_relatives: bool,
}

command!(GetPartialAxTree, "Accessibility.getPartialAXTree", AxTree);

/// The accessibility tree of a frame.
#[derive(Clone, Debug, Deserialize)]
pub struct AxTree {
    /// The nodes, the root first.
    pub nodes: Vec<AxNode>,
}

command!(GetFullAxTree, "Accessibility.getFullAXTree", AxTree);

/// A node of the tree.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AxNode {
    /// The node's id, valid within this reply only.
    pub node_id: String,
    /// Whether assistive technology skips the node.
    #[serde(default)]
    pub ignored: bool,
    /// The role.
    #[serde(default)]
    pub role: Option<AxValue>,
    /// The accessible name.
    #[serde(default)]
    pub name: Option<AxValue>,
    /// What a page says of it besides its name, such as its title.
    #[serde(default)]
    pub description: Option<AxValue>,
    /// The value.
    #[serde(default)]
    pub value: Option<AxValue>,
    /// States and other properties.
    #[serde(default)]
    pub properties: Vec<AxProperty>,
    /// Ids of the children, in order.
    #[serde(default)]
    pub child_ids: Vec<String>,
    /// The DOM node that this node represents.
    #[serde(default, rename = "backendDOMNodeId")]
    pub backend_dom_node_id: Option<i64>,
}

/// A named property.
#[derive(Clone, Debug, Deserialize)]
pub struct AxProperty {
    /// The property's name.
    pub name: String,
    /// The property's value.
    pub value: AxValue,
}

/// A value with a type.
#[derive(Clone, Debug, Deserialize)]
pub struct AxValue {
    /// The plain value: text, a number or a boolean.
    #[serde(default)]
    pub value: Value,
}
