//! Joins the accessibility trees of all frames into one interface tree.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;

use apprentice_cdp::domain::accessibility::AxNode;
use apprentice_protocol::{NodeRef, Rect, Role, Size, State, TreeBudget, TruncationCause, UiNode, UiTree};
use serde_json::Value;

use super::driver::{ActionError, Browser};
use super::frame_reading::{FrameReading, FrameReadings, Reach};
use super::node_refs::{NodeKey, Refs};

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

/// The role of what draws by itself.
const CANVAS: &str = "canvas";

/// Roles of what holds a value.
const FIELDS: &[&str] =
    &["textbox", "searchbox", "combobox", "spinbutton", "slider", "checkbox", "radio", "switch"];

/// Roles of no use to a model: fragments of text, and layout boxes.
const SKIPPED: &[&str] =
    &["inlinetextbox", "linebreak", "listmarker", "none", "generic", "ignored", "labeltext", "menulistpopup"];

impl Browser {
    /// Reads the interface of the active tab within the budget, what is on the screen first.
    pub(super) async fn tree(&self, budget: &TreeBudget) -> Result<UiTree, ActionError> {
        let front = self.front()?;
        if let Some(dialog) = front.dialog {
            return Err(ActionError::Dialog(dialog));
        }
        let parts = self.watch().with(|pages| pages.sessions_of(&front.session));
        let readings = Mutex::new(FrameReadings::default());
        let read = self.read_parts(&parts, budget, &readings);
        let in_time = match tokio::time::timeout(budget.time(), read).await {
            Ok(done) => done.map(|()| true)?,
            Err(_) => false,
        };
        let mut readings = readings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !in_time && readings.frames.iter().all(|frame| frame.nodes.is_empty()) {
            // A tree that took too long was read at once. Its nodes on the screen are read one by one, without the rest.
            let again = Mutex::new(FrameReadings::default());
            self.note_slow(&front.session);
            let nearest = TreeBudget { nodes: 0, ..*budget };
            drop(tokio::time::timeout(budget.time(), self.read_parts(&parts, &nearest, &again)).await);
            readings = again.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            // No element at all is no finding about a page that is stopped: a check could take it for an empty one.
            if readings.frames.iter().all(|frame| frame.nodes.is_empty()) {
                self.must_live(&front.session).await?;
            }
        }
        let (mut tree, stood_for) = Assembly::of(&readings, &mut self.refs(), budget).run();
        prune(&mut tree, budget.nodes as usize, self.size);
        if !in_time {
            tree.truncated = Some(TruncationCause::Time);
        } else if readings.reach == Reach::Part {
            tree.truncated = Some(TruncationCause::Nodes);
        }
        let rows = crate::rows::texts(&tree);
        {
            let mut refs = self.refs();
            for (index, texts) in rows {
                if let Some(node) = tree.nodes.get(index) {
                    refs.stands_in(&node.id, texts);
                }
            }
        }
        self.add_drawn_texts(&mut tree, &stood_for).await?;
        Ok(tree)
    }
}

/// Leaves as many nodes as the budget allows: those on the screen with what holds them, then the others in order.
fn prune(tree: &mut UiTree, most: usize, screen: Size) {
    if tree.nodes.len() <= most {
        return;
    }
    tree.truncated = Some(TruncationCause::Nodes);
    let screen = Rect::new(0, 0, screen.width.cast_signed(), screen.height.cast_signed());
    let mut kept = vec![false; tree.nodes.len()];
    let mut left = most;
    let mut keep = |index: usize, kept: &mut Vec<bool>| {
        let chain =
            std::iter::successors(Some(index), |at| tree.nodes[*at].parent.map(|parent| parent as usize));
        let fresh: Vec<usize> = chain.take_while(|at| !kept[*at]).collect();
        if fresh.len() <= left {
            left -= fresh.len();
            fresh.into_iter().for_each(|at| kept[at] = true);
        }
    };
    let is_on = |node: &UiNode| node.bounds.is_some_and(|bounds| bounds.overlaps(&screen));
    (0..tree.nodes.len()).filter(|index| is_on(&tree.nodes[*index])).for_each(|index| keep(index, &mut kept));
    (0..tree.nodes.len()).for_each(|index| keep(index, &mut kept));
    let mut place = vec![None; kept.len()];
    let mut next = 0;
    for (index, slot) in place.iter_mut().enumerate().filter(|(index, _)| kept[*index]) {
        *slot = Some(next);
        next += u32::from(kept[index]);
    }
    let mut index = 0;
    tree.nodes.retain(|_| {
        index += 1;
        kept[index - 1]
    });
    for node in &mut tree.nodes {
        node.parent = node.parent.and_then(|parent| place.get(parent as usize).copied().flatten());
    }
}

