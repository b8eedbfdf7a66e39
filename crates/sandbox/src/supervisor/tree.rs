//! The walk over the accessibility bus, within budgets.
//!
//! What is showing is read before what is hidden, so that closed menus never use up the budget. Requests
//! go out many at a time, each with a deadline of its own. A node that manages its descendants (a
//! spreadsheet says it has billions) is never asked for all of them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};

use apprentice_protocol::{Capability, HiddenNodes, Rect, State, TreeBudget, Truncated, UiNode, UiTree};
use atspi::zbus::Connection;
use atspi::zbus::zvariant::{OwnedObjectPath, OwnedValue};
use atspi::{CacheItem, Role as BusRole, State as BusState, StateSet};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::node::{self, ACCESSIBLE, Address, COMPONENT, Miss, Refs, TABLE};
use super::role;
use crate::wire::Fault;

/// So many nodes are read at once.
const IN_FLIGHT: usize = 128;
/// So many children of one node are followed.
const CHILD_LIMIT: usize = 1000;
/// How far inside an area its first and last cells are looked for: where a header or empty space lies, further in.
const EDGES: [i32; 5] = [EDGE, 28, 52, 76, 120];
const EDGE: i32 = 4;
/// How deep the parts of a cell lie at most.
const PARTS: usize = 4;
/// Pixels by which two edges may differ that are meant to be one.
const NEAR: i32 = 4;
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
    /// The roles of nodes that were read before.
    roles: HashMap<Address, BusRole>,
    found: Vec<Found>,
    seen: HashSet<Address>,
    showing: VecDeque<usize>,
    hidden: VecDeque<usize>,
    truncated: Option<Truncated>,
}

/// What all programs are below.
pub(super) fn registry() -> Address {
    Address { name: "org.a11y.atspi.Registry".into(), path: "/org/a11y/atspi/accessible/root".into() }
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
        let programs = match node::children(&bus, &registry()).await {
            Ok(programs) => programs,
            Err(Miss::Slow) => return Err(Fault::TimedOut("the accessibility registry".into())),
            Err(miss) => return Err(Fault::Lost(format!("the accessibility registry is gone: {miss:?}"))),
        };
        // Taken out for the time of the walk: nothing is held across a wait.
        let roles = std::mem::take(&mut self.refs.borrow_mut().roles);
        let mut walk = Walk::new(budget, roles);
        let whole = async {
            let cached = futures_util::future::join_all(programs.iter().map(|program| cached(&bus, program)));
            let cached = cached.await.into_iter().flatten().collect();
            walk.add(programs, None, false);
            walk.run(&bus, cached).await;
        };
        if tokio::time::timeout(budget.time(), whole).await.is_err() {
            walk.truncated = Some(Truncated::Time);
        }
        let mut refs = self.refs.borrow_mut();
        refs.roles = walk.take_roles();
        Ok(walk.finish(&mut refs))
    }
}

