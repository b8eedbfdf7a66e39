//! Builds the tree that is told from the nodes that a walk read.

use std::collections::{HashMap, HashSet};

use apprentice_protocol::{NodeRef, Rect, Role, State, UiNode, UiTree};
use atspi::{Role as BusRole, State as BusState};

use super::bus::{Refs, SeenPlace};
use super::node::Address;
use super::node_reading::Read;
use super::placed_windows::PlacedWindows;
use super::tree_memory::Program;
use super::tree_walk::{FoundNode, Walk};
use super::window_paths::{self, PlacedNode};
use crate::elements::{self, Part};

impl<'a> Walk<'a> {
    /// How much lower each node lies than it reports, in pixels.
    pub(super) fn vertical_corrections(&self) -> Vec<i32> {
        let placed = |found: &FoundNode| {
            let part = match found.read.as_ref().map(|read| read.role) {
                Some(BusRole::Frame) => Part::Window,
                Some(BusRole::MenuBar) => Part::MenuBar,
                Some(BusRole::RootPane) => Part::RootPane,
                Some(BusRole::Filler) => Part::Filler,
                Some(_) | None => Part::Other,
            };
            (part, found.parent, found.read.as_ref().and_then(|read| read.bounds))
        };
        elements::drops(&self.found.iter().map(placed).collect::<Vec<_>>())
    }

    /// What each node is by its place in its window.
    fn paths(&self) -> Vec<u64> {
        window_paths::paths(self.found.iter().map(|found| PlacedNode {
            address: &found.address,
            parent: found.parent,
            read: found.read.as_ref().map(|read| (read.role, read.name.as_str())),
        }))
    }

    /// The table of a cell that is named by its address in a spreadsheet.
    fn table_of(&self, found: &FoundNode) -> Option<&Address> {
        let read = found.read.as_ref().filter(|read| read.role == BusRole::TableCell)?;
        let table = self.found.get(found.parent?)?;
        let manages = table.read.as_ref()?.states.contains(BusState::ManagesDescendants);
        (manages && is_cell_address(&read.name)).then_some(&table.address)
    }

    /// Builds the tree, depth first, from the nodes that answered.
    pub(super) fn finish(mut self, refs: &mut Refs) -> (UiTree, HashMap<String, Program>) {
        let placed = self.placed();
        self.place_programs(&placed);
        let mut nodes: Vec<UiNode> = Vec::new();
        let drops = self.vertical_corrections();
        let paths = self.paths();
        let read = self.found.iter().filter(|found| found.read.is_some());
        let present: HashSet<&Address> = read.map(|found| &found.address).collect();
        let roots = (0..self.found.len()).filter(|index| self.found[*index].parent.is_none());
        let mut stack: Vec<(usize, Option<u32>)> = roots.map(|index| (index, None)).collect();
        stack.reverse();
        while let Some((index, parent)) = stack.pop() {
            let found = &self.found[index];
            let Some(read) = &found.read else { continue };
            let Ok(own) = u32::try_from(nodes.len()) else { break };
            let drop = drops.get(index).copied().unwrap_or_default();
            refs.set_vertical_correction(&found.address, drop);
            refs.forget_other(&found.address, read.role);
            let id = match self.table_of(found) {
                Some(table) => refs.give_cell(table, &read.name, &found.address),
                None => refs.give_at(&found.address, paths.get(index).copied().unwrap_or_default(), &present),
            };
            let mut node = ui_node(id, read, parent, found.hidden);
            if !node.name.is_empty() {
                refs.label(&node.id, format!("{} {:?}", node.role.as_str(), node.name));
            }
            node.bounds = node.bounds.map(|bounds| Rect { y: bounds.y.saturating_add(drop), ..bounds });
            if found.depth > 1
                && node.role.is_window()
                && self.program(&found.address.name).places_closed_lists
            {
                // Qt's frames within a window say that they are windows, too.
                let is_text = found.children.is_empty() && !node.name.is_empty();
                node.role = Role::new(if is_text { "text" } else { "group" });
            }
            let closed = placed.place(index, &mut node, self.program(&found.address.name).placement);
            if let Some(window) = placed.holder(index) {
                let seen = SeenPlace { closed, shift: placed.shift_of(index) };
                refs.set_window(&node.id, &self.found[window].address, seen);
            }
            nodes.push(node);
            stack.extend(found.children.iter().rev().map(|child| (*child, Some(own))));
        }
        elements::correct(&mut nodes);
        refs.set_places(&nodes);
        let mut tree = UiTree { nodes, truncated: self.truncated };
        tree.keep_one_focus();
        (tree, self.programs)
    }

    /// Where its nodes lie.
    fn placed(&self) -> PlacedWindows<'a> {
        let nodes = self
            .found
            .iter()
            .map(|found| (found.parent, self.program(&found.address.name), found.read.as_ref()));
        PlacedWindows::of(&nodes.collect::<Vec<_>>(), self.drawn)
    }

    /// Learns how the places of each program become places on the screen.
    fn place_programs(&mut self, placed: &PlacedWindows<'_>) {
        let found = &self.found;
        for (name, program) in &mut self.programs {
            program.placement = placed.of_program(|index| found[index].address.name == *name);
        }
    }
}

/// Returns whether a name is the address of a cell, such as `B7` or `AA120`.
fn is_cell_address(name: &str) -> bool {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = name.len() - digits.len();
    (1..=3).contains(&letters) && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// Converts a node to the protocol's form.
fn ui_node(id: NodeRef, read: &Read, parent: Option<u32>, hidden: bool) -> UiNode {
    let mut states = elements::states(read.role, read.states);
    if hidden {
        states.insert(State::Hidden);
    }
    let value = read.value.clone().filter(|value| *value != read.name);
    UiNode {
        id,
        parent,
        role: elements::role(read.role, &read.name, read.states),
        name: read.name.clone(),
        value,
        visible: read.visible.clone(),
        details: read.details.clone(),
        bounds: if states.contains(&State::Hidden) { None } else { read.bounds },
        states,
    }
}
