//! Elements by reference: their current facts, and the actions that the bus offers on them.

use apprentice_protocol::{NodeRef, Rect, State};
use atspi::{Role as BusRole, State as BusState};

use super::bus::Bus;
use super::cells::cell_at;
use super::node::{
    self, ACTION, Address, COMPONENT, NodeError, SELECTION, bounds, bus_role, bus_states, call, children,
    extents, name, property, states_on_screen,
};
use super::peers::Peers;
use super::top_levels::{self, Placement, ToldWindow, is_drawn_apart};
use super::tree_memory::{Program, TablePlace};
use crate::elements;
use crate::wire::{DrawnWindows, NodeFacts, OperationError};

/// Most nodes searched for an option.
const OPTION_LIMIT: usize = 500;

fn fault(node: &NodeRef, miss: NodeError) -> OperationError {
    match miss {
        NodeError::Gone => gone(node),
        NodeError::Slow => OperationError::TimedOut(format!("the program of element {node}")),
        NodeError::Unable(why) => OperationError::refused(format!("element {node}"), &why),
    }
}

fn gone(node: &NodeRef) -> OperationError {
    OperationError::NotFound(format!("element {node}"))
}

impl Bus {
    fn address(&self, node: &NodeRef) -> Result<(Peers, Address), OperationError> {
        let address = self.refs.borrow().find(node).cloned().ok_or_else(|| gone(node))?;
        Ok((self.peers()?, address))
    }

    /// The object that stands for a node now. A spreadsheet drops the objects of its cells after a while, and makes new
    /// ones when it is asked for the place.
    async fn living(&self, bus: &Peers, node: &NodeRef, at: Address) -> Address {
        let place = self.memory.borrow().place_of(&at);
        let Some(TablePlace { table, cell }) = place else { return at };
        let stands = bus_states(bus, &at).await.is_ok_and(|states| !states.contains(BusState::Defunct));
        if stands {
            return at;
        }
        let Some(new) = cell_at(bus, &table, cell.row, cell.column).await else { return at };
        self.refs.borrow_mut().replace(node, &new);
        new
    }

    /// The error about a node that is gone, with the one that has taken its place.
    fn gone(&self, node: &NodeRef) -> OperationError {
        let refs = self.refs.borrow();
        let Some((label, successor)) = refs.successor(node) else { return gone(node) };
        let why = format!("it is gone; {label} is #{successor} now");
        OperationError::refused(format!("element #{node}"), &why)
    }

    /// Reads the current facts about a node.
    pub(super) async fn facts(
        &self,
        node: &NodeRef,
        windows: &DrawnWindows,
    ) -> Result<NodeFacts, OperationError> {
        let (bus, at) = self.address(node)?;
        let at = self.living(&bus, node, at).await;
        let asked = async { tokio::try_join!(name(&bus, &at), bus_role(&bus, &at), bus_states(&bus, &at)) };
        let (name, bus_role, bus_states) = match asked.await {
            Err(NodeError::Gone) => return Err(self.gone(node)),
            asked => asked.map_err(|miss| fault(node, miss))?,
        };
        // GTK keeps the object of a destroyed element for a while, without name and states.
        if bus_states.contains(BusState::Defunct) || (bus_states.is_empty() && name.is_empty()) {
            return Err(self.gone(node));
        }
        // A check box of a list is a cell that does not say so, nor how wide it is.
        let in_list = bus_role == BusRole::TableCell
            && self.refs.borrow().roles.get(&at).is_some_and(|role| *role == BusRole::CheckBox);
        let bus_role = if in_list { BusRole::CheckBox } else { bus_role };
        let mut bus_states = states_on_screen(&bus, &at, bus_role, bus_states).await;
        let program = self.programs.borrow().get(&at.name).copied().unwrap_or_default();
        if program.tells_from_corner {
            bus_states = node::states_where_drawn(&bus, &at, bus_states).await;
        }
        let mut states = elements::states(bus_role, bus_states);
        let bounds = if states.contains(&State::Hidden) { None } else { bounds(&bus, &at).await };
        let bounds = match bounds {
            None if in_list => {
                let reported = extents(&bus, &at).await;
                reported.and_then(|reported| self.refs.borrow().place(node, reported))
            }
            bounds => bounds,
        };
        let lower = self.refs.borrow().vertical_correction(&at);
        let seen = self.refs.borrow().seen_place(node);
        let (window, placement) = self.window_of(&bus, node, program, windows).await;
        let bounds = bounds
            .map(|bounds| placement.apply(Rect { y: bounds.y.saturating_add(lower), ..bounds }))
            .map(|bounds| seen.shifted(bounds))
            .filter(|bounds| !seen.closed || is_drawn_apart(*bounds, &windows.popups));
        if bounds.is_none() && seen.closed {
            states.insert(State::Hidden);
        }
        let value = match bus_role {
            BusRole::ComboBox => shown_option(&bus, &at, program, &name).await,
            _ => None,
        };
        let actions: i32 = property(&bus, &at, ACTION, "NActions").await.unwrap_or(0);
        Ok(NodeFacts {
            role: elements::role(bus_role, &name, bus_states),
            name,
            states: states.into_iter().collect(),
            bounds,
            pressable: actions > 0,
            value,
            window,
        })
    }

