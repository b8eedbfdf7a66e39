//! The walk over the accessibility bus, within budgets.
//!
//! What is showing is read before what is hidden, so that closed menus never use up the budget. Requests
//! go out many at a time, each with a deadline of its own. A node that manages its descendants (a
//! spreadsheet says it has billions) is never asked for all of them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use apprentice_protocol::{Capability, Rect, State, TreeBudget, Truncated, UiNode, UiTree};
use atspi::zbus::Connection;
use atspi::zbus::zvariant::OwnedObjectPath;
use atspi::{CacheItem, Role as BusRole, State as BusState, StateSet};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::node::{self, ACCESSIBLE, Address, COMPONENT, Miss, Refs, TABLE};
use super::role;
use crate::cell::wire::Fault;

/// So many nodes are read at once.
const IN_FLIGHT: usize = 32;
/// So many children of one node are followed.
const CHILD_LIMIT: usize = 1000;
/// So many descendants of a node that manages them itself are read one by one.
const MANAGED_LIMIT: i32 = 400;

/// The accessibility bus of the cell, once there is one.
#[derive(Default)]
pub(super) struct Bus {
    connection: RefCell<Option<Connection>>,
    pub(super) refs: RefCell<Refs>,
}

/// A node as the walk finds it.
struct Found {
    address: Address,
    parent: Option<usize>,
    depth: u32,
    hidden: bool,
    read: Option<Read>,
    children: Vec<usize>,
}

/// What a node says of itself.
struct Read {
    name: String,
    role: BusRole,
    states: StateSet,
    bounds: Option<Rect>,
    value: Option<String>,
    children: Vec<Address>,
}

/// The walk's state, which outlives its deadline.
struct Walk<'a> {
    budget: &'a TreeBudget,
    found: Vec<Found>,
    seen: HashSet<Address>,
    showing: VecDeque<usize>,
    hidden: VecDeque<usize>,
    truncated: Option<Truncated>,
}

impl Bus {
    /// Uses this connection from now on.
    pub(super) fn attach(&self, connection: Option<Connection>) {
        *self.connection.borrow_mut() = connection;
    }

    /// The connection.
    pub(super) fn connection(&self) -> Result<Connection, Fault> {
        self.connection.borrow().clone().ok_or(Fault::Unsupported(Capability::Tree))
    }

    /// Reads the interface of every program.
    pub(super) async fn walk(&self, budget: &TreeBudget) -> Result<UiTree, Fault> {
        let bus = self.connection()?;
        let registry = Address {
            name: "org.a11y.atspi.Registry".into(),
            path: "/org/a11y/atspi/accessible/root".into(),
        };
        let programs = match node::children(&bus, &registry).await {
            Ok(programs) => programs,
            Err(Miss::Slow) => return Err(Fault::TimedOut("the accessibility registry".into())),
            Err(miss) => return Err(Fault::Lost(format!("the accessibility registry is gone: {miss:?}"))),
        };
        let mut walk = Walk::new(budget);
        let whole = async {
            let cached = futures_util::future::join_all(programs.iter().map(|program| cached(&bus, program)));
            let cached = Rc::new(cached.await.into_iter().flatten().collect());
            walk.add(programs, None, false);
            walk.run(&bus, cached).await;
        };
        if tokio::time::timeout(budget.time(), whole).await.is_err() {
            walk.truncated = Some(Truncated::Time);
        }
        Ok(walk.finish(&mut self.refs.borrow_mut()))
    }
}

impl<'a> Walk<'a> {
    fn new(budget: &'a TreeBudget) -> Self {
        Self {
            budget,
            found: Vec::new(),
            seen: HashSet::new(),
            showing: VecDeque::new(),
            hidden: VecDeque::new(),
            truncated: None,
        }
    }

    /// Queues nodes below a parent.
    fn add(&mut self, addresses: Vec<Address>, parent: Option<usize>, hidden: bool) {
        let depth = parent.and_then(|parent| self.found.get(parent)).map_or(0, |parent| parent.depth + 1);
        if depth >= self.budget.depth && !addresses.is_empty() {
            self.truncated = self.truncated.or(Some(Truncated::Depth));
            return;
        }
        if addresses.len() > CHILD_LIMIT {
            self.truncated = Some(Truncated::Nodes);
        }
        for address in addresses.into_iter().take(CHILD_LIMIT) {
            // Programs with loops in their trees exist.
            if !self.seen.insert(address.clone()) {
                continue;
            }
            let index = self.found.len();
            self.found.push(Found { address, parent, depth, hidden, read: None, children: Vec::new() });
            if let Some(parent) = parent.and_then(|parent| self.found.get_mut(parent)) {
                parent.children.push(index);
            }
            if hidden { self.hidden.push_back(index) } else { self.showing.push_back(index) }
        }
    }

