//! Where the nodes of a page are drawn in the tab: through frames with their scale, and cut by what scrolls. Pure.

mod suggestions;
mod undrawn;

use std::collections::{HashMap, HashSet};

use apprentice_cdp::domain::dom::{DocumentSnapshot, Snapshot, SnapshotNodes};
use apprentice_protocol::Rect;

use undrawn::{Drawn, StandIn};

/// The styles that decide which part of a box shows, and the pointer over it.
pub(super) const STYLES: [&str; 4] = ["overflow-x", "overflow-y", "position", "cursor"];
/// How the names of the pointers end under which something is made larger or smaller (CSS Basic User Interface 4, 8.1.1).
const RESIZES: &str = "-resize";

/// A rectangle in pixels of the tab.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// A point in pixels of a document's window. That of the tab's own document is the tab.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TabPoint {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The size of the window onto a document, in its own pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WindowSize {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// How the coordinates of a document become those of the tab. Rotation is left out: areas stay upright.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placement {
    x: f64,
    y: f64,
    across: f64,
    down: f64,
}

/// The window onto a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) place: Placement,
    /// Which part of the tab it fills.
    pub(super) shown: Area,
    /// Whether it is a frame, which hides what it cuts off; what the tab's own window cuts off is beyond the screen.
    pub(super) is_frame: bool,
}

/// The element that contains a frame, and the corners of what it shows, in the coordinates of its process's viewport.
#[derive(Clone, Debug)]
pub(super) struct FrameOwner {
    pub(super) node: i64,
    pub(super) corners: Vec<f64>,
}

/// Where the nodes of a session's documents are drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// What shows of each node, or all of it where nothing does: then it lies outside of the screen, or `hidden` has it.
    pub(super) boxes: HashMap<i64, Area>,
    /// Nodes with a box of which an element that scrolls shows nothing.
    pub(super) hidden: HashSet<i64>,
    /// Nodes whose own box never shows, with what holds them and shows.
    pub(super) stand_ins: HashMap<i64, StandIn>,
    /// What fields suggest: the node of each suggestion and what it enters.
    pub(super) suggestions: HashMap<i64, Vec<(i64, String)>>,
    /// Nodes that hear clicks, without the edges by which something is made larger: tables put one beside each cell, and draw nothing
    /// of it (Tabulator 6).
    pub(super) clickable: HashSet<i64>,
    /// Canvases, which no accessibility tree lists, with what holds each of them, the nearest first.
    pub(super) canvases: Vec<(i64, Vec<i64>)>,
    /// The nodes of each document, by its frame: those on the screen with what holds them, then the others, the nearest first.
    pub(super) order: HashMap<String, NodeOrder>,
    /// How many nodes the documents have.
    pub(super) size: usize,
}

/// The nodes of a document that have a box.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeOrder {
    pub(super) on_screen: Vec<i64>,
    pub(super) others: Vec<i64>,
}

impl Area {
    const EVERYWHERE: Self =
        Self { left: f64::NEG_INFINITY, top: f64::NEG_INFINITY, right: f64::INFINITY, bottom: f64::INFINITY };

    pub(super) fn new(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self { left, top, right: left + width, bottom: top + height }
    }

    /// The area of corners: x and y, one after the other.
    fn around(corners: &[f64]) -> Self {
        let span = |from: usize| {
            corners
                .iter()
                .skip(from)
                .step_by(2)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                    (low.min(*value), high.max(*value))
                })
        };
        let ((left, right), (top, bottom)) = (span(0), span(1));
        Self { left, top, right, bottom }
    }

    fn meet(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// Whether nothing of it shows.
    pub(super) fn is_empty(self) -> bool {
        self.right - self.left < 0.5 || self.bottom - self.top < 0.5
    }

    pub(super) fn rect(self) -> Rect {
        #[expect(clippy::cast_possible_truncation, reason = "casts from f64 saturate")]
        let whole = |value: f64| value.round() as i32;
        Rect::new(
            whole(self.left),
            whole(self.top),
            whole(self.right - self.left),
            whole(self.bottom - self.top),
        )
    }
}

impl Placement {
    /// That of the tab's own document.
    pub(super) const TAB: Self = Self { x: 0.0, y: 0.0, across: 1.0, down: 1.0 };

    /// That of a frame's document, from where its owner shows it and its own size.
    pub(super) fn within(self, corners: &[f64], size: WindowSize) -> Self {
        let shown = self.area(Area::around(corners));
        let scale = |shown: f64, own: f64| if own > 0.0 && shown.is_finite() { shown / own } else { 1.0 };
        Self {
            x: shown.left,
            y: shown.top,
            across: scale(shown.right - shown.left, size.width),
            down: scale(shown.bottom - shown.top, size.height),
        }
    }

