//! Reads the properties of one node of the interface tree, by as few requests as it takes.

use apprentice_protocol::{Detail, HiddenNodes, Rect, VisibleText};
use atspi::{Role as BusRole, State as BusState, StateSet};

use super::caret::caret;
use super::cells::{self, Cells, KnownCells, Managed};
use super::details::details;
use super::node::{self, Address, NodeError};
use super::peers::Peers;
use super::role;
use super::visible_text::visible_text;

/// Most characters that are read of a label without a name, such as a part of a status bar.
const TEXT_OF_LABEL: usize = 200;

/// The properties of a node.
#[derive(Clone)]
pub(super) struct Read {
    pub(super) name: String,
    pub(super) role: BusRole,
    pub(super) states: StateSet,
    pub(super) bounds: Option<Rect>,
    pub(super) value: Option<String>,
    /// The visible part of a long text.
    pub(super) visible: Option<VisibleText>,
    /// What the program tells of it besides its text.
    pub(super) details: Vec<Detail>,
    pub(super) children: Vec<Address>,
    /// The children of a table with more cells than are read.
    pub(super) cells: Option<Cells>,
}

/// What is known about a node before it is asked.
#[derive(Default)]
pub(super) struct KnownProperties {
    /// The node's role, which never changes.
    pub(super) role: Option<BusRole>,
    /// How nodes that do not show are handled.
    pub(super) hidden: HiddenNodes,
    /// Whether a cell may be a check box without saying so.
    pub(super) has_plain_cells: bool,
    /// Whether its program tells formulas and formats.
    pub(super) has_details: bool,
    /// Whether its program says of windows alone that they show.
    pub(super) shows_silently: bool,
    /// The cells of a table that are as they were.
    pub(super) cells: Option<KnownCells>,
}

/// Asks a node for the required properties that are not known yet.
pub(super) async fn read(bus: &Peers, at: &Address, known: KnownProperties) -> Result<Read, NodeError> {
    let role = async {
        match known.role {
            Some(role) => Ok(role),
            None => node::bus_role(bus, at).await,
        }
    };
    let (name, role, states) = tokio::try_join!(node::name(bus, at), role, node::bus_states(bus, at))?;
    let name = if known.shows_silently { without_type(name) } else { name };
    let is_pane = known.has_details && role == BusRole::Panel;
    let mut states = living_states(bus, at, role, states, is_pane).await?;
    if known.shows_silently {
        states = node::states_where_drawn(bus, at, states).await;
    }
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
    let (children, cells) = match !wanted || plain {
        true => (Vec::new(), None),
        false => {
            below(bus, at, role, &mut states, Descent { cells: known.cells, hidden: known.hidden }).await
        }
    };
    if showing && children.is_empty() && role::has_text_unless_children_tell(role) {
        value = node::text(bus, at, -1).await.map(|text| text.replace(node::OBJECT, ""));
    }
    let mut read =
        Read { name, role, states, bounds, value, visible: None, details: Vec::new(), children, cells };
    read.visible = visible_part(bus, at, &read).await;
    if known.has_details
        && let Some(text) = read.value.as_deref().filter(|text| !text.is_empty())
    {
        read.details = details(bus, at, role, text).await;
    }
    if let Some(text) = read.value.as_deref().filter(|_| states.contains(BusState::Focused)) {
        let caret = caret(bus, at, role, text).await;
        read.details.extend(caret);
    }
    if showing && read.name.is_empty() {
        explain(bus, at, known.has_plain_cells, &mut read).await;
    }
    Ok(read)
}

/// A name as GTK 4 gives it, without what nobody sees: it names what has no name by its type, and says a label twice.
fn without_type(name: String) -> String {
    let is_type = ["Gtk", "Adw"].iter().any(|kind| {
        let rest = name.strip_prefix(kind).unwrap_or_default();
        rest.starts_with(|letter: char| letter.is_ascii_uppercase()) && !rest.contains(' ')
    });
    match name.split_at_checked(name.len() / 2) {
        _ if is_type => String::new(),
        Some((once, again)) if again.strip_prefix(' ').is_some_and(|again| once == again) => once.to_owned(),
        _ => name,
    }
}