    async fn run(&mut self, bus: &Connection, cached: Rc<HashMap<Address, Brief>>) {
        let mut pending = FuturesUnordered::new();
        // How many are asked for, and how many of those that show are not answered yet.
        let (mut started, mut reading) = (0, 0);
        loop {
            while pending.len() < IN_FLIGHT {
                // Hidden ones wait until nothing is left that shows or may lead to something that does.
                let next = match self.showing.pop_front() {
                    None if reading == 0 => self.hidden.pop_front(),
                    next => next,
                };
                let Some(index) = next else { break };
                if started >= self.budget.nodes {
                    self.truncated = Some(Truncated::Nodes);
                    self.showing.clear();
                    self.hidden.clear();
                    break;
                }
                started += 1;
                let Some(found) = self.found.get(index) else { continue };
                let (bus, address, hidden) = (bus.clone(), found.address.clone(), found.hidden);
                let cached = cached.clone();
                reading += usize::from(!hidden);
                pending.push(async move {
                    let read = read(&bus, &address, cached.get(&address)).await;
                    (index, hidden, read)
                });
            }
            let Some((index, hidden, read)) = pending.next().await else { return };
            reading -= usize::from(!hidden);
            if let Ok(mut read) = read {
                let below = std::mem::take(&mut read.children);
                let hides =
                    hidden || (!read.states.contains(BusState::Showing) && read.role != BusRole::Application);
                if let Some(found) = self.found.get_mut(index) {
                    found.read = Some(read);
                }
                self.add(below, Some(index), hides);
            }
        }
    }

    /// The tree, depth first, of the nodes that answered.
    fn finish(self, refs: &mut Refs) -> UiTree {
        let mut nodes: Vec<UiNode> = Vec::new();
        let roots = (0..self.found.len()).filter(|index| self.found[*index].parent.is_none());
        let mut stack: Vec<(usize, Option<u32>)> = roots.map(|index| (index, None)).collect();
        stack.reverse();
        while let Some((index, parent)) = stack.pop() {
            let found = &self.found[index];
            let Some(read) = &found.read else { continue };
            let Ok(own) = u32::try_from(nodes.len()) else { break };
            nodes.push(told(&found.address, read, parent, found.hidden, refs));
            stack.extend(found.children.iter().rev().map(|child| (*child, Some(own))));
        }
        UiTree { nodes, truncated: self.truncated }
    }
}

/// A node in the words of the protocol.
fn told(address: &Address, read: &Read, parent: Option<u32>, hidden: bool, refs: &mut Refs) -> UiNode {
    let mut states = role::states(read.role, read.states);
    if hidden {
        states.insert(State::Hidden);
    }
    let value = read.value.clone().filter(|value| *value != read.name);
    UiNode {
        id: refs.give(address),
        parent,
        role: role::role(read.role, &read.name, read.states),
        name: read.name.clone(),
        value,
        bounds: if states.contains(&State::Hidden) { None } else { read.bounds },
        states,
    }
}

/// What a program says of a node in one answer about all of its nodes.
#[derive(Clone)]
struct Brief {
    name: String,
    role: BusRole,
    states: StateSet,
    /// How many children it has; negative if the program does not count them.
    children: i32,
}

/// Asks a program for all its nodes at once. A toolkit that cannot say is asked node by node instead.
async fn cached(bus: &Connection, program: &Address) -> HashMap<Address, Brief> {
    let cache = Address { name: program.name.clone(), path: "/org/a11y/atspi/cache".into() };
    let items: Result<Vec<CacheItem>, Miss> =
        node::call(bus, &cache, "org.a11y.atspi.Cache", "GetItems", &()).await;
    let brief = |item: CacheItem| {
        let address = Address {
            name: item.object.name_as_str()?.to_owned(),
            path: item.object.path_as_str().to_owned(),
        };
        let CacheItem { role, states, children, name, .. } = item;
        Some((address, Brief { name: name.trim().to_owned(), role, states, children }))
    };
    items.unwrap_or_default().into_iter().filter_map(brief).collect()
}

