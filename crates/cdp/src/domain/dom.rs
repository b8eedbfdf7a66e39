//! Documents: handles on elements, owners of frames, layout.

use serde::{Deserialize, Serialize};

use super::runtime::RemoteObject;
use super::{Nothing, command};

/// Gets a handle on a node.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolveNode {
    /// Which.
    pub backend_node_id: i64,
}

/// A handle on a node.
#[derive(Clone, Debug, Deserialize)]
pub struct Resolved {
    /// The handle.
    pub object: RemoteObject,
}

command!(ResolveNode, "DOM.resolveNode", Resolved);

/// Describes a node by a handle.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribeNode {
    /// The handle.
    pub object_id: String,
}

/// A described node.
#[derive(Clone, Debug, Deserialize)]
pub struct Described {
    /// The node.
    pub node: Node,
}

/// What is read of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its id within its process.
    pub backend_node_id: i64,
    /// Its tag in upper case, for elements.
    pub node_name: String,
    /// The frame it holds, for frame elements.
    #[serde(default)]
    pub frame_id: Option<String>,
}

command!(DescribeNode, "DOM.describeNode", Described);

/// Finds the element that holds a frame, from the frame's parent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetFrameOwner {
    /// The frame.
    pub frame_id: String,
}

/// The element that holds a frame.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameOwner {
    /// The element.
    pub backend_node_id: i64,
}

command!(GetFrameOwner, "DOM.getFrameOwner", FrameOwner);

/// Reads where an element lies, in the viewport of its process.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetBoxModel {
    /// Which.
    pub backend_node_id: i64,
}

/// The answer to [`GetBoxModel`].
#[derive(Clone, Debug, Deserialize)]
pub struct BoxModelReply {
    /// The boxes.
    pub model: BoxModel,
}

/// An element's boxes as quads of four points.
#[derive(Clone, Debug, Deserialize)]
pub struct BoxModel {
    /// The content box: for a frame's owner, where the frame is shown.
    pub content: Vec<f64>,
}

command!(GetBoxModel, "DOM.getBoxModel", BoxModelReply);

/// Chooses files in a file input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetFileInputFiles {
    /// Paths on the browser's machine.
    pub files: Vec<String>,
    /// The input.
    pub backend_node_id: i64,
}

command!(SetFileInputFiles, "DOM.setFileInputFiles", Nothing);

/// Takes a flat picture of all documents of the session with their layout.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureSnapshot {
    /// Styles to read of each laid-out node; may be empty.
    pub computed_styles: Vec<String>,
}

/// All documents of a session.
#[derive(Clone, Debug, Deserialize)]
pub struct Snapshot {
    /// The documents, the root first.
    pub documents: Vec<DocumentSnapshot>,
}

/// One document's nodes and boxes, as parallel lists.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSnapshot {
    /// Its nodes.
    pub nodes: SnapshotNodes,
    /// Its boxes.
    pub layout: SnapshotLayout,
    /// How far it is scrolled across.
    #[serde(default)]
    pub scroll_offset_x: f64,
    /// How far it is scrolled down.
    #[serde(default)]
    pub scroll_offset_y: f64,
}

/// Nodes by index.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotNodes {
    /// Ids within the process.
    pub backend_node_id: Vec<i64>,
    /// Which nodes hold which documents.
    #[serde(default)]
    pub content_document_index: Option<RareInteger>,
}

/// A property that few nodes have.
#[derive(Clone, Debug, Deserialize)]
pub struct RareInteger {
    /// The nodes.
    pub index: Vec<usize>,
    /// Its value for each.
    pub value: Vec<usize>,
}

/// Boxes by index.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotLayout {
    /// The node of each box.
    pub node_index: Vec<usize>,
    /// Left, top, width, height of each, in the document.
    pub bounds: Vec<Vec<f64>>,
}

command!(CaptureSnapshot, "DOMSnapshot.captureSnapshot", Snapshot);

/// Reads where a node's parts lie, in the viewport of its process.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetContentQuads {
    /// A handle on the node.
    pub object_id: String,
}

/// Quads of four points each, as eight numbers.
#[derive(Clone, Debug, Deserialize)]
pub struct ContentQuads {
    /// One for each line of an inline element.
    pub quads: Vec<[f64; 8]>,
}

command!(GetContentQuads, "DOM.getContentQuads", ContentQuads);

/// Scrolls all that contains the node, in every frame of its process, until it is in view.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScrollIntoViewIfNeeded {
    /// A handle on the node.
    pub object_id: String,
}

command!(ScrollIntoViewIfNeeded, "DOM.scrollIntoViewIfNeeded", Nothing);