impl<'a> Walk<'a> {
    fn new(budget: &'a TreeBudget, roles: HashMap<Address, BusRole>) -> Self {
        Self {
            budget,
            roles,
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

    async fn run(&mut self, bus: &Connection, cached: HashMap<Address, Brief>) {
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
                let brief = cached.get(&address).cloned();
                let role = self.roles.get(&address).copied();
                let known = Known { brief, role, hidden: self.budget.hidden };
                reading += usize::from(!hidden);
                pending.push(async move {
                    let read = read(&bus, &address, known).await;
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

    /// The roles of the nodes that were read now.
    fn take_roles(&mut self) -> HashMap<Address, BusRole> {
        let read =
            self.found.iter().filter_map(|found| Some((found.address.clone(), found.read.as_ref()?.role)));
        read.collect()
    }

    /// How much lower each node is than it says. LibreOffice forgets the menu bar above what it draws itself: all
    /// of that lies lower by the bar's height; other toolkits' elements within it, which begin with a box, do not.
    fn drops(&self) -> Vec<i32> {
        let mut drops = Vec::with_capacity(self.found.len());
        for (index, found) in self.found.iter().enumerate() {
            // Parents come before their children.
            let above = found.parent.and_then(|parent| drops.get(parent).copied()).unwrap_or_default();
            drops.push(match found.read.as_ref().map(|read| read.role) {
                Some(BusRole::RootPane) => self.drop_of(index).unwrap_or_default(),
                Some(BusRole::Filler) => 0,
                Some(_) | None => above,
            });
        }
        drops
    }

    /// How far a root pane lies under the menu bar of its window, if it says that both are at the same place.
    fn drop_of(&self, pane: usize) -> Option<i32> {
        let above = |from: usize| {
            std::iter::successors(Some(from), |at| self.found.get(*at).and_then(|found| found.parent))
        };
        let read = |at: usize| self.found.get(at).and_then(|found| found.read.as_ref());
        let is = |at: usize, role: BusRole| read(at).is_some_and(|read| read.role == role);
        let window = above(pane).find(|at| is(*at, BusRole::Frame))?;
        let mut bars = (0..self.found.len()).filter(|at| is(*at, BusRole::MenuBar));
        let bar = bars.find(|bar| above(*bar).any(|at| at == window) && above(*bar).all(|at| at != pane))?;
        let (pane, bar) = (read(pane)?.bounds?, read(bar)?.bounds?);
        let under = bar.y.saturating_add(bar.height).saturating_sub(pane.y);
        (pane.y >= bar.y - NEAR && under > 0).then_some(under)
    }

    /// The tree, depth first, of the nodes that answered.
    fn finish(self, refs: &mut Refs) -> UiTree {
        let mut nodes: Vec<UiNode> = Vec::new();
        let drops = self.drops();
        let roots = (0..self.found.len()).filter(|index| self.found[*index].parent.is_none());
        let mut stack: Vec<(usize, Option<u32>)> = roots.map(|index| (index, None)).collect();
        stack.reverse();
        while let Some((index, parent)) = stack.pop() {
            let found = &self.found[index];
            let Some(read) = &found.read else { continue };
            let Ok(own) = u32::try_from(nodes.len()) else { break };
            let drop = drops.get(index).copied().unwrap_or_default();
            refs.put_lower(&found.address, drop);
            let mut node = told(&found.address, read, parent, found.hidden, refs);
            node.bounds = node.bounds.map(|bounds| Rect { y: bounds.y.saturating_add(drop), ..bounds });
            nodes.push(node);
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

/// What is known of a node before it is asked.
#[derive(Default)]
struct Known {
    /// What its program said of all of its nodes.
    brief: Option<Brief>,
    /// Its role, which never changes.
    role: Option<BusRole>,
    /// Whether nodes that do not show are wanted.
    hidden: HiddenNodes,
}

/// Asks a node for what is wanted of it and is not known yet.
async fn read(bus: &Connection, at: &Address, known: Known) -> Result<Read, Miss> {
    let role = async {
        match known.role {
            Some(role) => Ok(role),
            None => node::bus_role(bus, at).await,
        }
    };
    let Brief { name, role, states, children: count } = match known.brief {
        Some(brief) => brief,
        None => {
            let (name, role, states) =
                tokio::try_join!(node::name(bus, at), role, node::bus_states(bus, at))?;
            Brief { name, role, states, children: -1 }
        }
    };
    if states.contains(BusState::Defunct) {
        return Err(Miss::Gone);
    }
    let states = node::states_on_screen(bus, at, role, states).await;
    let showing = states.contains(BusState::Showing);
    let wanted = showing || role == BusRole::Application || known.hidden == HiddenNodes::Read;
    let bounds = async { if showing { node::bounds(bus, at).await } else { None } };
    let value = async { if showing { node::value(bus, at, role).await } else { None } };
    // A cell that has a name has it from what it holds: there is more to it only where its text says so.
    let cell = role == BusRole::TableCell && !name.is_empty();
    let (bounds, value) = tokio::join!(bounds, value);
    let plain = cell && !value.as_deref().is_some_and(|value| value.contains(node::OBJECT));
    let mut value = value.map(|value| value.replace(node::OBJECT, ""));
    let children = async {
        if !wanted || count == 0 || plain {
            Vec::new()
        } else if states.contains(BusState::ManagesDescendants) {
            managed(bus, at).await
        } else {
            let children = node::children(bus, at).await.unwrap_or_default();
            if known.hidden == HiddenNodes::Skip && is_closed(bus, role, &children).await {
                return Vec::new();
            }
            children
        }
    };
    let children = children.await;
    if showing && children.is_empty() && role::has_text_unless_children_tell(role) {
        value = node::text(bus, at, -1).await.map(|text| text.replace(node::OBJECT, ""));
    }
    let described = if showing && name.is_empty() && role::is_button(role) {
        node::description(bus, at).await
    } else {
        None
    };
    Ok(Read { name: described.unwrap_or(name), role, states, bounds, value, children })
}

/// Whether these are the items of a closed menu: of an open one, the first shows, or the one after a handle or a
/// line that may stand there.
async fn is_closed(bus: &Connection, role: BusRole, items: &[Address]) -> bool {
    if role != BusRole::Menu || items.is_empty() {
        return false;
    }
    let shows = items.iter().take(3).map(|item| async move {
        let Ok(states) = node::bus_states(bus, item).await else { return false };
        let states = node::states_on_screen(bus, item, BusRole::MenuItem, states).await;
        states.contains(BusState::Showing)
    });
    !futures_util::future::join_all(shows).await.contains(&true)
}

/// The descendants worth reading of a node that manages them itself: all, where they are few; else those
/// between the corners of what is on the screen.
pub(super) async fn managed(bus: &Connection, at: &Address) -> Vec<Address> {
    let count: i32 = node::property(bus, at, ACCESSIBLE, "ChildCount").await.unwrap_or(0);
    if count <= MANAGED_LIMIT {
        return by_index(bus, at, count).await;
    }
    let Some(bounds) = node::bounds(bus, at).await else { return Vec::new() };
    let Rect { x, y, width, height } = bounds;
    let first = nearest_place(bus, at, EDGES.map(|edge| (x + EDGE, y + edge)));
    let last = nearest_place(
        bus,
        at,
        EDGES.map(|edge| (x.saturating_add(width - EDGE), y.saturating_add(height - edge))),
    );
    let columns = node::property::<i32>(bus, at, TABLE, "NColumns");
    let (first, last, columns) = tokio::join!(first, last, columns);
    let Some((top, left)) = first else { return Vec::new() };
    // Below the last row there is nothing to be found.
    let (bottom, right) = last.unwrap_or((top + 60, columns.unwrap_or(1).min(left + 20) - 1));
    let cells =
        (top..=bottom.max(top)).flat_map(|row| (left..=right.max(left)).map(move |column| (row, column)));
    let cells = cells.take(MANAGED_LIMIT.unsigned_abs() as usize);
    in_order(bus, at, cells.map(|(row, column)| Cell::Place(row, column))).await
}

/// The first children of a node, asked for one by one.
pub(super) async fn by_index(bus: &Connection, at: &Address, count: i32) -> Vec<Address> {
    in_order(bus, at, (0..count).map(Cell::Index)).await
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

/// The place of the first of these points that lies on a cell.
async fn nearest_place<const N: usize>(
    bus: &Connection,
    at: &Address,
    points: [(i32, i32); N],
) -> Option<(i32, i32)> {
    let found = points.map(|(x, y)| place(bus, at, x, y));
    futures_util::future::join_all(found).await.into_iter().flatten().next()
}

/// Row and column of the cell at a point of the screen.
async fn place(bus: &Connection, at: &Address, x: i32, y: i32) -> Option<(i32, i32)> {
    let found: (String, OwnedObjectPath) =
        node::call(bus, at, COMPONENT, "GetAccessibleAtPoint", &(x, y, 0u32)).await.ok()?;
    let cell = child_above(bus, at, Address::of(found)?).await?;
    let index: i32 = node::call(bus, &cell, ACCESSIBLE, "GetIndexInParent", &()).await.ok()?;
    let index = (index,);
    let (row, column) = tokio::join!(
        node::call::<i32, _>(bus, at, TABLE, "GetRowAtIndex", &index),
        node::call::<i32, _>(bus, at, TABLE, "GetColumnAtIndex", &index),
    );
    row.ok().zip(column.ok()).filter(|(row, column)| *row >= 0 && *column >= 0)
}

/// The node itself or the one above it that is a child of `at`: a point may lie on a part of a cell.
async fn child_above(bus: &Connection, at: &Address, mut node: Address) -> Option<Address> {
    for _ in 0..PARTS {
        let parent: (String, OwnedObjectPath) =
            node::property::<OwnedValue>(bus, &node, ACCESSIBLE, "Parent").await.ok()?.try_into().ok()?;
        let parent = Address::of(parent)?;
        if parent.path == at.path {
            return Some(node);
        }
        node = parent;
    }
    None
}
