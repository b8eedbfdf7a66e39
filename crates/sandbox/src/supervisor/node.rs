//! One accessible object: its address on the bus, and the calls that read its properties.

use apprentice_protocol::{MAX_NODE_TEXT_BYTES, Rect, cut_text};
use atspi::zbus;
use atspi::zbus::zvariant::{DynamicType, OwnedValue, Type};
use atspi::{Role as BusRole, State as BusState, StateSet};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) use super::address::{Address, Reference};
use super::peers::{CALL, Method, Peers};
use super::role;

/// Most characters of a text that are read.
pub(super) const TEXT_LIMIT: i32 = 4000;
/// Most characters of a description that are kept.
const DESCRIPTION_LIMIT: usize = 80;
/// The character that stands in a text for an embedded element, which is read on its own.
pub(super) const OBJECT: char = '\u{fffc}';

pub(super) const ACCESSIBLE: &str = "org.a11y.atspi.Accessible";
pub(super) const COMPONENT: &str = "org.a11y.atspi.Component";
pub(super) const TABLE: &str = "org.a11y.atspi.Table";
pub(super) const ACTION: &str = "org.a11y.atspi.Action";
pub(super) const SELECTION: &str = "org.a11y.atspi.Selection";
pub(super) const TEXT: &str = "org.a11y.atspi.Text";
pub(super) const VALUE: &str = "org.a11y.atspi.Value";
/// The number of the relation of a field to its label.
const LABELLED_BY: u32 = 2;
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

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

/// Calls a method of an object.
pub(super) async fn call<R, B>(
    bus: &Peers,
    at: &Address,
    interface: &str,
    method: &str,
    body: &B,
) -> Result<R, NodeError>
where
    R: DeserializeOwned + Type,
    B: Serialize + DynamicType + Sync,
{
    let called = bus.call(at, Method { interface, name: method }, body);
    let reply = tokio::time::timeout(CALL, called).await.map_err(|_| NodeError::Slow)?.map_err(failed)?;
    reply.body().deserialize::<R>().map_err(|error| NodeError::Unable(error.to_string()))
}

fn failed(error: zbus::Error) -> NodeError {
    match error {
        zbus::Error::MethodError(name, story, _) => match name.as_str() {
            "org.freedesktop.DBus.Error.UnknownObject"
            | "org.freedesktop.DBus.Error.ServiceUnknown"
            | "org.freedesktop.DBus.Error.NameHasNoOwner"
            | "org.freedesktop.DBus.Error.NoReply" => NodeError::Gone,
            other => NodeError::Unable(story.unwrap_or_else(|| other.to_owned())),
        },
        error => NodeError::Unable(error.to_string()),
    }
}

