//! Joins the accessibility trees of all frames into one interface tree.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use apprentice_cdp::SessionId;
use apprentice_cdp::domain::accessibility::{AxNode, GetFullAxTree};
use apprentice_cdp::domain::dom::{CaptureSnapshot, DocumentSnapshot, GetFrameOwner, Snapshot};
use apprentice_cdp::domain::page::{Frame, FrameTree, GetFrameTree};
use apprentice_protocol::{NodeRef, Rect, Role, State, TreeBudget, TruncationCause, UiNode, UiTree};
use serde_json::Value;

use super::driver::{ActionError, Browser};
use super::node_refs::{NodeKey, Refs};
use super::page_state::TabSession;

/// Roles that Chromium names differently from ARIA.
const ROLES: &[(&str, &str)] = &[
    ("rootwebarea", "document"),
    ("statictext", "text"),
    ("image", "img"),
    ("svgroot", "img"),
    ("textfieldwithcombobox", "combobox"),
    ("disclosuretriangle", "button"),
    ("disclosuretrianglegrouped", "button"),
    ("colorwell", "button"),
    ("inputtime", "spinbutton"),
    ("date", "textbox"),
    ("datetime", "textbox"),
    ("layouttable", "table"),
    ("layouttablerow", "row"),
    ("layouttablecell", "cell"),
    ("gridcell", "cell"),
];

/// Roles of no use to a model: fragments of text, and layout boxes.
const SKIPPED: &[&str] =
    &["inlinetextbox", "linebreak", "listmarker", "none", "generic", "ignored", "labeltext", "menulistpopup"];

/// The accessibility tree of one frame.
struct FrameReading {
    session: SessionId,
    frame: Frame,
    /// The parent frame, and the element in it that contains this frame.
    owner: Option<(String, i64)>,
    nodes: Vec<AxNode>,
}

/// The trees and boxes read within the time budget.
#[derive(Default)]
struct FrameReadings {
    frames: Vec<FrameReading>,
    /// Boxes in the coordinates of the tab's viewport, by session and node.
    boxes: HashMap<(SessionId, i64), Rect>,
}

impl Browser {
    /// Reads the interface of the active tab within the budget.
    pub(super) async fn tree(&self, budget: &TreeBudget) -> Result<UiTree, ActionError> {
        let front = self.front()?;
        if let Some(dialog) = front.dialog {
            return Err(ActionError::Dialog(dialog));
        }
        let parts = self.watch().with(|pages| pages.sessions_of(&front.session));
        let readings = Mutex::new(FrameReadings::default());
        let read = async {
            for (session, part) in &parts {
                match self.read_part(session, part, &readings).await {
                    // A frame that is removed meanwhile is left out.
                    Ok(()) | Err(ActionError::Replaced(_)) => {}
                    Err(other) => return Err(other),
                }
            }
            Ok(())
        };
        let in_time = match tokio::time::timeout(budget.time(), read).await {
            Ok(done) => done.map(|()| true)?,
            Err(_) => false,
        };
        let readings = readings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut tree = Assembly::of(&readings, &mut self.refs(), budget).run();
        if !in_time {
            tree.truncated = Some(TruncationCause::Time);
        }
        Ok(tree)
    }

    async fn read_part(
        &self,
        id: &SessionId,
        part: &TabSession,
        readings: &Mutex<FrameReadings>,
    ) -> Result<(), ActionError> {
        let session = self.session(id);
        let snapshot = CaptureSnapshot { computed_styles: Vec::new() };
        let whole = GetFullAxTree { depth: None, frame_id: None };
        // The page answers them one after the other, without a round trip in between.
        let calls = async {
            tokio::try_join!(session.call(&GetFrameTree {}), session.call(&snapshot), session.call(&whole))
        };
        let (frames, snapshot, main) = self.guard(calls).await?;
        let mut main = Some(main.nodes);
        let offset = self.offset(Some(id)).await?;
        let mut outer = None;
        if let Some(parent) = &part.parent {
            let owner = GetFrameOwner { frame_id: part.target.clone() };
            outer = Some(self.call(&self.session(parent), &owner).await?.backend_node_id);
        }
        let mut waiting = vec![frames.frame_tree];
        let mut found = Vec::new();
        while let Some(FrameTree { frame, child_frames }) = waiting.pop() {
            waiting.extend(child_frames);
            let owner = match (found.is_empty(), outer, &frame.parent_id) {
                (true, Some(node), Some(parent)) => Some((parent.clone(), node)),
                (false, _, Some(parent)) => {
                    let owner = GetFrameOwner { frame_id: frame.id.clone() };
                    Some((parent.clone(), self.call(&session, &owner).await?.backend_node_id))
                }
                (true, ..) | (false, _, None) => None,
            };
            let nodes = match main.take() {
                Some(nodes) => nodes,
                None => {
                    let tree = GetFullAxTree { depth: None, frame_id: Some(frame.id.clone()) };
                    self.call(&session, &tree).await?.nodes
                }
            };
            found.push(FrameReading { session: id.clone(), frame, owner, nodes });
        }
        let mut readings = readings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        readings.frames.extend(found);
        let boxes = boxes(&snapshot, offset.0, offset.1).into_iter();
        readings.boxes.extend(boxes.map(|(node, bounds)| ((id.clone(), node), bounds)));
        Ok(())
    }
}

