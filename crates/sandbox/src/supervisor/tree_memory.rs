//! What the last walk read, and which of it the screen shows to be as it was. Pure.
//!
//! LibreOffice answers each request from its documents, which takes 0.1 to 0.3 ms, and draws whatever it changes. So an
//! element that was seen whole, and whose pixels are the same, is as it was read. A text may change in a part that is cut
//! off, so texts are asked again wherever something was drawn at all. Elements of other programs are not remembered:
//! those draw at times before they tell the bus, and answer faster.

use std::collections::HashMap;

use apprentice_protocol::Rect;
use atspi::{Role as BusRole, State as BusState};

use super::cells::{Cells, KnownCells, PlacedCell};
use super::node::Address;
use super::node_reading::Read;
use super::role;
use super::top_levels::Placement;
use crate::wire::DrawnSince;

/// The name that LibreOffice has on the bus, and that of GTK.
const LIBRE_OFFICE: &str = "soffice";
const GTK: &str = "gtk";
/// The names of the toolkits GTK 4 and Qt.
const GTK_4: &str = "GTK";
const QT: &str = "Qt";
/// By so many pixels an element may stand out of the one that holds it, and a drawing may miss an element.
const NEAR: i32 = 4;

/// An element as it was read.
struct Remembered {
    read: Read,
    /// The area that it shows on. `None` where it does not show, or may change without being drawn.
    area: Option<Rect>,
}

/// What is known of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Program {
    /// Whether it draws whatever it changes.
    pub(super) draws_changes: bool,
    /// Whether its lists are GTK's, whose check boxes are cells that do not say so.
    pub(super) has_plain_cells: bool,
    /// Whether it tells places from the corner of their window, and of windows alone that they show, as GTK 4 does.
    pub(super) tells_from_corner: bool,
    /// Whether it tells places of the options of closed lists, counted from the corner of the screen, as Qt 5 does.
    pub(super) places_closed_lists: bool,
    /// Its process, where the bus knows it.
    pub(super) pid: Option<u32>,
    /// How its places become places on the screen, where nothing is known of their window.
    pub(super) placement: Placement,
}

/// What was read by the last walk of a view, of programs that are trusted.
#[derive(Default)]
pub(super) struct TreeMemory {
    nodes: HashMap<Address, Remembered>,
    /// Programs by their bus names.
    programs: HashMap<String, Program>,
}

/// What of a memory holds now.
#[derive(Clone, Copy, Default)]
pub(super) struct Unchanged<'a> {
    known: Option<(&'a TreeMemory, &'a DrawnSince)>,
}

/// What is known of an element.
pub(super) enum Recall<'a> {
    /// It is as it was.
    Whole(&'a Read),
    /// It is as it was, but for its text.
    AllButText(&'a Read),
}

/// An element of a walk, as it is remembered.
pub(super) struct Walked<'a> {
    pub(super) address: &'a Address,
    pub(super) read: &'a Read,
    /// Number of the element that holds it.
    pub(super) parent: Option<usize>,
    /// How much lower it lies than it reports, in pixels.
    pub(super) lower: i32,
    pub(super) hidden: bool,
    /// Whether each of its children answered.
    pub(super) whole: bool,
}

/// Where a cell stands.
pub(super) struct TablePlace {
    pub(super) table: Address,
    pub(super) cell: PlacedCell,
}

impl Program {
    /// A program by its name and its toolkit. LibreOffice says that it is made with GTK.
    pub(super) fn of(name: &str, toolkit: &str, pid: Option<u32>) -> Self {
        let draws_changes = name == LIBRE_OFFICE;
        Self {
            draws_changes,
            has_plain_cells: toolkit == GTK && !draws_changes,
            tells_from_corner: toolkit == GTK_4,
            places_closed_lists: toolkit == QT,
            pid,
            placement: Placement::AS_TOLD,
        }
    }
}