    fn area(self, area: Area) -> Area {
        Area {
            left: self.x + area.left * self.across,
            top: self.y + area.top * self.down,
            right: self.x + area.right * self.across,
            bottom: self.y + area.bottom * self.down,
        }
    }
}

/// The size of the window onto a session's first document.
pub(super) fn window_size(snapshot: &Snapshot) -> WindowSize {
    snapshot.documents.first().and_then(document_size).unwrap_or_default()
}

/// The size of the window onto a document: that of its own box.
fn document_size(document: &DocumentSnapshot) -> Option<WindowSize> {
    let first = document.layout.node_index.first().filter(|node| **node == 0)?;
    let bounds = document.layout.bounds.get(*first)?;
    Some(WindowSize { width: *bounds.get(2)?, height: *bounds.get(3)? })
}

impl Layout {
    /// The layout of a session's documents. `window` is that of its first document, `owners` are the elements that contain the
    /// others, by frame.
    pub(super) fn of(snapshot: &Snapshot, window: Window, owners: &HashMap<String, FrameOwner>) -> Self {
        let mut layout = Self::default();
        for (index, document) in snapshot.documents.iter().enumerate() {
            layout.size += document.nodes.backend_node_id.len();
            let frame = snapshot.text(document.frame_id).unwrap_or_default();
            let window = match owners.get(frame).filter(|_| index > 0) {
                None if index > 0 => continue,
                None => window,
                Some(owner) => {
                    layout.frame_window(window, owner, document_size(document).unwrap_or_default())
                }
            };
            let order = layout.add(snapshot, document, window);
            layout.order.insert(frame.to_owned(), order);
        }
        layout
    }

    /// The window of a frame whose owner stands in a document of this layout. `outer` is that of the session, `size` the frame's
    /// own.
    pub(super) fn frame_window(&self, outer: Window, owner: &FrameOwner, size: WindowSize) -> Window {
        let place = outer.place.within(&owner.corners, size);
        let holder = self.boxes.get(&owner.node).filter(|_| !self.hidden.contains(&owner.node));
        let content = outer.place.area(Area::around(&owner.corners));
        let shown =
            holder.map_or(Area::new(0.0, 0.0, 0.0, 0.0), |holder| holder.meet(content).meet(outer.shown));
        Window { place, shown, is_frame: true }
    }

    /// Adds a document, and returns the order of its nodes.
    fn add(&mut self, snapshot: &Snapshot, document: &DocumentSnapshot, window: Window) -> NodeOrder {
        let Window { place, shown, .. } = window;
        let nodes = &document.nodes;
        let mut clips = Clips::new(document, window);
        let mut seen = vec![false; nodes.backend_node_id.len()];
        let mut drawn: Vec<usize> = Vec::new();
        let mut known = vec![Drawn { never: true, ..Drawn::default() }; seen.len()];
        let box_of = boxes_of(document);
        let mut edges: HashSet<i64> = HashSet::new();
        for (node, id) in nodes.backend_node_id.iter().enumerate() {
            let number = box_of.get(node).copied().flatten();
            let bounds = number.and_then(|number| document.layout.bounds.get(number));
            let whole = bounds.and_then(|bounds| match bounds.as_slice() {
                [left, top, width, height] => Some(place.area(Area::new(
                    left - document.scroll_offset_x,
                    top - document.scroll_offset_y,
                    *width,
                    *height,
                ))),
                _ => None,
            });
            let styles = number.and_then(|number| document.layout.styles.get(number));
            let style = |which: usize| {
                styles
                    .and_then(|styles| styles.get(which))
                    .and_then(|text| snapshot.text(*text))
                    .unwrap_or_default()
            };
            let within = clips.step(node, whole, [style(0), style(1), style(2)]);
            edges.extend(style(3).ends_with(RESIZES).then_some(*id));
            let Some(whole) = whole else { continue };
            drawn.push(node);
            if nodes.node_name.get(node).and_then(|name| snapshot.text(*name)) == Some("CANVAS") {
                self.canvases.push((*id, holders(nodes, node)));
            }
            let visible = whole.meet(within);
            let on_screen = visible.meet(shown);
            let ends = |start: usize| bounds.map_or(0.0, |bounds| bounds[start] + bounds[start + 2]);
            known[node] = Drawn {
                shows: Some(on_screen).filter(|area| !area.is_empty()),
                has_box: !whole.is_empty(),
                never: whole.is_empty() || ends(0) <= 0.0 || ends(1) <= 0.0,
            };
            if !on_screen.is_empty() {
                self.boxes.insert(*id, on_screen);
                mark_with_holders(nodes, node, &mut seen);
            } else {
                if visible.is_empty() && !whole.is_empty() {
                    self.hidden.insert(*id);
                }
                self.boxes.insert(*id, whole);
            }
        }
        self.suggestions.extend(suggestions::find(snapshot, nodes));
        let undrawn = undrawn::find(snapshot, nodes, &known);
        self.boxes.extend(undrawn.by_contents);
        self.stand_ins.extend(undrawn.by_holders);
        let clickable = nodes.is_clickable.iter().flat_map(|flag| &flag.index);
        let clickable = clickable.filter_map(|node| nodes.backend_node_id.get(*node));
        self.clickable.extend(clickable.filter(|id| !edges.contains(id)));
        order(nodes, &seen, &drawn)
    }
}

