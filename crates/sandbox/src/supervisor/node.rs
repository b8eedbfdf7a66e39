//! One accessible object: its address on the bus, its reference, and its properties and actions.

use std::collections::HashMap;
use std::time::Duration;

use apprentice_protocol::{NodeRef, Rect, State};
use atspi::zbus::zvariant::{DynamicType, OwnedObjectPath, OwnedValue, Type};
use atspi::zbus::{self, Connection};
use atspi::{Role as BusRole, State as BusState, StateSet};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::role;
use super::tree_walk::Bus;
use crate::wire::{NodeFacts, OperationError};

/// Deadline of one call: a busy program does not answer.
const CALL: Duration = Duration::from_secs(2);
/// Most characters of a text that are read.
const TEXT_LIMIT: i32 = 4000;
/// Most characters of a description that are kept.
const DESCRIPTION_LIMIT: usize = 80;
/// Most nodes searched for an option.
const OPTION_LIMIT: usize = 500;

/// The character that stands in a text for an embedded element, which is read on its own.
pub(super) const OBJECT: char = '\u{fffc}';

pub(super) const ACCESSIBLE: &str = "org.a11y.atspi.Accessible";
pub(super) const COMPONENT: &str = "org.a11y.atspi.Component";
pub(super) const TABLE: &str = "org.a11y.atspi.Table";
pub(super) const ACTION: &str = "org.a11y.atspi.Action";
const SELECTION: &str = "org.a11y.atspi.Selection";
const TEXT: &str = "org.a11y.atspi.Text";
pub(super) const VALUE: &str = "org.a11y.atspi.Value";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// The bus address of an object. Neither part is reused for another object while the bus lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) name: String,
    pub(super) path: String,
}

impl Address {
    /// Parses a reference received from the bus. `None` for the null object.
    pub(super) fn of((name, path): (String, OwnedObjectPath)) -> Option<Self> {
        let path = path.as_str().to_owned();
        (!name.is_empty() && path != "/org/a11y/atspi/null").then_some(Self { name, path })
    }
}

/// Why a call to an object failed.
#[derive(Debug)]
pub(super) enum NodeError {
    /// The object or its program is gone.
    Gone,
    /// The object did not answer in time.
    Slow,
    /// The object does not support the call.
    Unable(String),
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
    count: u64,
}

impl Refs {
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

    /// Records that an object lies lower than it reports, by this many pixels.
    pub(super) fn set_vertical_correction(&mut self, address: &Address, by: i32) {
        if by == 0 {
            self.lower.remove(address);
        } else {
            self.lower.insert(address.clone(), by);
        }
    }

    /// The address behind a reference given out earlier.
    pub(super) fn find(&self, node: &NodeRef) -> Option<&Address> {
        self.known.get(&node.0.strip_prefix('n')?.parse().ok()?)
    }
}

/// Calls a method of an object.
pub(super) async fn call<R, B>(
    bus: &Connection,
    at: &Address,
    interface: &str,
    method: &str,
    body: &B,
) -> Result<R, NodeError>
where
    R: DeserializeOwned + Type,
    B: Serialize + DynamicType + Sync,
{
    let called = bus.call_method(Some(at.name.as_str()), at.path.as_str(), Some(interface), method, body);
    match tokio::time::timeout(CALL, called).await {
        Ok(Ok(reply)) => {
            reply.body().deserialize::<R>().map_err(|error| NodeError::Unable(error.to_string()))
        }
        Ok(Err(zbus::Error::MethodError(name, story, _))) => Err(match name.as_str() {
            "org.freedesktop.DBus.Error.UnknownObject"
            | "org.freedesktop.DBus.Error.ServiceUnknown"
            | "org.freedesktop.DBus.Error.NameHasNoOwner"
            | "org.freedesktop.DBus.Error.NoReply" => NodeError::Gone,
            other => NodeError::Unable(story.unwrap_or_else(|| other.to_owned())),
        }),
        Ok(Err(error)) => Err(NodeError::Unable(error.to_string())),
        Err(_) => Err(NodeError::Slow),
    }
}

/// Reads a property of an object.
pub(super) async fn property<R>(
    bus: &Connection,
    at: &Address,
    interface: &str,
    name: &str,
) -> Result<R, NodeError>
where
    R: TryFrom<OwnedValue>,
{
    let value: OwnedValue = call(bus, at, PROPERTIES, "Get", &(interface, name)).await?;
    R::try_from(value).map_err(|_| NodeError::Unable(format!("{name} is of another type")))
}

/// Reads the name, trimmed: some programs pad it with blanks.
pub(super) async fn name(bus: &Connection, at: &Address) -> Result<String, NodeError> {
    let name: String = property(bus, at, ACCESSIBLE, "Name").await?;
    Ok(name.trim().to_owned())
}

/// Reads the description (a tooltip, for most elements), cut to one line.
pub(super) async fn description(bus: &Connection, at: &Address) -> Option<String> {
    let text: String = property(bus, at, ACCESSIBLE, "Description").await.ok()?;
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then(|| line.chars().take(DESCRIPTION_LIMIT).collect())
}

/// Reads the role.
pub(super) async fn bus_role(bus: &Connection, at: &Address) -> Result<BusRole, NodeError> {
    let number: u32 = call(bus, at, ACCESSIBLE, "GetRole", &()).await?;
    Ok(BusRole::try_from(number).unwrap_or(BusRole::Unknown))
}