    /// The number on the display of the window that held an element when it was last seen, and how places in it become places on the
    /// screen.
    async fn window_of(
        &self,
        bus: &Peers,
        node: &NodeRef,
        program: Program,
        windows: &DrawnWindows,
    ) -> (Option<u32>, Placement) {
        let Some(window) = self.refs.borrow().window(node).cloned() else {
            return (None, program.placement);
        };
        let asked = tokio::join!(name(bus, &window), extents(bus, &window), bus_states(bus, &window));
        let (Ok(title), bounds, Ok(states)) = asked else { return (None, program.placement) };
        let told = ToldWindow {
            pid: program.pid,
            title: &title,
            bounds,
            active: states.contains(BusState::Active),
            from_corner: program.tells_from_corner,
        };
        match top_levels::find(told, windows) {
            Some(drawn) => (Some(drawn.id), top_levels::placement(told, drawn.bounds)),
            None => (None, program.placement),
        }
    }

    /// Performs the node's first action.
    pub(super) async fn press(&self, node: &NodeRef) -> Result<(), OperationError> {
        let (bus, at) = self.address(node)?;
        do_action(&bus, &at).await.map_err(|miss| fault(node, miss))
    }

    /// Gives the node the keyboard focus.
    pub(super) async fn focus(&self, node: &NodeRef) -> Result<(), OperationError> {
        let (bus, at) = self.address(node)?;
        let focused: bool =
            call(&bus, &at, COMPONENT, "GrabFocus", &()).await.map_err(|miss| fault(node, miss))?;
        if focused {
            Ok(())
        } else {
            Err(OperationError::refused(format!("element {node}"), &"it takes no focus"))
        }
    }

    /// Chooses the option with this text below the node.
    pub(super) async fn choose(&self, node: &NodeRef, option: &str) -> Result<(), OperationError> {
        let (bus, at) = self.address(node)?;
        let mut names = Vec::new();
        let mut waiting = std::collections::VecDeque::from([at]);
        let mut seen = 0;
        while let Some(parent) = waiting.pop_front() {
            let below = children(&bus, &parent).await.map_err(|miss| fault(node, miss))?;
            for (index, child) in below.into_iter().enumerate() {
                seen += 1;
                let name = name(&bus, &child).await.unwrap_or_default();
                if name.trim().eq_ignore_ascii_case(option.trim()) && !name.is_empty() {
                    return select(&bus, &parent, index, &child).await.map_err(|miss| fault(node, miss));
                }
                if !name.is_empty() {
                    names.push(name);
                }
                waiting.push_back(child);
            }
            if seen > OPTION_LIMIT {
                break;
            }
        }
        names.truncate(30);
        let why = format!("it has no option {option:?}; it has: {}", names.join(", "));
        Err(OperationError::refused(format!("element {node}"), &why))
    }
}

/// What a closed list box shows. Qt tells the chosen option as the name.
async fn shown_option(bus: &Peers, at: &Address, program: Program, name: &str) -> Option<String> {
    match program.places_closed_lists {
        true => Some(name.to_owned()),
        false => node::value(bus, at, BusRole::ComboBox).await,
    }
}

async fn do_action(bus: &Peers, at: &Address) -> Result<(), NodeError> {
    let done: bool = call(bus, at, ACTION, "DoAction", &(0i32,)).await?;
    if done { Ok(()) } else { Err(NodeError::Unable("its action was refused".into())) }
}

async fn select(bus: &Peers, parent: &Address, index: usize, option: &Address) -> Result<(), NodeError> {
    if do_action(bus, option).await.is_ok() {
        return Ok(());
    }
    let index = i32::try_from(index).map_err(|_| NodeError::Unable("it has too many options".into()))?;
    let selected: bool = call(bus, parent, SELECTION, "SelectChild", &(index,)).await?;
    if selected { Ok(()) } else { Err(NodeError::Unable("the option could not be selected".into())) }
}
