//! The `DOM` and `DOMSnapshot` domains: handles on elements, frame owners, layout.

use serde::{Deserialize, Serialize};

use super::runtime::RemoteObject;
use super::{Empty, command};

/// Gets a handle on a node.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolveNode {
    /// The node.
    pub backend_node_id: i64,
}

/// A resolved node.
#[derive(Clone, Debug, Deserialize)]
pub struct Resolved {
    /// The handle.
    pub object: RemoteObject,
}

command!(ResolveNode, "DOM.resolveNode", Resolved);

/// Finds the element that contains a frame. Called on the session of the frame's parent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetFrameOwner {
    /// The frame.
    pub frame_id: String,
}

/// The element that contains a frame.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameOwner {
    /// The element.
    pub backend_node_id: i64,
}

command!(GetFrameOwner, "DOM.getFrameOwner", FrameOwner);

/// Finds the node that a point of the session's document hits, through the frames of its process. Where a frame of another process
/// is hit, that is the element that contains it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GetNodeForLocation {
    /// Pixels from the left edge of the document.
    pub x: i32,
    /// Pixels from the top edge of the document.
    pub y: i32,
}

/// The node at a point.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeAtLocation {
    /// The node.
    pub backend_node_id: i64,
    /// The frame of its document.
    pub frame_id: String,
}

command!(GetNodeForLocation, "DOM.getNodeForLocation", NodeAtLocation);

/// Reads an element's box model, in the coordinates of its process's viewport.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetBoxModel {
    /// The element.
    pub backend_node_id: i64,
}

/// The reply to [`GetBoxModel`].
#[derive(Clone, Debug, Deserialize)]
pub struct BoxModelReply {
    /// The box model.
    pub model: BoxModel,
}

/// An element's boxes as quads, each of four points.
#[derive(Clone, Debug, Deserialize)]
pub struct BoxModel {
    /// The content box. For a frame's owner, the area that shows the frame.
    pub content: Vec<f64>,
}

command!(GetBoxModel, "DOM.getBoxModel", BoxModelReply);

/// Sets the files of a file input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetFileInputFiles {
    /// Paths on the browser's machine.
    pub files: Vec<String>,
    /// A handle on the file input.
    pub object_id: String,
}

command!(SetFileInputFiles, "DOM.setFileInputFiles", Empty);

/// Takes a flattened snapshot of all documents of the session, with their layout.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureSnapshot {
    /// Computed styles to include for each laid-out node. May be empty.
    pub computed_styles: Vec<String>,
}

/// A snapshot of all documents of a session.
#[derive(Clone, Debug, Deserialize)]
pub struct Snapshot {
    /// The documents, the root first.
    pub documents: Vec<DocumentSnapshot>,
    /// The texts that other fields refer to by index.
    #[serde(default)]
    pub strings: Vec<String>,
}

impl Snapshot {
    /// Returns the text of an index; `None` for -1, which stands for no text.
    pub fn text(&self, index: i64) -> Option<&str> {
        self.strings.get(usize::try_from(index).ok()?).map(String::as_str)
    }
}

/// The nodes and layout boxes of one document, as parallel lists.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSnapshot {
    /// Index of the document's URL.
    #[serde(rename = "documentURL", default = "no_text")]
    pub url: i64,
    /// Index of the id of the frame that shows the document.
    #[serde(default = "no_text")]
    pub frame_id: i64,
    /// The nodes.
    pub nodes: SnapshotNodes,
    /// The layout boxes.
    pub layout: SnapshotLayout,
    /// Horizontal scroll position.
    #[serde(default)]
    pub scroll_offset_x: f64,
    /// Vertical scroll position.
    #[serde(default)]
    pub scroll_offset_y: f64,
}

/// Columns of node data, by node index.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotNodes {
    /// Node ids, unique within the process.
    pub backend_node_id: Vec<i64>,
    /// Indices of the nodes' names, elements in capital letters.
    #[serde(default)]
    pub node_name: Vec<i64>,
    /// Indices of the nodes' values, such as the characters of a text; -1 for none.
    #[serde(default)]
    pub node_value: Vec<i64>,
    /// Indices of the names and values of the nodes' attributes, in turn.
    #[serde(default)]
    pub attributes: Vec<Vec<i64>>,
    /// Indices of the nodes' parents; -1 for the document.
    #[serde(default)]
    pub parent_index: Vec<i64>,
    /// The nodes that hear clicks: links, and what has a listener of its own.
    #[serde(default)]
    pub is_clickable: Option<RareFlag>,
    /// For nodes that contain a document, the index of that document.
    #[serde(default)]
    pub content_document_index: Option<RareInteger>,
}

/// A sparse column of few nodes that have a property.
#[derive(Clone, Debug, Deserialize)]
pub struct RareFlag {
    /// Indices of the nodes.
    pub index: Vec<usize>,
}

/// A sparse column: a property of few nodes.
#[derive(Clone, Debug, Deserialize)]
pub struct RareInteger {
    /// Indices of the nodes.
    pub index: Vec<usize>,
    /// The property's value for each of them.
    pub value: Vec<usize>,
}

/// Columns of layout data, by box index.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotLayout {
    /// Index of the node of each box.
    pub node_index: Vec<usize>,
    /// Left, top, width and height of each box, in document coordinates.
    pub bounds: Vec<Vec<f64>>,
    /// Index of the text of each box; -1 if it is none of a text.
    #[serde(default)]
    pub text: Vec<i64>,
    /// Indices of the requested styles of each box; empty for boxes of texts.
    #[serde(default)]
    pub styles: Vec<Vec<i64>>,
}

const fn no_text() -> i64 {
    -1
}

command!(CaptureSnapshot, "DOMSnapshot.captureSnapshot", Snapshot);

/// Reads the quads that cover a node, in the coordinates of its process's viewport.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetContentQuads {
    /// A handle on the node.
    pub object_id: String,
}

/// Quads of four points, each as eight numbers.
#[derive(Clone, Debug, Deserialize)]
pub struct ContentQuads {
    /// One quad per line of an inline element.
    pub quads: Vec<[f64; 8]>,
}

command!(GetContentQuads, "DOM.getContentQuads", ContentQuads);

/// Scrolls the node into view, in every containing frame of its process.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScrollIntoViewIfNeeded {
    /// A handle on the node.
    pub object_id: String,
}

command!(ScrollIntoViewIfNeeded, "DOM.scrollIntoViewIfNeeded", Empty);