/// Asks a node for what is wanted of it and is not known yet.
async fn read(bus: &Connection, at: &Address, cached: Option<&Brief>) -> Result<Read, Miss> {
    let Brief { name, role, states, children: count } = match cached.cloned() {
        Some(brief) => brief,
        None => {
            let (name, role, states) =
                tokio::try_join!(node::name(bus, at), node::bus_role(bus, at), node::bus_states(bus, at))?;
            Brief { name, role, states, children: -1 }
        }
    };
    if states.contains(BusState::Defunct) {
        return Err(Miss::Gone);
    }
    let showing = states.contains(BusState::Showing);
    let bounds = async { if showing { node::bounds(bus, at).await } else { None } };
    let value = async { if showing { node::value(bus, at, role).await } else { None } };
    let children = async {
        if states.contains(BusState::ManagesDescendants) {
            managed(bus, at).await
        } else if count == 0 {
            Vec::new()
        } else {
            node::children(bus, at).await.unwrap_or_default()
        }
    };
    let (bounds, value, children) = tokio::join!(bounds, value, children);
    Ok(Read { name, role, states, bounds, value, children })
}

/// The descendants worth reading of a node that manages them itself: all, where they are few; else those
/// between the corners of what is on the screen.
async fn managed(bus: &Connection, at: &Address) -> Vec<Address> {
    let count: i32 = node::property(bus, at, ACCESSIBLE, "ChildCount").await.unwrap_or(0);
    if count <= MANAGED_LIMIT {
        return in_order(bus, at, (0..count).map(Cell::Index)).await;
    }
    let Some(bounds) = node::bounds(bus, at).await else { return Vec::new() };
    let corner = |x: i32, y: i32| place(bus, at, x, y);
    let (first, last) = tokio::join!(
        corner(bounds.x + 4, bounds.y + 4),
        corner(bounds.x + bounds.width - 4, bounds.y + bounds.height - 4),
    );
    let Some((top, left)) = first else { return Vec::new() };
    let (bottom, right) = last.unwrap_or((top + 30, left + 10));
    let cells =
        (top..=bottom.max(top)).flat_map(|row| (left..=right.max(left)).map(move |column| (row, column)));
    let cells = cells.take(MANAGED_LIMIT.unsigned_abs() as usize);
    in_order(bus, at, cells.map(|(row, column)| Cell::Place(row, column))).await
}

/// How a managed descendant is named.
enum Cell {
    Index(i32),
    Place(i32, i32),
}

async fn in_order(bus: &Connection, at: &Address, cells: impl Iterator<Item = Cell>) -> Vec<Address> {
    let asked = cells.map(|cell| async move {
        let found: Result<(String, OwnedObjectPath), Miss> = match cell {
            Cell::Index(index) => node::call(bus, at, ACCESSIBLE, "GetChildAtIndex", &(index,)).await,
            Cell::Place(row, column) => node::call(bus, at, TABLE, "GetAccessibleAt", &(row, column)).await,
        };
        found.ok().and_then(Address::of)
    });
    futures_util::stream::iter(asked).buffered(IN_FLIGHT).filter_map(std::future::ready).collect().await
}

/// Row and column of the cell at a point of the screen.
async fn place(bus: &Connection, at: &Address, x: i32, y: i32) -> Option<(i32, i32)> {
    let found: (String, OwnedObjectPath) =
        node::call(bus, at, COMPONENT, "GetAccessibleAtPoint", &(x, y, 0u32)).await.ok()?;
    let cell = Address::of(found)?;
    let index: i32 = node::call(bus, &cell, ACCESSIBLE, "GetIndexInParent", &()).await.ok()?;
    let index = (index,);
    let (row, column) = tokio::join!(
        node::call::<i32, _>(bus, at, TABLE, "GetRowAtIndex", &index),
        node::call::<i32, _>(bus, at, TABLE, "GetColumnAtIndex", &index),
    );
    row.ok().zip(column.ok()).filter(|(row, column)| *row >= 0 && *column >= 0)
}
