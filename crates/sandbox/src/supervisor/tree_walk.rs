//! Reads the interface tree from the accessibility bus, within budgets.
//!
//! Showing nodes are read before hidden ones, so closed menus never use up the budget. Many requests are in flight at
//! once, each with its own deadline. A node that manages its descendants itself (a spreadsheet reports billions) is
//! never asked for all of them.

use std::collections::{HashMap, HashSet, VecDeque};

use apprentice_protocol::{HiddenNodes, Rect, TreeBudget, TruncationCause, UiTree};
use atspi::{Role as BusRole, State as BusState};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::bus::Bus;
use super::cells::VISIBLE_LIMIT;
use super::node::{self, Address, NodeError};
use super::node_reading::{KnownProperties, Read};
use super::peers::Peers;
use super::placed_windows;
use super::question::{Answer, Question};
use super::role;
use super::top_levels;
use super::tree_memory::{Program, Recall, TreeMemory, Unchanged, Walked};
use crate::wire::{Drawn, DrawnWindows, OperationError};

/// Nodes that are read concurrently.
const IN_FLIGHT: usize = 128;
/// Most children of one node that are followed: all cells of a sheet that are read.
const CHILD_LIMIT: usize = VISIBLE_LIMIT;

/// A node found by the walk.
pub(super) struct FoundNode {
    pub(super) address: Address,
    pub(super) parent: Option<usize>,
    pub(super) depth: u32,
    pub(super) hidden: bool,
    /// Whether its window lies behind another, so that it is read after what shows.
    late: bool,
    /// Whether what holds it is new or stands elsewhere, so that nothing of it is known.
    anew: bool,
    pub(super) read: Option<Read>,
    pub(super) children: Vec<usize>,
    /// Whether each of its children answered.
    whole: bool,
}

/// The place of nodes in the tree.
#[derive(Clone, Copy)]
struct Below {
    parent: Option<usize>,
    hidden: bool,
    late: bool,
    anew: bool,
}

/// The walk's state, which remains usable after its deadline.
pub(super) struct Walk<'a> {
    budget: &'a TreeBudget,
    pub(super) drawn: &'a DrawnWindows,
    /// Roles of nodes read by earlier walks.
    roles: HashMap<Address, BusRole>,
    /// What is as an earlier walk read it.
    unchanged: Unchanged<'a>,
    /// Programs by their bus names.
    pub(super) programs: HashMap<String, Program>,
    pub(super) found: Vec<FoundNode>,
    seen: HashSet<Address>,
    showing: VecDeque<usize>,
    hidden: VecDeque<usize>,
    pub(super) truncated: Option<TruncationCause>,
    /// Whether something was taken over from an earlier walk.
    recalled: bool,
}

/// The registry, whose children are the programs.
pub(super) fn registry() -> Address {
    Address { name: "org.a11y.atspi.Registry".into(), path: "/org/a11y/atspi/accessible/root".into() }
}

impl Bus {
    /// Reads the interfaces of all programs, each node anew.
    pub(super) async fn walk(
        &self,
        budget: &TreeBudget,
        windows: &DrawnWindows,
    ) -> Result<UiTree, OperationError> {
        let mut walk = Walk::new(budget, windows, Unchanged::default());
        self.walk_with(&mut walk).await?;
        Ok(self.finish(walk))
    }

    /// Reads the interfaces of all programs, except for what is as the last such walk read it.
    pub(super) async fn walk_again(
        &self,
        budget: &TreeBudget,
        drawn: &Drawn,
        windows: &DrawnWindows,
    ) -> Result<UiTree, OperationError> {
        // The memory is put back at the end, unless another walk has begun meanwhile.
        let turn = self.next_turn();
        let memory = self.memory.take();
        // What does not show changes without being drawn.
        if budget.hidden == HiddenNodes::Read {
            return self.walk(budget, windows).await;
        }
        let unchanged = drawn.since.as_ref().map(|since| memory.unchanged(since)).unwrap_or_default();
        let mut walk = Walk::new(budget, windows, unchanged);
        self.walk_with(&mut walk).await?;
        if walk.misses_focus() {
            walk = Walk::new(budget, windows, Unchanged::default());
            self.walk_with(&mut walk).await?;
        }
        if self.is_turn(turn) {
            *self.memory.borrow_mut() = walk.remember(drawn.screen);
        }
        Ok(self.finish(walk))
    }

    /// Builds the tree of a walk, and keeps what its programs are.
    fn finish(&self, walk: Walk<'_>) -> UiTree {
        let (tree, programs) = walk.finish(&mut self.refs.borrow_mut());
        *self.programs.borrow_mut() = programs;
        tree
    }