/// The number of each node's first box.
fn boxes_of(document: &DocumentSnapshot) -> Vec<Option<usize>> {
    let mut box_of: Vec<Option<usize>> = vec![None; document.nodes.backend_node_id.len()];
    for (number, node) in document.layout.node_index.iter().enumerate() {
        if let Some(slot) = box_of.get_mut(*node)
            && slot.is_none()
        {
            *slot = Some(number);
        }
    }
    box_of
}

/// What holds a node, the nearest first.
fn holders(nodes: &SnapshotNodes, node: usize) -> Vec<i64> {
    let above = |node: usize| nodes.parent_index.get(node).and_then(|parent| usize::try_from(*parent).ok());
    let chain = std::iter::successors(above(node), |at| above(*at));
    chain.filter_map(|at| nodes.backend_node_id.get(at).copied()).collect()
}

/// Marks a node and all that holds it.
fn mark_with_holders(nodes: &SnapshotNodes, node: usize, seen: &mut [bool]) {
    let mut at = Some(node);
    while let Some(node) = at {
        let Some(slot) = seen.get_mut(node).filter(|slot| !**slot) else { return };
        *slot = true;
        at = nodes.parent_index.get(node).and_then(|parent| usize::try_from(*parent).ok());
    }
}

fn order(nodes: &SnapshotNodes, seen: &[bool], drawn: &[usize]) -> NodeOrder {
    let id = |node: &usize| nodes.backend_node_id.get(*node).copied();
    let on_screen: Vec<usize> = (0..seen.len()).filter(|node| seen[*node]).collect();
    let last = on_screen.last().copied().unwrap_or_default();
    let off = || drawn.iter().copied().filter(|node| !seen[*node]);
    // What follows on the screen is wanted sooner than what came before it.
    let after: Vec<usize> = off().filter(|node| *node > last).collect();
    let before: Vec<usize> = off().filter(|node| *node < last).collect();
    let others = after.iter().chain(before.iter().rev());
    NodeOrder {
        on_screen: on_screen.iter().filter_map(id).collect(),
        others: others.filter_map(id).collect(),
    }
}

/// The areas within which the nodes below each node show.
struct Clips<'a> {
    document: &'a DocumentSnapshot,
    window: Window,
    /// For what stands in the flow of the text.
    flow: Vec<Area>,
    /// For what is placed from the nearest holder that has a place of its own.
    placed: Vec<Area>,
}

impl<'a> Clips<'a> {
    fn new(document: &'a DocumentSnapshot, window: Window) -> Self {
        let count = document.nodes.backend_node_id.len();
        Self { document, window, flow: Vec::with_capacity(count), placed: Vec::with_capacity(count) }
    }

    /// Takes the next node, and returns the area within which it shows.
    fn step(&mut self, node: usize, whole: Option<Area>, [across, down, position]: [&str; 3]) -> Area {
        let open = if self.window.is_frame { self.window.shown } else { Area::EVERYWHERE };
        let parents = &self.document.nodes.parent_index;
        let parent = parents.get(node).and_then(|parent| usize::try_from(*parent).ok());
        let of = |areas: &[Area]| parent.and_then(|parent| areas.get(parent).copied()).unwrap_or(open);
        let within = match position {
            "fixed" => self.window.shown,
            "absolute" => of(&self.placed),
            _ => of(&self.flow),
        };
        // What the first two elements cut off, the window scrolls to.
        let is_page = parent.is_none_or(|parent| parents.get(parent).is_none_or(|above| *above <= 0));
        let cuts = |overflow: &str| !matches!(overflow, "" | "visible");
        let mut below = within;
        if let Some(whole) = whole.filter(|_| !is_page) {
            if cuts(across) {
                (below.left, below.right) = (below.left.max(whole.left), below.right.min(whole.right));
            }
            if cuts(down) {
                (below.top, below.bottom) = (below.top.max(whole.top), below.bottom.min(whole.bottom));
            }
        }
        let placed = if matches!(position, "" | "static") { of(&self.placed) } else { below };
        self.flow.push(below);
        self.placed.push(placed);
        within
    }
}

#[cfg(test)]
mod tests;