impl TreeMemory {
    /// Remembers a walk. Parents come before their children; an element that did not answer is `None`.
    pub(super) fn of(
        walked: &[Option<Walked<'_>>],
        screen: Rect,
        programs: HashMap<String, Program>,
    ) -> Self {
        let mut nodes = HashMap::new();
        // Where each element shows, and where its children can.
        let mut shown: Vec<Option<Rect>> = Vec::with_capacity(walked.len());
        for node in walked {
            let Some(node) = node else {
                shown.push(None);
                continue;
            };
            let room = match node.parent {
                None => Some(screen),
                Some(parent) => shown.get(parent).copied().flatten(),
            };
            let reported = node.read.bounds.filter(|_| !node.hidden);
            let real = reported.map(|at| Rect { y: at.y.saturating_add(node.lower), ..at });
            // What reports no position only holds others.
            shown.push(match real {
                Some(real) => room.and_then(|room| intersection(room, real)),
                None => room.filter(|_| !node.hidden),
            });
            let program = programs.get(&node.address.name).copied().unwrap_or_default();
            if !program.draws_changes || !node.whole {
                continue;
            }
            let area = real.zip(room).and_then(|(real, room)| seen_area(node.read.role, real, room));
            let area = area.zip(reported).map(|(area, reported)| match node.lower {
                0 => area,
                _ => union(area, reported),
            });
            nodes.insert(node.address.clone(), Remembered { read: node.read.clone(), area });
        }
        Self { nodes, programs }
    }

    /// The table, row and column of a cell.
    pub(super) fn place_of(&self, cell: &Address) -> Option<TablePlace> {
        self.nodes.iter().find_map(|(table, known)| {
            let placed = known.read.cells.as_ref()?.found.iter().find(|placed| placed.address == *cell)?;
            Some(TablePlace { table: table.clone(), cell: placed.clone() })
        })
    }

    /// What holds, if this was drawn since.
    pub(super) fn unchanged<'a>(&'a self, since: &'a DrawnSince) -> Unchanged<'a> {
        Unchanged { known: Some((self, since)) }
    }
}

impl<'a> Unchanged<'a> {
    /// What is known of a program.
    pub(super) fn program(&self, name: &str) -> Option<Program> {
        self.known?.0.programs.get(name).copied()
    }

    /// The table, row and column of a cell.
    pub(super) fn place_of(&self, cell: &Address) -> Option<TablePlace> {
        self.known?.0.place_of(cell)
    }

    /// What holds of an element.
    pub(super) fn recall(&self, at: &Address) -> Option<Recall<'a>> {
        let (memory, since) = self.known?;
        let Remembered { read, area } = memory.nodes.get(at)?;
        // What does not show may change unseen.
        let area = (*area)?;
        if is_always_asked(read) || is_within(&since.changed, area) {
            return None;
        }
        let is_cell = read.role == BusRole::TableCell;
        let has_text = role::may_be_cut_off(read.role);
        match is_within(&since.touched, area) {
            true if is_cell && read.value.is_some() => Some(Recall::AllButText(read)),
            true if has_text && !is_cell => None,
            _ => Some(Recall::Whole(read)),
        }
    }

    /// The cells of a table that hold, although other parts of it were drawn.
    pub(super) fn cells(&self, table: &Address) -> Option<KnownCells> {
        let (memory, since) = self.known?;
        let read = &memory.nodes.get(table)?.read;
        let Cells { range, found } = read.cells.as_ref()?;
        let cells: HashMap<(i32, i32), Address> = found
            .iter()
            .filter(|cell| self.recall(&cell.address).is_some())
            .map(|cell| ((cell.row, cell.column), cell.address.clone()))
            .collect();
        // A sheet that is scrolled is drawn anew, although an empty one looks the same.
        let stands = |cell: &PlacedCell| {
            let area = memory.nodes.get(&cell.address).and_then(|known| known.area);
            area.is_some_and(|area| !is_within(&since.changed, area) && !is_within(&since.touched, area))
        };
        let same = found.first().is_some_and(stands) && found.last().is_some_and(stands);
        Some(KnownCells { bounds: read.bounds?, range: *range, same, cells })
    }

