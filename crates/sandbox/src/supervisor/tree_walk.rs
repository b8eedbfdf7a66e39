//! Reads the interface tree from the accessibility bus, within budgets.
//!
//! Showing nodes are read before hidden ones, so closed menus never use up the budget. Many requests are in flight at
//! once, each with its own deadline. A node that manages its descendants itself (a spreadsheet reports billions) is
//! never asked for all of them.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{Hash as _, Hasher as _};

use apprentice_protocol::{HiddenNodes, NodeRef, Rect, State, TreeBudget, TruncationCause, UiNode, UiTree};
use atspi::zbus::Connection;
use atspi::{CacheItem, Role as BusRole, State as BusState, StateSet};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::bus::{Bus, Refs};
use super::cells;
use super::node::{self, Address, NodeError};
use super::role;
use crate::wire::OperationError;

/// Nodes that are read concurrently.
const IN_FLIGHT: usize = 128;
/// Most children of one node that are followed.
const CHILD_LIMIT: usize = 1000;
/// Largest difference in pixels between two edges that count as the same.
const NEAR: i32 = 4;
/// Most characters that are read of a label without a name, such as a part of a status bar.
const TEXT_OF_LABEL: usize = 200;

/// A node found by the walk.
struct FoundNode {
    address: Address,
    parent: Option<usize>,
    depth: u32,
    hidden: bool,
    read: Option<Read>,
    children: Vec<usize>,
}

/// The properties of a node.
struct Read {
    name: String,
    role: BusRole,
    states: StateSet,
    bounds: Option<Rect>,
    value: Option<String>,
    children: Vec<Address>,
}

/// The walk's state, which remains usable after its deadline.
struct Walk<'a> {
    budget: &'a TreeBudget,
    /// Roles of nodes read by earlier walks.
    roles: HashMap<Address, BusRole>,
    found: Vec<FoundNode>,
    seen: HashSet<Address>,
    showing: VecDeque<usize>,
    hidden: VecDeque<usize>,
    truncated: Option<TruncationCause>,
}

/// The registry, whose children are the programs.
pub(super) fn registry() -> Address {
    Address { name: "org.a11y.atspi.Registry".into(), path: "/org/a11y/atspi/accessible/root".into() }
}

impl Bus {
    /// Reads the interfaces of all programs.
    pub(super) async fn walk(&self, budget: &TreeBudget) -> Result<UiTree, OperationError> {
        let bus = self.connection()?;
        let programs = match node::children(&bus, &registry()).await {
            Ok(programs) => programs,
            Err(NodeError::Slow) => {
                return Err(OperationError::TimedOut("the accessibility registry".into()));
            }
            Err(miss) => {
                return Err(OperationError::Lost(format!("the accessibility registry is gone: {miss:?}")));
            }
        };
        // Moved out for the duration of the walk, so that no borrow is held across an await.
        let roles = std::mem::take(&mut self.refs.borrow_mut().roles);
        let mut walk = Walk::new(budget, roles);
        let whole = async {
            let cached =
                futures_util::future::join_all(programs.iter().map(|program| read_cache(&bus, program)));
            let cached = cached.await.into_iter().flatten().collect();
            walk.add(programs, None, false);
            walk.run(&bus, cached).await;
        };
        if tokio::time::timeout(budget.time(), whole).await.is_err() {
            walk.truncated = Some(TruncationCause::Time);
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
            self.truncated = self.truncated.or(Some(TruncationCause::Depth));
            return;
        }
        if addresses.len() > CHILD_LIMIT {
            self.truncated = Some(TruncationCause::Nodes);
        }
        for address in addresses.into_iter().take(CHILD_LIMIT) {
            // Some programs have loops in their trees.
            if !self.seen.insert(address.clone()) {
                continue;
            }
            let index = self.found.len();
            self.found.push(FoundNode { address, parent, depth, hidden, read: None, children: Vec::new() });
            if let Some(parent) = parent.and_then(|parent| self.found.get_mut(parent)) {
                parent.children.push(index);
            }
            if hidden { self.hidden.push_back(index) } else { self.showing.push_back(index) }
        }
    }

