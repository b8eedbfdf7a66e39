//! Nodes without a box of their own that shows: they are drawn by what they hold, or, as the hidden input of a drawn field is, by
//! what holds them.

use std::collections::HashMap;

use apprentice_cdp::domain::dom::{Snapshot, SnapshotNodes};

use super::Area;

/// Elements that are pressed or filled in: what holds one does not stand for another.
const CONTROLS: &[&str] = &["INPUT", "TEXTAREA", "SELECT", "BUTTON", "A", "IFRAME"];
/// What stands for another is at least as wide and high as this, in pixels.
const LEAST: f64 = 8.0;
/// Most controls that are told of what holds a node.
const MOST: usize = 20;

/// What is known of the node with the same number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawn {
    /// What of its own box is on the screen.
    pub(super) shows: Option<Area>,
    /// Whether it has a box with a size.
    pub(super) has_box: bool,
    /// Whether its own box shows nothing wherever the page is scrolled to: there is none, it is empty, or it lies before the
    /// page's beginning.
    pub(super) never: bool,
}

/// What shows in the place of a node.
#[derive(Clone, Debug)]
pub(in crate::env::browser) struct StandIn {
    pub(in crate::env::browser) area: Area,
    /// The other controls that it holds: with one that a person can use, it stands for none.
    pub(in crate::env::browser) others: Vec<i64>,
}

/// Where undrawn nodes are drawn.
#[derive(Debug, Default)]
pub(super) struct Undrawn {
    /// By what they hold.
    pub(super) by_contents: HashMap<i64, Area>,
    /// By what holds them.
    pub(super) by_holders: HashMap<i64, StandIn>,
}

/// Finds where the undrawn nodes of a document are drawn.
pub(super) fn find(snapshot: &Snapshot, nodes: &SnapshotNodes, drawn: &[Drawn]) -> Undrawn {
    let above = |node: usize| nodes.parent_index.get(node).and_then(|parent| usize::try_from(*parent).ok());
    let name =
        |node: usize| nodes.node_name.get(node).and_then(|name| snapshot.text(*name)).unwrap_or_default();
    let mut contents: Vec<Option<Area>> = vec![None; drawn.len()];
    // A node comes after what holds it.
    for (node, own) in drawn.iter().enumerate().rev() {
        let shown = own.shows.or(contents[node]);
        if let Some(parent) = above(node) {
            contents[parent] = join(contents[parent], shown);
        }
    }
    let mut found = Undrawn::default();
    for (node, own) in drawn.iter().enumerate() {
        let Some(id) = nodes.backend_node_id.get(node).filter(|_| own.never && own.shows.is_none()) else {
            continue;
        };
        if let Some(area) = contents[node] {
            found.by_contents.insert(*id, area);
            continue;
        }
        // The first two elements hold the whole page.
        let holders = std::iter::successors(above(node), |at| above(*at));
        let mut holders = holders.take_while(|at| above(*at).and_then(above).and_then(above).is_some());
        let holder = holders.find(|at| drawn[*at].shows.is_some_and(is_large));
        let Some((holder, area)) = holder.and_then(|at| Some((at, drawn[at].shows?))) else { continue };
        let held = (holder + 1..drawn.len()).take_while(|at| above(*at).is_some_and(|above| above >= holder));
        let others = held.filter(|at| *at != node && drawn[*at].has_box && CONTROLS.contains(&name(*at)));
        let others = others.filter_map(|at| nodes.backend_node_id.get(at).copied()).take(MOST).collect();
        found.by_holders.insert(*id, StandIn { area, others });
    }
    found
}

fn is_large(area: Area) -> bool {
    area.right - area.left >= LEAST && area.bottom - area.top >= LEAST
}

fn join(one: Option<Area>, other: Option<Area>) -> Option<Area> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Area {
            left: one.left.min(other.left),
            top: one.top.min(other.top),
            right: one.right.max(other.right),
            bottom: one.bottom.max(other.bottom),
        }),
        (one, other) => one.or(other),
    }
}