/// The boxes of all nodes in the tab's viewport. `left` and `top` are the position of the
/// session's viewport in it.
fn boxes(snapshot: &Snapshot, left: f64, top: f64) -> HashMap<i64, Rect> {
    let mut found = HashMap::new();
    // The origin of each document, as far as its owner has been seen.
    let mut origins: HashMap<usize, (f64, f64)> = HashMap::from([(0, (left, top))]);
    for (index, document) in snapshot.documents.iter().enumerate() {
        let Some(origin) = origins.get(&index).copied() else { continue };
        let x = origin.0 - document.scroll_offset_x;
        let y = origin.1 - document.scroll_offset_y;
        let held = held_documents(document);
        for (node, bounds) in document.layout.node_index.iter().zip(&document.layout.bounds) {
            let (Some(id), [left, top, width, height]) =
                (document.nodes.backend_node_id.get(*node), bounds.as_slice())
            else {
                continue;
            };
            found.entry(*id).or_insert_with(|| round(left + x, top + y, *width, *height));
            if let Some(inner) = held.get(node) {
                origins.insert(*inner, (left + x, top + y));
            }
        }
    }
    found
}

/// Maps the indices of nodes that contain a document to the indices of those documents.
fn held_documents(document: &DocumentSnapshot) -> HashMap<usize, usize> {
    let held = document.nodes.content_document_index.as_ref();
    held.map(|held| held.index.iter().copied().zip(held.value.iter().copied()).collect()).unwrap_or_default()
}

fn round(x: f64, y: f64, width: f64, height: f64) -> Rect {
    #[expect(clippy::cast_possible_truncation, reason = "casts from f64 saturate")]
    let whole = |value: f64| value.round() as i32;
    Rect::new(whole(x), whole(y), whole(width), whole(height))
}

/// The position of a node in the assembled tree.
#[derive(Clone, Copy)]
struct NodePlace {
    parent: Option<u32>,
    depth: u32,
}

/// Joins the frames' trees into one.
struct Assembly<'a> {
    readings: &'a FrameReadings,
    refs: &'a mut Refs,
    budget: &'a TreeBudget,
    /// For each frame, its nodes by id.
    nodes: Vec<HashMap<&'a str, &'a AxNode>>,
    /// Frames by the element that contains them.
    shown_by: HashMap<(&'a str, i64), usize>,
    tree: UiTree,
}

impl<'a> Assembly<'a> {
    fn of(readings: &'a FrameReadings, refs: &'a mut Refs, budget: &'a TreeBudget) -> Self {
        let by_id = |reading: &'a FrameReading| -> HashMap<&'a str, &'a AxNode> {
            reading.nodes.iter().map(|node| (node.node_id.as_str(), node)).collect()
        };
        let nodes = readings.frames.iter().map(by_id).collect();
        let owned = readings.frames.iter().enumerate().filter_map(|(index, reading)| {
            reading.owner.as_ref().map(|(frame, node)| ((frame.as_str(), *node), index))
        });
        Self { readings, refs, budget, nodes, shown_by: owned.collect(), tree: UiTree::default() }
    }

    fn run(mut self) -> UiTree {
        // Depth first with an explicit stack: pages may nest deeper than the thread's stack allows.
        let mut stack = Vec::new();
        if let Some(root) = self.readings.frames.first().and_then(|frame| frame.nodes.first()) {
            stack.push((0, root, NodePlace { parent: None, depth: 0 }));
        }
        while let Some((frame, node, place)) = stack.pop() {
            let below = if is_shown(node) {
                if self.tree.nodes.len() >= self.budget.nodes as usize {
                    self.tree.truncated = Some(TruncationCause::Nodes);
                    break;
                }
                if place.depth >= self.budget.depth {
                    self.tree.truncated = Some(TruncationCause::Depth);
                    continue;
                }
                self.add(frame, node, place)
            } else {
                place
            };
            self.push_children(&mut stack, frame, node, below);
        }
        self.tree.keep_one_focus();
        self.tree
    }

    fn push_children(
        &self,
        stack: &mut Vec<(usize, &'a AxNode, NodePlace)>,
        frame: usize,
        node: &'a AxNode,
        place: NodePlace,
    ) {
        let reading = &self.readings.frames[frame];
        let owned = node.backend_dom_node_id.map(|id| (reading.frame.id.as_str(), id));
        if let Some(inner) = owned.and_then(|key| self.shown_by.get(&key)) {
            stack.extend(self.readings.frames[*inner].nodes.first().map(|root| (*inner, root, place)));
        }
        let children = node.child_ids.iter().rev().filter_map(|id| self.nodes[frame].get(id.as_str()));
        stack.extend(children.map(|child| (frame, *child, place)));
    }

    /// Adds a node and returns the place of its children.
    fn add(&mut self, frame: usize, node: &AxNode, place: NodePlace) -> NodePlace {
        let reading = &self.readings.frames[frame];
        let name = text(node.name.as_ref().map(|name| &name.value));
        let role = role(node);
        let parent = place.parent.and_then(|parent| self.tree.nodes.get(parent as usize));
        // The text of a button is already its name.
        if role == "text"
            && (name.trim().is_empty() || parent.is_some_and(|up| up.name.contains(name.trim())))
        {
            return place;
        }
        let Some(id) = node.backend_dom_node_id else { return place };
        let key = NodeKey {
            session: reading.session.clone(),
            frame: reading.frame.id.clone(),
            loader: reading.frame.loader_id.clone(),
            node: id,
        };
        let bounds = self.readings.boxes.get(&(reading.session.clone(), id)).copied();
        self.tree.nodes.push(UiNode {
            id: self.refs.name(key, &role, &name),
            parent: place.parent,
            name,
            value: value(node, &role),
            visible: None,
            details: Vec::new(),
            states: states(node, &role),
            bounds: bounds.filter(|bounds| bounds.width > 0 && bounds.height > 0),
            role: Role::new(role),
        });
        let index = u32::try_from(self.tree.nodes.len() - 1).ok();
        NodePlace { parent: index, depth: place.depth + 1 }
    }
}

