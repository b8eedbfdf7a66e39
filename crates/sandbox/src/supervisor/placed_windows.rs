//! The windows of a walk on the display: where their elements lie, what covers them, and which of them block the rest.

use std::collections::HashMap;

use apprentice_protocol::{Detail, DetailKind, Rect, State, UiNode};
use atspi::{Role as BusRole, State as BusState};

use super::bus::SeenPlace;
use super::node_reading::Read;
use super::top_levels::{self, Placement, ToldWindow};
use super::tree_memory::Program;
use crate::wire::{DrawnWindows, TopLevel};

/// An element that fills a menu has its size, but for so many pixels.
const SAME_SIZE: u32 = 2;

/// A window of the bus that is one of the display.
struct PlacedWindow<'a> {
    drawn: &'a TopLevel,
    placement: Placement,
    cover: Option<&'a TopLevel>,
}

/// Where the nodes of a walk lie.
pub(super) struct PlacedWindows<'a> {
    /// The window of each node, by the number of its node.
    holders: Vec<Option<usize>>,
    windows: HashMap<usize, PlacedWindow<'a>>,
    /// The list whose options each node is one of.
    lists: Vec<Option<usize>>,
    /// How far from where it is told each node is drawn: GTK 4 tells places in a menu as if it began at its button.
    shifts: Vec<(i32, i32)>,
    popups: &'a [Rect],
}

/// A node as it is placed: what holds it, what program it is of, and what was read of it.
pub(super) type WalkedNode<'n> = (Option<usize>, Program, Option<&'n Read>);

/// A window as its program tells of it.
pub(super) fn told<'n>(read: &'n Read, program: &Program) -> ToldWindow<'n> {
    ToldWindow {
        pid: program.pid,
        title: &read.name,
        bounds: read.bounds,
        active: read.states.contains(BusState::Active),
        from_corner: program.tells_from_corner,
    }
}

impl<'a> PlacedWindows<'a> {
    /// Places the nodes of a walk, in which what holds a node comes before it.
    pub(super) fn of(nodes: &[WalkedNode<'_>], drawn: &'a DrawnWindows) -> Self {
        let mut placed = Self {
            holders: Vec::with_capacity(nodes.len()),
            windows: HashMap::new(),
            lists: Vec::with_capacity(nodes.len()),
            shifts: Vec::with_capacity(nodes.len()),
            popups: &drawn.popups,
        };
        for (index, (parent, program, read)) in nodes.iter().enumerate() {
            let is_window = parent.is_some_and(|parent| nodes[parent].0.is_none());
            let holder = if is_window { Some(index) } else { parent.and_then(|at| placed.holders[at]) };
            placed.holders.push(holder);
            let above = parent.and_then(|at| {
                let is_box = nodes[at].2.is_some_and(|read| read.role == BusRole::ComboBox);
                if is_box && nodes[at].1.places_closed_lists { Some(at) } else { placed.lists[at] }
            });
            placed.lists.push(above);
            let found = read.filter(|_| is_window).map(|read| told(read, program));
            let window = found.and_then(|told| Some((told, top_levels::find(told, drawn)?)));
            if let Some((told, window)) = window {
                let placement = top_levels::placement(told, window.bounds);
                let cover = top_levels::cover(window, drawn);
                placed.windows.insert(index, PlacedWindow { drawn: window, placement, cover });
            }
            let above = parent.map_or((0, 0), |parent| placed.shifts[parent]);
            let own = read.filter(|_| program.tells_from_corner && !is_window && above == (0, 0));
            placed.shifts.push(own.and_then(|read| placed.shift(index, read.bounds?)).unwrap_or(above));
        }
        placed
    }

    /// How far from where it is told something is drawn that fills a menu or list of its own.
    fn shift(&self, index: usize, told: Rect) -> Option<(i32, i32)> {
        let window = self.windows.get(&self.holder(index)?)?;
        let at = window.placement.apply(told);
        let fills = |popup: &&Rect| {
            popup.width.abs_diff(at.width) <= SAME_SIZE && popup.height.abs_diff(at.height) <= SAME_SIZE
        };
        let popup = self.popups.iter().find(fills)?;
        Some((popup.x.saturating_sub(at.x), popup.y.saturating_sub(at.y)))
    }

    /// How far from where it is told a node is drawn.
    pub(super) fn shift_of(&self, index: usize) -> (i32, i32) {
        self.shifts.get(index).copied().unwrap_or_default()
    }

    /// The factor that holds for a program, by one of its windows.
    pub(super) fn of_program(&self, is_of_it: impl Fn(usize) -> bool) -> Placement {
        let mut windows = self.windows.iter().filter(|(index, _)| is_of_it(**index));
        windows.next().map_or(Placement::AS_TOLD, |(_, window)| window.placement.of_program())
    }

    /// The number of the window that holds a node.
    pub(super) fn holder(&self, index: usize) -> Option<usize> {
        self.holders.get(index).copied().flatten()
    }

    /// Makes a node say where it lies on the screen, and a window what covers it and whether it blocks the rest. Returns whether it
    /// is an option of a list that is closed.
    pub(super) fn place(&self, index: usize, node: &mut UiNode, program: Placement) -> bool {
        let holder = self.holder(index);
        let window = holder.and_then(|holder| self.windows.get(&holder));
        let placement = window.map_or(program, |window| window.placement);
        let seen = SeenPlace { closed: false, shift: self.shift_of(index) };
        node.bounds = node.bounds.map(|bounds| seen.shifted(placement.apply(bounds)));
        if let Some(window) = window.filter(|_| holder == Some(index)) {
            if window.drawn.modal {
                node.states.insert(State::Modal);
            }
            if let Some(cover) = window.cover {
                node.details.push(Detail { kind: DetailKind::CoveredBy, text: cover.title.clone() });
            }
        }
        let list = self.lists.get(index).copied().flatten();
        let closed = list.is_some()
            && node.role.as_str() != "textbox"
            && node.bounds.is_some_and(|bounds| !top_levels::is_drawn_apart(bounds, self.popups));
        if closed {
            node.states.insert(State::Hidden);
            node.states.remove(&State::Focused);
            node.bounds = None;
        }
        closed
    }
}