/// The states of an element that is there. One that says it is gone may still hold what shows, if it is a pane.
async fn living_states(
    bus: &Peers,
    at: &Address,
    role: BusRole,
    told: StateSet,
    is_pane: bool,
) -> Result<StateSet, NodeError> {
    match told.contains(BusState::Defunct) {
        true if is_pane && holds_living(bus, at).await => {
            let shown = [BusState::Showing, BusState::Visible, BusState::Enabled, BusState::Sensitive];
            Ok(shown.iter().collect())
        }
        true => Err(NodeError::Gone),
        false => Ok(node::states_on_screen(bus, at, role, told).await),
    }
}

/// How what stands below an element is read.
struct Descent {
    /// The cells of a table that are as they were.
    cells: Option<KnownCells>,
    hidden: HiddenNodes,
}

/// What stands below an element, and which of it are cells. A menu that is closed loses the states of an open one.
async fn below(
    bus: &Peers,
    at: &Address,
    role: BusRole,
    states: &mut StateSet,
    descent: Descent,
) -> (Vec<Address>, Option<Cells>) {
    if states.contains(BusState::ManagesDescendants) {
        return match cells::managed_descendants(bus, at, descent.cells).await {
            Managed::Few(children) => (children, None),
            Managed::Visible(visible) => {
                (visible.found.iter().map(|cell| cell.address.clone()).collect(), Some(visible))
            }
        };
    }
    let children = node::children(bus, at).await.unwrap_or_default();
    let closed = is_closed(bus, role, &children).await;
    if closed {
        // GTK 2 says of a menu that was open once that it is selected.
        states.remove(BusState::Selected);
        states.remove(BusState::Expanded);
    }
    (if closed && descent.hidden == HiddenNodes::Skip { Vec::new() } else { children }, None)
}

/// The visible part of a long text. A cell's text is told as a whole.
async fn visible_part(bus: &Peers, at: &Address, read: &Read) -> Option<VisibleText> {
    match read.role {
        BusRole::TableCell => None,
        _ => visible_text(bus, at, read.bounds?, read.value.as_deref()?).await,
    }
}

/// Finds out what a node without a name is.
async fn explain(bus: &Peers, at: &Address, has_plain_cells: bool, read: &mut Read) {
    let silent = read.value.as_deref().is_none_or(|value| value.trim().is_empty());
    let is_bare = read.role == BusRole::TableCell && silent && read.children.is_empty();
    if has_plain_cells && is_bare && node::is_toggle(bus, at).await {
        read.role = BusRole::CheckBox;
    }
    let labelled = if role::is_field(read.role) { node::label(bus, at).await } else { None };
    let described = match labelled {
        None if role::may_be_described(read.role, silent) => node::description(bus, at).await,
        labelled => labelled,
    };
    if let Some(name) = described {
        read.name = name;
    }
}

/// The beginning of the text of a label without a name.
async fn label_text(bus: &Peers, at: &Address) -> Option<String> {
    let text = node::text(bus, at, -1).await?;
    Some(text.trim().chars().take(TEXT_OF_LABEL).collect())
}

/// Returns whether something that says it is gone holds something that shows, as LibreOffice's input line does.
async fn holds_living(bus: &Peers, at: &Address) -> bool {
    let children = node::children(bus, at).await.unwrap_or_default();
    let Some(first) = children.first() else { return false };
    node::bus_states(bus, first).await.is_ok_and(|states| states.contains(BusState::Showing))
}

/// Returns whether these are the items of a closed menu. In an open menu the first item shows, or the one after a tear-off
/// handle or a separator.
async fn is_closed(bus: &Peers, role: BusRole, items: &[Address]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::without_type;

    #[test]
    fn a_type_is_no_name_and_a_label_is_said_once() {
        let cases = [
            ("GtkMenuButton", ""),
            ("AdwHeaderBar", ""),
            ("Gtk Settings", "Gtk Settings"),
            ("7 7", "7"),
            ("mod mod", "mod"),
            ("77", "77"),
            ("Save as", "Save as"),
            ("× ×", "×"),
        ];
        for (told, expected) in cases {
            assert_eq!(without_type(told.to_owned()), expected, "{told}");
        }
    }
}