    /// A cell as it was told, with the text that was known of it. While one cell is edited, a sheet says of its cells that they are
    /// empty, and that none can be edited.
    pub(super) fn with_known_text(&self, at: &Address, mut read: Read) -> Read {
        let is_cell = |read: &Read| read.role == BusRole::TableCell;
        let can_be_edited = |read: &Read| read.states.contains(BusState::Editable);
        let says_something = |read: &Read| read.value.as_deref().is_some_and(|value| !value.is_empty());
        let Some((memory, _)) = self.known else { return read };
        if !is_cell(&read) || can_be_edited(&read) || says_something(&read) {
            return read;
        }
        let is_same = |was: &&Read| {
            is_cell(was) && can_be_edited(was) && (&was.name, was.bounds) == (&read.name, read.bounds)
        };
        let existing = memory.nodes.get(at).map(|existing| &existing.read).filter(is_same);
        let existing =
            existing.or_else(|| memory.nodes.values().map(|existing| &existing.read).find(is_same));
        if let Some(existing) = existing.filter(|existing| says_something(existing)) {
            read.value.clone_from(&existing.value);
            read.details.clone_from(&existing.details);
            read.states.insert(BusState::Editable);
        }
        read
    }

    /// Returns whether an element is another than the remembered one, stands elsewhere, or came to the front or left it: then so did
    /// its children.
    pub(super) fn moved(&self, at: &Address, read: &Read) -> bool {
        let existing = self.known.and_then(|(memory, _)| memory.nodes.get(at));
        let shows =
            |read: &Read| [BusState::Showing, BusState::Active].map(|state| read.states.contains(state));
        existing.is_none_or(|existing| {
            existing.read.bounds != read.bounds || shows(&existing.read) != shows(read)
        })
    }
}

/// Returns whether an area lies in one of these, or next to it.
fn is_within(areas: &[Rect], area: Rect) -> bool {
    let near = Rect::new(area.x - NEAR, area.y - NEAR, area.width + 2 * NEAR, area.height + 2 * NEAR);
    areas.iter().any(|drawn| intersection(*drawn, near).is_some())
}

/// Returns whether an element is asked each time: windows, whose frames are drawn by others, and what has the focus.
fn is_always_asked(read: &Read) -> bool {
    role::is_window(read.role)
        || [BusState::Focused, BusState::Active, BusState::Busy]
            .iter()
            .any(|state| read.states.contains(*state))
}

/// The area on which each change of an element is seen. A cell is drawn as a whole, so a part of it is enough; of a longer
/// text, what changes may lie outside.
fn seen_area(role: BusRole, real: Rect, room: Rect) -> Option<Rect> {
    let part = intersection(real, room)?;
    let hangs_out = real.x < room.x - NEAR
        || real.y < room.y - NEAR
        || real.x.saturating_add(real.width) > room.x + room.width + NEAR
        || real.y.saturating_add(real.height) > room.y + room.height + NEAR;
    (role == BusRole::TableCell || !hangs_out).then_some(part)
}

fn intersection(one: Rect, other: Rect) -> Option<Rect> {
    let (x, y) = (one.x.max(other.x), one.y.max(other.y));
    let right = one.x.saturating_add(one.width).min(other.x.saturating_add(other.width));
    let bottom = one.y.saturating_add(one.height).min(other.y.saturating_add(other.height));
    (right > x && bottom > y).then(|| Rect::new(x, y, right - x, bottom - y))
}

fn union(one: Rect, other: Rect) -> Rect {
    let (x, y) = (one.x.min(other.x), one.y.min(other.y));
    let right = one.x.saturating_add(one.width).max(other.x.saturating_add(other.width));
    let bottom = one.y.saturating_add(one.height).max(other.y.saturating_add(other.height));
    Rect::new(x, y, right - x, bottom - y)
}

#[cfg(test)]
mod tests;
