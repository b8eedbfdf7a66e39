//! The cell's accessibility bus, and the references given out for objects on it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use apprentice_protocol::{Capability, NodeRef, Rect, UiNode};
use atspi::Role as BusRole;
use atspi::zbus::Connection;

use super::node::Address;
use super::open_menus::OpenMenus;
use super::peers::Peers;
use super::tree_memory::{Program, TreeMemory};
use crate::wire::OperationError;

/// The cell's accessibility bus, once it is connected.
#[derive(Default)]
pub(super) struct Bus {
    peers: RefCell<Option<Peers>>,
    pub(super) refs: RefCell<Refs>,
    /// Menus that no list of children holds.
    pub(super) open_menus: OpenMenus,
    /// The programs of the last walk, by their bus names.
    pub(super) programs: RefCell<HashMap<String, Program>>,
    /// What the last walk of a view read.
    pub(super) memory: RefCell<TreeMemory>,
    /// Number of walks that use the memory.
    turns: Cell<u64>,
}

impl Bus {
    /// Uses this connection from now on.
    pub(super) fn attach(&self, connection: Option<Connection>) {
        if let Some(bus) = &connection {
            self.open_menus.listen(bus.clone());
        }
        *self.peers.borrow_mut() = connection.map(Peers::new);
    }

    /// Counts a walk that uses the memory, and returns its number.
    pub(super) fn next_turn(&self) -> u64 {
        self.turns.set(self.turns.get() + 1);
        self.turns.get()
    }

    /// Returns whether no walk has begun since this one.
    pub(super) fn is_turn(&self, turn: u64) -> bool {
        self.turns.get() == turn
    }

    /// Returns the way to the programs.
    pub(super) fn peers(&self) -> Result<Peers, OperationError> {
        self.peers.borrow().clone().ok_or(OperationError::Unsupported(Capability::Tree))
    }
}

/// What was seen of an element's place when it was last listed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenPlace {
    /// Whether it was an option of a closed list.
    pub(super) closed: bool,
    /// How far from where it is told it was drawn.
    pub(super) shift: (i32, i32),
}

impl SeenPlace {
    /// Where something is drawn that is told to lie elsewhere.
    pub(super) fn shifted(self, told: Rect) -> Rect {
        let (dx, dy) = self.shift;
        Rect { x: told.x.saturating_add(dx), y: told.y.saturating_add(dy), ..told }
    }
}

/// References given out during the life of the cell.
#[derive(Default)]
pub(super) struct Refs {
    /// Roles of objects, which never change.
    pub(super) roles: HashMap<Address, BusRole>,
    /// Vertical corrections in pixels, for objects that report a position above their real one.
    lower: HashMap<Address, i32>,
    given: HashMap<Address, u64>,
    known: HashMap<u64, Address>,
    /// References of cells by their table and their address in it: a spreadsheet makes new objects for the same cell.
    cells: HashMap<(Address, String), u64>,
    /// The reference that stood last in each place of a window.
    paths: HashMap<u64, u64>,
    /// What was found at an address when it was last given a reference.
    kinds: HashMap<Address, BusRole>,
    /// The window that each reference lay in when it was last seen.
    windows: HashMap<u64, Address>,
    /// What was seen of their places.
    seen: HashMap<u64, SeenPlace>,
    /// Where check boxes of lists stood in the last tree: they say that they have no width.
    places: HashMap<NodeRef, Rect>,
    /// What each reference named when it was last seen, and which reference last named that.
    labels: HashMap<u64, String>,
    latest: HashMap<String, u64>,
    count: u64,
}

impl Refs {
    /// Forgets an address where something of another role stands now: its reference named a thing that is gone.
    pub(super) fn forget_other(&mut self, address: &Address, role: BusRole) {
        let before = self.kinds.insert(address.clone(), role);
        if before.is_some_and(|before| before != role)
            && let Some(number) = self.given.remove(address)
        {
            self.known.remove(&number);
        }
    }

    /// Returns the reference of an address, the same one each time.
    pub(super) fn give(&mut self, address: &Address) -> NodeRef {
        let number = self.given.get(address).copied().unwrap_or_else(|| {
            self.count += 1;
            self.given.insert(address.clone(), self.count);
            self.known.insert(self.count, address.clone());
            self.count
        });
        NodeRef(format!("n{number}"))
    }

    /// Returns the reference of an address. A new object that stands in the place of one that is gone takes over its
    /// reference: programs make parts of their windows anew when nothing in them has changed.
    pub(super) fn give_at(&mut self, address: &Address, path: u64, present: &HashSet<&Address>) -> NodeRef {
        let taken_over = if self.given.contains_key(address) { None } else { self.paths.get(&path).copied() };
        let old = taken_over.and_then(|number| Some((number, self.known.get(&number)?.clone())));
        if let Some((number, old)) = old.filter(|(_, old)| !present.contains(old)) {
            self.given.remove(&old);
            self.given.insert(address.clone(), number);
            self.known.insert(number, address.clone());
        }
        let given = self.give(address);
        if let Some(number) = self.given.get(address).copied() {
            self.paths.insert(path, number);
        }
        given
    }

    /// Returns the reference of a cell that its table names by an address such as `B7`, the same one for each object that
    /// has stood for it.
    pub(super) fn give_cell(&mut self, table: &Address, name: &str, address: &Address) -> NodeRef {
        let key = (table.clone(), name.to_owned());
        if let Some(number) = self.cells.get(&key).copied() {
            if self.known.get(&number) != Some(address) {
                self.known.insert(number, address.clone());
                self.given.insert(address.clone(), number);
            }
            return NodeRef(format!("n{number}"));
        }
        let given = self.give(address);
        self.cells.insert(key, self.given.get(address).copied().unwrap_or(self.count));
        given
    }