/// The canvases that have no node in a tree, by frame and the nearest node that holds them.
fn canvases(readings: &FrameReadings) -> HashMap<(usize, i64), Vec<i64>> {
    let mut found: HashMap<(usize, i64), Vec<i64>> = HashMap::new();
    for (index, frame) in readings.frames.iter().enumerate() {
        let all = readings.canvases(&frame.session);
        if all.is_empty() {
            continue;
        }
        let known: HashSet<i64> = frame.nodes.iter().filter_map(|node| node.backend_dom_node_id).collect();
        for (canvas, holders) in all.iter().filter(|(canvas, _)| !known.contains(canvas)) {
            if let Some(holder) = holders.iter().find(|holder| known.contains(holder)) {
                found.entry((index, *holder)).or_default().push(*canvas);
            }
        }
    }
    found
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
    /// Canvases that no tree lists, by their frame and the nearest node of it that holds them.
    canvases: HashMap<(usize, i64), Vec<i64>>,
    tree: UiTree,
    /// Fields that are never drawn themselves, where something stands for them.
    stood_for: Vec<NodeRef>,
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
        let shown_by = owned.collect();
        let canvases = canvases(readings);
        let (tree, stood_for) = (UiTree::default(), Vec::new());
        Self { readings, refs, budget, nodes, shown_by, canvases, tree, stood_for }
    }

    fn run(mut self) -> (UiTree, Vec<NodeRef>) {
        // Depth first with an explicit stack: pages may nest deeper than the thread's stack allows.
        let mut stack = Vec::new();
        if let Some(root) = self.readings.frames.first().and_then(|frame| frame.nodes.first()) {
            stack.push((0, root, NodePlace { parent: None, depth: 0 }));
        }
        while let Some((frame, node, place)) = stack.pop() {
            let below = if is_shown(node) || self.is_bare_target(frame, node) {
                if place.depth >= self.budget.depth {
                    self.tree.truncated = Some(TruncationCause::Depth);
                    continue;
                }
                self.add(frame, node, place)
            } else {
                place
            };
            self.add_canvases(frame, node, below);
            self.push_children(&mut stack, frame, node, below);
        }
        self.tree.keep_one_focus();
        self.tree.bound_texts();
        (self.tree, self.stood_for)
    }

    /// Adds the canvases that a node holds.
    fn add_canvases(&mut self, frame: usize, node: &AxNode, place: NodePlace) {
        let held = node.backend_dom_node_id.and_then(|id| self.canvases.remove(&(frame, id)));
        let reading = &self.readings.frames[frame];
        for id in held.into_iter().flatten() {
            let Some(bounds) = self.readings.bounds(&reading.session, id) else { continue };
            let key = NodeKey {
                session: reading.session.clone(),
                frame: reading.frame.id.clone(),
                loader: reading.frame.loader_id.clone(),
                node: id,
            };
            self.tree.nodes.push(UiNode {
                id: self.refs.name(key, CANVAS, ""),
                parent: place.parent,
                role: Role::new(CANVAS),
                name: String::new(),
                value: None,
                visible: None,
                details: Vec::new(),
                states: BTreeSet::new(),
                bounds: Some(bounds),
            });
        }
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

    /// Whether a node hears clicks without a role, a name or anything listed in it: an icon that is drawn as a background.
    fn is_bare_target(&self, frame: usize, node: &'a AxNode) -> bool {
        let reading = &self.readings.frames[frame];
        let hears = node.backend_dom_node_id.is_some_and(|id| {
            self.readings.is_clickable(&reading.session, id)
                && self.readings.bounds(&reading.session, id).is_some()
        });
        let named = node.name.as_ref().is_some_and(|name| !text(Some(&name.value)).is_empty());
        hears
            && !named
            && !node.ignored
            && matches!(role(node).as_str(), "generic" | "none" | "img" | "group" | "graphics-symbol")
            && !self.holds_shown(frame, node)
    }

    /// Whether something is listed below a node.
    fn holds_shown(&self, frame: usize, node: &'a AxNode) -> bool {
        let mut waiting: Vec<&AxNode> = vec![node];
        let mut looked = 0;
        while let Some(node) = waiting.pop() {
            let below = node.child_ids.iter().filter_map(|id| self.nodes[frame].get(id.as_str()));
            for child in below {
                looked += 1;
                let says = is_shown(child)
                    && (role(child) != "img"
                        || !text(child.name.as_ref().map(|name| &name.value)).is_empty());
                if says || looked > 50 {
                    return true;
                }
                waiting.push(child);
            }
        }
        false
    }

    /// Adds a node and returns the place of its children.
    fn add(&mut self, frame: usize, node: &'a AxNode, place: NodePlace) -> NodePlace {
        let reading = &self.readings.frames[frame];
        let mut name = text(node.name.as_ref().map(|name| &name.value));
        let mut role = role(node);
        if self.is_bare_target(frame, node) {
            "clickable".clone_into(&mut role);
            name = text(node.description.as_ref().map(|told| &told.value));
        }
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
        // A drawn field may hear keys by an input that is not drawn, and is pointed at itself.
        let is_field = FIELDS.contains(&role.as_str());
        let stand_in = is_field.then(|| self.readings.stand_in(reading, id)).flatten();
        let bounds = stand_in.or_else(|| self.readings.bounds(&reading.session, id));
        let suggested =
            if role == "combobox" { self.readings.suggestions(&reading.session, id) } else { &[] };
        let id = self.refs.name(key.clone(), &role, &name);
        self.stood_for.extend(stand_in.map(|_| id.clone()));
        self.tree.nodes.push(UiNode {
            id,
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
        for (node, text) in suggested {
            let id = self.refs.name(NodeKey { node: *node, ..key.clone() }, "option", text);
            self.tree.nodes.push(UiNode::new(id.0, index, "option", text.clone()));
        }
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

/// The role and the name of a node, as a tree tells them.
pub(super) fn named_role(node: &AxNode) -> (String, String) {
    (role(node), text(node.name.as_ref().map(|name| &name.value)))
}

fn role(node: &AxNode) -> String {
    let own = node.role.as_ref().and_then(|role| role.value.as_str()).unwrap_or("generic").to_lowercase();
    // An element that is edited in place has no role unless its page gives it one: what takes the focus is the field.
    let is_edited =
        || property(node, "editable").is_some() && property(node, "focusable").is_some_and(is_true);
    if matches!(own.as_str(), "generic" | "none") && is_edited() {
        return "textbox".to_owned();
    }
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
        states: BTreeSet::from([State::Modal]),
        ..UiNode::new("dialog", None, "alertdialog", message)
    };
    UiTree { nodes: vec![node], truncated: None }
}