/// Reads a property of an object.
pub(super) async fn property<R>(
    bus: &Peers,
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
pub(super) async fn name(bus: &Peers, at: &Address) -> Result<String, NodeError> {
    let name: String = property(bus, at, ACCESSIBLE, "Name").await?;
    let mut name = name.trim().to_owned();
    cut_text(&mut name, MAX_NODE_TEXT_BYTES);
    Ok(name)
}

/// Reads the description (a tooltip, for most elements), cut to one line of whole words.
pub(super) async fn description(bus: &Peers, at: &Address) -> Option<String> {
    let text: String = property(bus, at, ACCESSIBLE, "Description").await.ok()?;
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then(|| whole_words(line))
}

/// Returns the first words of a line, as many as fit, with a mark where words are left out. A word that is longer than the
/// limit is cut.
fn whole_words(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(DESCRIPTION_LIMIT) else { return line.to_owned() };
    let fits = &line[..end];
    let is_between = line[end..].starts_with(char::is_whitespace);
    let words = fits.rfind(char::is_whitespace).filter(|_| !is_between).map_or(fits, |space| &fits[..space]);
    format!("{} …", words.trim_end())
}

/// Reads the name of the toolkit that a program is made with.
pub(super) async fn toolkit(bus: &Peers, program: &Address) -> Result<String, NodeError> {
    property(bus, program, "org.a11y.atspi.Application", "ToolkitName").await
}

/// Returns whether a cell of GTK is a check box: its first action says so.
pub(super) async fn is_toggle(bus: &Peers, at: &Address) -> bool {
    let action: Result<String, NodeError> = call(bus, at, ACTION, "GetName", &(0i32,)).await;
    action.is_ok_and(|action| action == "toggle")
}

/// Reads the name of the label that belongs to a field.
pub(super) async fn label(bus: &Peers, at: &Address) -> Option<String> {
    let relations: Vec<(u32, Vec<Reference>)> =
        call(bus, at, ACCESSIBLE, "GetRelationSet", &()).await.ok()?;
    let labels = relations.into_iter().find(|(kind, _)| *kind == LABELLED_BY)?.1;
    let label = labels.into_iter().find_map(Address::of)?;
    let name = name(bus, &label).await.ok()?;
    let name = name.trim_end_matches(':').trim_end();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Reads the role.
pub(super) async fn bus_role(bus: &Peers, at: &Address) -> Result<BusRole, NodeError> {
    let number: u32 = call(bus, at, ACCESSIBLE, "GetRole", &()).await?;
    Ok(BusRole::try_from(number).unwrap_or(BusRole::Unknown))
}

/// Reads the states.
pub(super) async fn bus_states(bus: &Peers, at: &Address) -> Result<StateSet, NodeError> {
    call(bus, at, ACCESSIBLE, "GetState", &()).await
}

/// Reads the position on the screen. `None` where the object reports none or an impossible one.
pub(super) async fn bounds(bus: &Peers, at: &Address) -> Option<Rect> {
    let bounds = extents(bus, at).await?;
    bounds.centre().map(|_| bounds)
}

/// Reads the position on the screen as the object reports it.
pub(super) async fn extents(bus: &Peers, at: &Address) -> Option<Rect> {
    let (x, y, width, height): (i32, i32, i32, i32) =
        call(bus, at, COMPONENT, "GetExtents", &(0u32,)).await.ok()?;
    Some(Rect::new(x, y, width, height))
}

/// Reads the states and adds missing ones: GTK 2 never sets the showing state of menu items, but they have a position
/// on the screen only while they show.
pub(super) async fn states_on_screen(
    bus: &Peers,
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

/// Adds the showing state to what is visible and has a size: GTK 4 sets it on windows alone.
pub(super) async fn states_where_drawn(bus: &Peers, at: &Address, mut states: StateSet) -> StateSet {
    if states.contains(BusState::Visible)
        && !states.contains(BusState::Showing)
        && extents(bus, at).await.is_some_and(|extents| extents.width > 0 && extents.height > 0)
    {
        states.insert(BusState::Showing);
    }
    states
}

/// Reads the text or number of an object that has one. [`OBJECT`] stands for each element embedded in the text.
pub(super) async fn value(bus: &Peers, at: &Address, of: BusRole) -> Option<String> {
    if role::has_text(of) {
        let count: i32 = property(bus, at, TEXT, "CharacterCount").await.ok()?;
        if count <= 0 {
            return (of == BusRole::Entry).then(String::new);
        }
        let mut text = text(bus, at, count.min(TEXT_LIMIT)).await?;
        // A program may answer with more than was asked for.
        cut_text(&mut text, MAX_NODE_TEXT_BYTES);
        return Some(text);
    }
    if of == BusRole::ComboBox {
        return chosen(bus, at).await;
    }
    if role::has_number(of) {
        let number: f64 = property(bus, at, VALUE, "CurrentValue").await.ok()?;
        return Some(format!("{number}"));
    }
    None
}

/// Reads what a closed list shows: the name of its chosen option, or else its text.
async fn chosen(bus: &Peers, at: &Address) -> Option<String> {
    if let Some(name) = selected_below(bus, at).await {
        return Some(name);
    }
    // Gecko's list box holds a list that knows.
    if let Some(list) = children(bus, at).await.unwrap_or_default().first()
        && let Some(name) = selected_below(bus, list).await
    {
        return Some(name);
    }
    text(bus, at, TEXT_LIMIT).await.filter(|text| !text.trim().is_empty() && !text.contains(OBJECT))
}

/// The name of the first selected child.
async fn selected_below(bus: &Peers, at: &Address) -> Option<String> {
    let option: Result<Reference, NodeError> = call(bus, at, SELECTION, "GetSelectedChild", &(0i32,)).await;
    let name = name(bus, &option.ok().and_then(Address::of)?).await.ok()?;
    (!name.is_empty()).then_some(name)
}

/// Reads the first `count` characters of the text, or all of it if `count` is negative. [`OBJECT`] stands for each
/// embedded element.
pub(super) async fn text(bus: &Peers, at: &Address, count: i32) -> Option<String> {
    call(bus, at, TEXT, "GetText", &(0i32, count)).await.ok()
}

/// Reads the addresses of the children.
pub(super) async fn children(bus: &Peers, at: &Address) -> Result<Vec<Address>, NodeError> {
    let found: Vec<Reference> = call(bus, at, ACCESSIBLE, "GetChildren", &()).await?;
    Ok(found.into_iter().filter_map(Address::of).collect())
}