    /// Remembers where the check boxes of a tree stand.
    pub(super) fn set_places(&mut self, nodes: &[UiNode]) {
        let boxes = nodes.iter().filter(|node| node.role.as_str() == "checkbox");
        self.places = boxes.filter_map(|node| Some((node.id.clone(), node.bounds?))).collect();
    }

    /// Where a check box of a list stands, if it still reports the row that it stood in.
    pub(super) fn place(&self, node: &NodeRef, reported: Rect) -> Option<Rect> {
        let place = self.places.get(node).copied()?;
        (place.y == reported.y && place.height == reported.height).then_some(place)
    }

    /// Records what window an element lies in, and what was seen of its place.
    pub(super) fn set_window(&mut self, node: &NodeRef, window: &Address, seen: SeenPlace) {
        let Some(number) = number(node) else { return };
        self.windows.insert(number, window.clone());
        self.seen.insert(number, seen);
    }

    /// The window that an element lay in when it was last seen.
    pub(super) fn window(&self, node: &NodeRef) -> Option<&Address> {
        self.windows.get(&number(node)?)
    }

    /// What was seen of an element's place.
    pub(super) fn seen_place(&self, node: &NodeRef) -> SeenPlace {
        number(node).and_then(|number| self.seen.get(&number)).copied().unwrap_or_default()
    }

    /// Lets another object stand for the same element.
    pub(super) fn replace(&mut self, node: &NodeRef, address: &Address) {
        if let Some(number) = number(node) {
            self.known.insert(number, address.clone());
            self.given.insert(address.clone(), number);
        }
    }

    /// Records what a reference names.
    pub(super) fn label(&mut self, node: &NodeRef, label: String) {
        if let Some(number) = number(node) {
            self.latest.insert(label.clone(), number);
            self.labels.insert(number, label);
        }
    }

    /// What a reference named, and the reference that names the like now, if it is another.
    pub(super) fn successor(&self, node: &NodeRef) -> Option<(&str, NodeRef)> {
        let old = number(node)?;
        let label = self.labels.get(&old)?;
        let new = self.latest.get(label).copied().filter(|new| *new != old)?;
        Some((label, NodeRef(format!("n{new}"))))
    }

    /// Records that an object lies lower than it reports, by this many pixels.
    pub(super) fn set_vertical_correction(&mut self, address: &Address, by: i32) {
        if by == 0 {
            self.lower.remove(address);
        } else {
            self.lower.insert(address.clone(), by);
        }
    }

    /// How much lower an object lies than it reports, in pixels.
    pub(super) fn vertical_correction(&self, address: &Address) -> i32 {
        self.lower.get(address).copied().unwrap_or_default()
    }

    /// The address behind a reference given out earlier.
    pub(super) fn find(&self, node: &NodeRef) -> Option<&Address> {
        self.known.get(&number(node)?)
    }
}

fn number(node: &NodeRef) -> Option<u64> {
    node.0.strip_prefix('n')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use apprentice_protocol::NodeRef;
    use atspi::Role;

    use super::super::node::Address;
    use super::Refs;

    #[test]
    fn a_reference_names_one_object_for_good() {
        let address = |path: &str| Address { name: ":1.7".into(), path: path.into() };
        let mut refs = Refs::default();
        let first = refs.give(&address("/a"));
        assert_eq!((first.0.as_str(), refs.give(&address("/b")).0.as_str()), ("n1", "n2"));
        assert_eq!(refs.give(&address("/a")), first);
        assert_eq!(refs.find(&first), Some(&address("/a")));
        let table = address("/table");
        let cell = refs.give_cell(&table, "B7", &address("/c1"));
        assert_eq!(refs.give_cell(&table, "B7", &address("/c2")), cell, "the same cell, another object");
        assert_eq!(refs.find(&cell), Some(&address("/c2")));
        assert_ne!(refs.give_cell(&table, "B8", &address("/c3")), cell);
        let (old, new) = (address("/old"), address("/new"));
        let bold = refs.give_at(&old, 7, &HashSet::from([&old]));
        assert_ne!(refs.give_at(&new, 7, &HashSet::from([&old, &new])), bold, "both are there");
        let newest = address("/newest");
        let place = refs.give_at(&newest, 7, &HashSet::from([&newest]));
        assert_eq!(refs.find(&place), Some(&newest), "it stands where a gone one stood");
        assert_eq!(refs.give_at(&newest, 8, &HashSet::from([&newest])), place);
        refs.label(&first, "button \"OK\"".into());
        assert_eq!(refs.successor(&first), None);
        let again = refs.give(&address("/d"));
        refs.label(&again, "button \"OK\"".into());
        assert_eq!(refs.successor(&first), Some(("button \"OK\"", again)));
        let menu = address("/menu");
        refs.forget_other(&menu, Role::MenuItem);
        let item = refs.give(&menu);
        refs.forget_other(&menu, Role::MenuItem);
        assert_eq!(refs.give(&menu), item);
        refs.forget_other(&menu, Role::ColumnHeader);
        assert_ne!(refs.give(&menu), item, "something else has its address now");
        assert_eq!(refs.find(&item), None);
        for unknown in ["n99", "n", "", "1", "n-1", "nn1"] {
            assert_eq!(refs.find(&NodeRef(unknown.into())), None, "{unknown}");
        }
    }
}