fn is_shown(node: &AxNode) -> bool {
    let role = node.role.as_ref().and_then(|role| role.value.as_str()).unwrap_or("none").to_lowercase();
    let acts = || property(node, "focusable").is_some_and(is_true);
    let named =
        || node.name.as_ref().is_some_and(|name| name.value.as_str().is_some_and(|name| !name.is_empty()));
    !node.ignored && (!SKIPPED.contains(&role.as_str()) || (role == "generic" && (acts() || named())))
}

fn role(node: &AxNode) -> String {
    let own = node.role.as_ref().and_then(|role| role.value.as_str()).unwrap_or("generic").to_lowercase();
    let known = ROLES.iter().find(|(chromium, _)| *chromium == own);
    known.map_or(own, |(_, aria)| (*aria).to_owned())
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn value(node: &AxNode, role: &str) -> Option<String> {
    let own = node.value.as_ref().map(|value| text(Some(&value.value)));
    // An empty text box is worth reporting; any other empty value is not.
    own.filter(|value| !value.is_empty())
        .or_else(|| matches!(role, "textbox" | "searchbox").then(String::new))
}

fn property<'a>(node: &'a AxNode, name: &str) -> Option<&'a Value> {
    node.properties.iter().find(|property| property.name == name).map(|property| &property.value.value)
}

/// Properties are booleans or words.
fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str() == Some("true"))
}

fn states(node: &AxNode, role: &str) -> BTreeSet<State> {
    let mut states = BTreeSet::new();
    let has = |name: &str| property(node, name).is_some_and(is_true);
    let mut set = |on: bool, state: State| {
        if on {
            states.insert(state);
        }
    };
    if role == "document" {
        set(has("focused"), State::Active);
    } else {
        set(has("focused"), State::Focused);
    }
    set(has("disabled"), State::Disabled);
    set(has("selected"), State::Selected);
    set(has("modal"), State::Modal);
    set(has("hidden"), State::Hidden);
    set(property(node, "editable").is_some() && !has("readonly"), State::Editable);
    for name in ["checked", "pressed"] {
        if let Some(value) = property(node, name) {
            // A checkbox in the mixed state is neither checked nor unchecked.
            set(is_true(value), State::Checked);
            set(!is_true(value), State::Unchecked);
        }
    }
    if let Some(expanded) = property(node, "expanded") {
        set(is_true(expanded), State::Expanded);
        set(!is_true(expanded), State::Collapsed);
    }
    states
}

/// The tree of a page that is blocked by a dialog: only the dialog, because the page can neither be read nor used.
pub(super) fn dialog_tree(message: String) -> UiTree {
    let node = UiNode {
        id: NodeRef("dialog".to_owned()),
        parent: None,
        role: Role::new("alertdialog"),
        name: message,
        value: None,
        visible: None,
        details: Vec::new(),
        states: BTreeSet::from([State::Modal]),
        bounds: None,
    };
    UiTree { nodes: vec![node], truncated: None }
}