    async fn walk_with(&self, walk: &mut Walk<'_>) -> Result<(), OperationError> {
        let bus = self.peers()?;
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
        walk.roles = std::mem::take(&mut self.refs.borrow_mut().roles);
        let time = walk.budget.time();
        let whole = async {
            bus.meet(&programs).await;
            walk.identify(&bus, &programs).await;
            walk.add(programs, Below { parent: None, hidden: false, late: false, anew: false });
            walk.run(&bus).await;
            if walk.add_open_menus(&bus, self.open_menus.all()).await {
                walk.run(&bus).await;
            }
        };
        if tokio::time::timeout(time, whole).await.is_err() {
            walk.truncated = Some(TruncationCause::Time);
        }
        self.refs.borrow_mut().roles = walk.take_roles();
        Ok(())
    }
}

impl<'a> Walk<'a> {
    fn new(budget: &'a TreeBudget, drawn: &'a DrawnWindows, unchanged: Unchanged<'a>) -> Self {
        Self {
            budget,
            drawn,
            roles: HashMap::new(),
            unchanged,
            programs: HashMap::new(),
            found: Vec::new(),
            seen: HashSet::new(),
            showing: VecDeque::new(),
            hidden: VecDeque::new(),
            truncated: None,
            recalled: false,
        }
    }