/// Reads the states.
pub(super) async fn bus_states(bus: &Connection, at: &Address) -> Result<StateSet, NodeError> {
    call(bus, at, ACCESSIBLE, "GetState", &()).await
}

/// Reads the position on the screen. `None` where the object reports none or an impossible one.
pub(super) async fn bounds(bus: &Connection, at: &Address) -> Option<Rect> {
    let (x, y, width, height): (i32, i32, i32, i32) =
        call(bus, at, COMPONENT, "GetExtents", &(0u32,)).await.ok()?;
    let bounds = Rect::new(x, y, width, height);
    bounds.centre().map(|_| bounds)
}

/// Reads the states and adds missing ones: GTK 2 never sets the showing state of menu items, but they have a position
/// on the screen only while they show.
pub(super) async fn states_on_screen(
    bus: &Connection,
    at: &Address,
    of: BusRole,
    mut states: StateSet,
) -> StateSet {
    let silent = role::is_menu_item(of) && states.contains(BusState::Visible);
    if silent && !states.contains(BusState::Showing) && bounds(bus, at).await.is_some() {
        states.insert(BusState::Showing);
    }
    states
}

/// Reads the text or number of an object that has one. [`OBJECT`] stands for each element embedded in the text.
pub(super) async fn value(bus: &Connection, at: &Address, of: BusRole) -> Option<String> {
    if role::has_text(of) {
        let count: i32 = property(bus, at, TEXT, "CharacterCount").await.ok()?;
        if count <= 0 {
            return (of == BusRole::Entry).then(String::new);
        }
        return text(bus, at, count.min(TEXT_LIMIT)).await;
    }
    if role::has_number(of) {
        let number: f64 = property(bus, at, VALUE, "CurrentValue").await.ok()?;
        return Some(format!("{number}"));
    }
    None
}

/// Reads the first `count` characters of the text, or all of it if `count` is negative. [`OBJECT`] stands for each
/// embedded element.
pub(super) async fn text(bus: &Connection, at: &Address, count: i32) -> Option<String> {
    call(bus, at, TEXT, "GetText", &(0i32, count)).await.ok()
}

/// Reads the addresses of the children.
pub(super) async fn children(bus: &Connection, at: &Address) -> Result<Vec<Address>, NodeError> {
    let found: Vec<(String, OwnedObjectPath)> = call(bus, at, ACCESSIBLE, "GetChildren", &()).await?;
    Ok(found.into_iter().filter_map(Address::of).collect())
}

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
    fn address(&self, node: &NodeRef) -> Result<(Connection, Address), OperationError> {
        let address = self.refs.borrow().find(node).cloned().ok_or_else(|| gone(node))?;
        Ok((self.connection()?, address))
    }

    /// Reads the current facts about a node.
    pub(super) async fn facts(&self, node: &NodeRef) -> Result<NodeFacts, OperationError> {
        let (bus, at) = self.address(node)?;
        let asked = async { tokio::try_join!(name(&bus, &at), bus_role(&bus, &at), bus_states(&bus, &at)) };
        let (name, bus_role, bus_states) = asked.await.map_err(|miss| fault(node, miss))?;
        if bus_states.contains(BusState::Defunct) {
            return Err(gone(node));
        }
        let bus_states = states_on_screen(&bus, &at, bus_role, bus_states).await;
        let states = role::states(bus_role, bus_states);
        let bounds = if states.contains(&State::Hidden) { None } else { bounds(&bus, &at).await };
        let lower = self.refs.borrow().lower.get(&at).copied().unwrap_or_default();
        let bounds = bounds.map(|bounds| Rect { y: bounds.y.saturating_add(lower), ..bounds });
        let actions: i32 = property(&bus, &at, ACTION, "NActions").await.unwrap_or(0);
        Ok(NodeFacts {
            role: role::role(bus_role, &name, bus_states),
            name,
            states: states.into_iter().collect(),
            bounds,
            pressable: actions > 0,
        })
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

async fn do_action(bus: &Connection, at: &Address) -> Result<(), NodeError> {
    let done: bool = call(bus, at, ACTION, "DoAction", &(0i32,)).await?;
    if done { Ok(()) } else { Err(NodeError::Unable("its action was refused".into())) }
}

async fn select(bus: &Connection, parent: &Address, index: usize, option: &Address) -> Result<(), NodeError> {
    if do_action(bus, option).await.is_ok() {
        return Ok(());
    }
    let index = i32::try_from(index).map_err(|_| NodeError::Unable("it has too many options".into()))?;
    let selected: bool = call(bus, parent, SELECTION, "SelectChild", &(index,)).await?;
    if selected { Ok(()) } else { Err(NodeError::Unable("the option could not be selected".into())) }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::NodeRef;

    use super::{Address, Refs};

    #[test]
    fn a_reference_names_one_object_for_good() {
        let address = |path: &str| Address { name: ":1.7".into(), path: path.into() };
        let mut refs = Refs::default();
        let first = refs.give(&address("/a"));
        assert_eq!((first.0.as_str(), refs.give(&address("/b")).0.as_str()), ("n1", "n2"));
        assert_eq!(refs.give(&address("/a")), first);
        assert_eq!(refs.find(&first), Some(&address("/a")));
        for unknown in ["n3", "n", "", "1", "n-1", "nn1"] {
            assert_eq!(refs.find(&NodeRef(unknown.into())), None, "{unknown}");
        }
    }
}