    async fn run(&mut self, bus: &Connection, cached: HashMap<Address, CachedNode>) {
        let mut pending = FuturesUnordered::new();
        // Number of requests sent, and number of pending requests to showing nodes.
        let (mut started, mut reading) = (0, 0);
        loop {
            while pending.len() < IN_FLIGHT {
                // Hidden nodes wait until no node is left that shows or may lead to one that does.
                let next = match self.showing.pop_front() {
                    None if reading == 0 => self.hidden.pop_front(),
                    next => next,
                };
                let Some(index) = next else { break };
                if started >= self.budget.nodes {
                    self.truncated = Some(TruncationCause::Nodes);
                    self.showing.clear();
                    self.hidden.clear();
                    break;
                }
                started += 1;
                let Some(found) = self.found.get(index) else { continue };
                let (bus, address, hidden) = (bus.clone(), found.address.clone(), found.hidden);
                let brief = cached.get(&address).cloned();
                let role = self.roles.get(&address).copied();
                let known = KnownProperties { brief, role, hidden: self.budget.hidden };
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

    /// Returns the roles of the nodes read by this walk.
    fn take_roles(&mut self) -> HashMap<Address, BusRole> {
        let read =
            self.found.iter().filter_map(|found| Some((found.address.clone(), found.read.as_ref()?.role)));
        read.collect()
    }

    /// How much lower each node lies than it reports, in pixels. LibreOffice ignores the menu bar in the positions of
    /// elements that it draws itself, so those lie lower by the bar's height. Elements of other toolkits within it,
    /// whose outermost is a box, report correct positions.
    fn vertical_corrections(&self) -> Vec<i32> {
        let mut drops = Vec::with_capacity(self.found.len());
        for (index, found) in self.found.iter().enumerate() {
            // Parents come before their children.
            let above = found.parent.and_then(|parent| drops.get(parent).copied()).unwrap_or_default();
            drops.push(match found.read.as_ref().map(|read| read.role) {
                Some(BusRole::RootPane) => self.menu_bar_correction(index).unwrap_or_default(),
                Some(BusRole::Filler) => 0,
                Some(_) | None => above,
            });
        }
        drops
    }

    /// How far a root pane lies below its window's menu bar, if both report the same position.
    fn menu_bar_correction(&self, pane: usize) -> Option<i32> {
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

    /// What each node is by its place: what holds it, its role and name, and its number among its like.
    fn paths(&self) -> Vec<u64> {
        let mut paths: Vec<u64> = Vec::with_capacity(self.found.len());
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for found in &self.found {
            let above = found.parent.and_then(|parent| paths.get(parent).copied()).unwrap_or_default();
            let mut hash = DefaultHasher::new();
            above.hash(&mut hash);
            if let Some(read) = &found.read {
                (read.role as u32).hash(&mut hash);
                read.name.hash(&mut hash);
            }
            let count = counts.entry(hash.finish()).or_default();
            count.hash(&mut hash);
            *count += 1;
            paths.push(hash.finish());
        }
        paths
    }

    /// The table of a cell that is named by its address in a spreadsheet.
    fn table_of(&self, found: &FoundNode) -> Option<&Address> {
        let read = found.read.as_ref().filter(|read| read.role == BusRole::TableCell)?;
        let table = self.found.get(found.parent?)?;
        let manages = table.read.as_ref()?.states.contains(BusState::ManagesDescendants);
        (manages && is_cell_address(&read.name)).then_some(&table.address)
    }

    /// Builds the tree, depth first, from the nodes that answered.
    fn finish(self, refs: &mut Refs) -> UiTree {
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
            let id = match self.table_of(found) {
                Some(table) => refs.give_cell(table, &read.name, &found.address),
                None => refs.give_at(&found.address, paths.get(index).copied().unwrap_or_default(), &present),
            };
            let mut node = ui_node(id, read, parent, found.hidden);
            if !node.name.is_empty() {
                refs.label(&node.id, format!("{} {:?}", node.role.as_str(), node.name));
            }
            node.bounds = node.bounds.map(|bounds| Rect { y: bounds.y.saturating_add(drop), ..bounds });
            nodes.push(node);
            stack.extend(found.children.iter().rev().map(|child| (*child, Some(own))));
        }
        UiTree { nodes, truncated: self.truncated }
    }
}

/// Whether a name is the address of a cell, such as `B7` or `AA120`.
fn is_cell_address(name: &str) -> bool {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = name.len() - digits.len();
    (1..=3).contains(&letters) && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// Converts a node to the protocol's form.
fn ui_node(id: NodeRef, read: &Read, parent: Option<u32>, hidden: bool) -> UiNode {
    let mut states = role::states(read.role, read.states);
    if hidden {
        states.insert(State::Hidden);
    }
    let value = read.value.clone().filter(|value| *value != read.name);
    UiNode {
        id,
        parent,
        role: role::role(read.role, &read.name, read.states),
        name: read.name.clone(),
        value,
        bounds: if states.contains(&State::Hidden) { None } else { read.bounds },
        states,
    }
}

/// A node's properties from the program's reply about all of its nodes at once.
#[derive(Clone)]
struct CachedNode {
    name: String,
    role: BusRole,
    states: StateSet,
    /// Number of children, negative if the program does not count them.
    children: i32,
}

/// Asks a program for all its nodes at once. Toolkits without a cache are asked node by node instead.
async fn read_cache(bus: &Connection, program: &Address) -> HashMap<Address, CachedNode> {
    let cache = Address { name: program.name.clone(), path: "/org/a11y/atspi/cache".into() };
    let items: Result<Vec<CacheItem>, NodeError> =
        node::call(bus, &cache, "org.a11y.atspi.Cache", "GetItems", &()).await;
    let brief = |item: CacheItem| {
        let address = Address {
            name: item.object.name_as_str()?.to_owned(),
            path: item.object.path_as_str().to_owned(),
        };
        let CacheItem { role, states, children, name, .. } = item;
        Some((address, CachedNode { name: name.trim().to_owned(), role, states, children }))
    };
    items.unwrap_or_default().into_iter().filter_map(brief).collect()
}

/// What is known about a node before it is asked.
#[derive(Default)]
struct KnownProperties {
    /// Properties from the program's reply about all of its nodes.
    brief: Option<CachedNode>,
    /// The node's role, which never changes.
    role: Option<BusRole>,
    /// How nodes that do not show are handled.
    hidden: HiddenNodes,
}

/// Asks a node for the required properties that are not known yet.
async fn read(bus: &Connection, at: &Address, known: KnownProperties) -> Result<Read, NodeError> {
    let role = async {
        match known.role {
            Some(role) => Ok(role),
            None => node::bus_role(bus, at).await,
        }
    };
    let CachedNode { name, role, states, children: count } = match known.brief {
        Some(brief) => brief,
        None => {
            let (name, role, states) =
                tokio::try_join!(node::name(bus, at), role, node::bus_states(bus, at))?;
            CachedNode { name, role, states, children: -1 }
        }
    };
    if states.contains(BusState::Defunct) {
        return Err(NodeError::Gone);
    }
    let states = node::states_on_screen(bus, at, role, states).await;
    let showing = states.contains(BusState::Showing);
    let wanted = showing || role == BusRole::Application || known.hidden == HiddenNodes::Read;
    let bounds = async { if showing { node::bounds(bus, at).await } else { None } };
    let value = async {
        match showing {
            true if role::is_label(role) && name.is_empty() => label_text(bus, at).await,
            true => node::value(bus, at, role).await,
            false => None,
        }
    };
    // A cell that has a name takes it from its content; it holds more only where its text says so.
    let cell = role == BusRole::TableCell && !name.is_empty();
    let (bounds, value) = tokio::join!(bounds, value);
    let plain = cell && !value.as_deref().is_some_and(|value| value.contains(node::OBJECT));
    let mut value = value.map(|value| value.replace(node::OBJECT, ""));
    let children = async {
        if !wanted || count == 0 || plain {
            Vec::new()
        } else if states.contains(BusState::ManagesDescendants) {
            cells::managed_descendants(bus, at).await
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
    let silent = value.as_deref().is_none_or(|value| value.trim().is_empty());
    let may = showing && name.is_empty() && role::may_be_described(role, silent);
    let described = if may { node::description(bus, at).await } else { None };
    Ok(Read { name: described.unwrap_or(name), role, states, bounds, value, children })
}

/// The beginning of the text of a label without a name.
async fn label_text(bus: &Connection, at: &Address) -> Option<String> {
    let text = node::text(bus, at, -1).await?;
    Some(text.trim().chars().take(TEXT_OF_LABEL).collect())
}

/// Whether these are the items of a closed menu. In an open menu the first item shows, or the one after a tear-off
/// handle or a separator.
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