    /// Queues nodes below a parent.
    fn add(&mut self, addresses: Vec<Address>, below: Below) {
        let Below { parent, hidden, late, anew } = below;
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
            let (read, children) = (None, Vec::new());
            self.found.push(FoundNode {
                address,
                parent,
                depth,
                hidden,
                late,
                anew,
                read,
                children,
                whole: false,
            });
            if let Some(parent) = parent.and_then(|parent| self.found.get_mut(parent)) {
                parent.children.push(index);
            }
            if hidden || late { self.hidden.push_back(index) } else { self.showing.push_back(index) }
        }
    }

    /// Queues open menus that nobody's list of children held. Returns whether there are any.
    async fn add_open_menus(&mut self, bus: &Peers, menus: Vec<Address>) -> bool {
        let mut added = false;
        for menu in menus.into_iter().filter(|menu| !self.seen.contains(menu)).collect::<Vec<_>>() {
            let is_its_program =
                |found: &FoundNode| found.parent.is_none() && found.address.name == menu.name;
            let Some(program) = self.found.iter().position(is_its_program) else { continue };
            let (role, states) = tokio::join!(node::bus_role(bus, &menu), node::bus_states(bus, &menu));
            let is_menu = matches!(role, Ok(BusRole::PopupMenu | BusRole::Menu));
            if is_menu && states.is_ok_and(|states| states.contains(BusState::Showing)) {
                self.add(
                    vec![menu],
                    Below { parent: Some(program), hidden: false, late: false, anew: false },
                );
                added = true;
            }
        }
        added
    }

    async fn run(&mut self, bus: &Peers) {
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
                let hidden = found.hidden || found.late;
                let recall = self.recall(found);
                self.recalled |= recall.is_some();
                let question = match recall {
                    Some(Recall::Whole(read)) => {
                        self.take(index, read.clone(), false);
                        continue;
                    }
                    Some(Recall::AllButText(read)) => Question::Text {
                        read: Box::new(read.clone()),
                        place: self.unchanged.place_of(&found.address),
                    },
                    None => Question::Node(self.properties(found)),
                };
                let (bus, address) = (bus.clone(), found.address.clone());
                reading += usize::from(!hidden);
                pending.push(async move { (index, hidden, question.ask(&bus, &address).await) });
            }
            let Some((index, hidden, answer)) = pending.next().await else { return };
            reading -= usize::from(!hidden);
            match answer {
                Answer::Node(read) => self.take(index, read, true),
                Answer::Text(read) => self.take(index, read, false),
                Answer::Replaced(address, read) => {
                    if let Some(found) = self.found.get_mut(index) {
                        found.address = address;
                    }
                    self.take(index, read, true);
                }
                Answer::Gone => {}
            }
        }
    }

    /// Takes in what a node is, and queues its children.
    fn take(&mut self, index: usize, read: Read, asked: bool) {
        let Some(found) = self.found.get(index) else { return };
        let read = self.unchanged.with_known_text(&found.address, read);
        let hidden =
            found.hidden || (!read.states.contains(BusState::Showing) && read.role != BusRole::Application);
        let anew = asked && (found.anew || self.unchanged.moved(&found.address, &read));
        let late = found.late || found.depth == 1 && self.is_covered(index, &read);
        let below = read.children.clone();
        if read.cells.as_ref().is_some_and(|cells| cells.range.exceeds_limit()) {
            self.truncated = Some(TruncationCause::Nodes);
        }
        if let Some(found) = self.found.get_mut(index) {
            found.read = Some(read);
        }
        self.add(below, Below { parent: Some(index), hidden, late, anew });
    }

    /// Returns whether a window lies behind another one.
    fn is_covered(&self, index: usize, read: &Read) -> bool {
        let Some(found) = self.found.get(index) else { return false };
        let told = placed_windows::told(read, &self.program(&found.address.name));
        let window = top_levels::find(told, self.drawn);
        window.is_some_and(|window| top_levels::cover(window, self.drawn).is_some())
    }

    /// What is known of a node from an earlier walk.
    fn recall(&self, found: &FoundNode) -> Option<Recall<'a>> {
        if found.anew { None } else { self.unchanged.recall(&found.address) }
    }

    /// Returns whether no element of a window in front has the focus, while some were not asked: an element gets it without being
    /// drawn, as a spreadsheet's cell does when a dialog closes.
    fn misses_focus(&self) -> bool {
        let in_front = self.found.iter().filter(|found| {
            let program = self.program(&found.address.name);
            let is_active = |read: &Read| read.states.contains(BusState::Active);
            program.draws_changes && found.read.as_ref().is_some_and(is_active)
        });
        let mut programs = in_front.map(|found| &found.address.name);
        self.recalled && programs.any(|program| !self.has_focus(program))
    }

    /// Returns whether an element of a program has the focus, other than one that holds it for those inside.
    fn has_focus(&self, program: &str) -> bool {
        let own = self.found.iter().filter(|found| found.address.name == program);
        let mut read = own.filter_map(|found| found.read.as_ref());
        read.any(|read| {
            let holds_others = read.cells.is_some() || role::is_window(read.role);
            read.states.contains(BusState::Focused) && !holds_others
        })
    }

    /// What is known about a node before it is asked.
    fn properties(&self, found: &FoundNode) -> KnownProperties {
        let above = found.parent.and_then(|parent| self.found.get(parent)?.read.as_ref());
        // A spreadsheet makes new objects for its cells at each request.
        let program = self.program(&found.address.name);
        let is_cell = above.is_some_and(|above| above.cells.is_some()) && program.draws_changes;
        let role = match self.roles.get(&found.address).copied() {
            _ if is_cell => Some(BusRole::TableCell),
            // Qt gives what is new the address of what is gone.
            _ if program.places_closed_lists => None,
            known => known,
        };
        KnownProperties {
            role,
            hidden: self.budget.hidden,
            has_plain_cells: program.has_plain_cells,
            has_details: program.draws_changes,
            shows_silently: program.tells_from_corner,
            cells: if found.anew { None } else { self.unchanged.cells(&found.address) },
        }
    }

    pub(super) fn program(&self, name: &str) -> Program {
        self.programs.get(name).copied().unwrap_or_default()
    }

    /// Finds out what the programs are.
    async fn identify(&mut self, bus: &Peers, programs: &[Address]) {
        let unchanged = &self.unchanged;
        let requests = programs.iter().map(|program| async move {
            let known = match unchanged.program(&program.name) {
                Some(known) => known,
                None => {
                    let (name, toolkit, pid) = tokio::join!(
                        node::name(bus, program),
                        node::toolkit(bus, program),
                        bus.process(program)
                    );
                    Program::of(&name.unwrap_or_default(), &toolkit.unwrap_or_default(), pid)
                }
            };
            (program.name.clone(), known)
        });
        self.programs = futures_util::future::join_all(requests).await.into_iter().collect();
    }

    /// What the next walk of a view need not ask.
    fn remember(&mut self, screen: Rect) -> TreeMemory {
        let addresses: Vec<Address> = self.found.iter().map(|found| found.address.clone()).collect();
        let answered: Vec<bool> = self.found.iter().map(|found| found.read.is_some()).collect();
        for found in &mut self.found {
            let Some(read) = &mut found.read else { continue };
            found.whole = found.children.len() == read.children.len()
                && found.children.iter().all(|child| answered.get(*child).copied().unwrap_or(false));
            // Other objects may stand for its cells now.
            let now = found.children.iter().filter_map(|child| addresses.get(*child));
            if found.whole {
                read.children = now.cloned().collect();
                let cells = read.cells.iter_mut().flat_map(|cells| &mut cells.found);
                cells.zip(&read.children).for_each(|(cell, address)| cell.address = address.clone());
            }
        }
        let drops = self.vertical_corrections();
        let walked = self.found.iter().zip(drops).map(|(found, lower)| {
            let FoundNode { address, parent, hidden, read, whole, .. } = found;
            let read = read.as_ref()?;
            Some(Walked { address, read, parent: *parent, lower, hidden: *hidden, whole: *whole })
        });
        let walked: Vec<Option<Walked<'_>>> = walked.collect();
        TreeMemory::of(&walked, screen, self.programs.clone())
    }

    /// Returns the roles of the nodes read by this walk.
    fn take_roles(&mut self) -> HashMap<Address, BusRole> {
        let read =
            self.found.iter().filter_map(|found| Some((found.address.clone(), found.read.as_ref()?.role)));
        read.collect()
    }
}
