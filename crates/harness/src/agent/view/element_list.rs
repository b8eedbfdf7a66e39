//! The list of elements as a model gets it: what matters for acting, from a whole tree. Pure.
//!
//! What says nothing goes (frames, separators, a menu bar that is listed twice, a text that repeats its button), and the
//! contents of windows that cannot be used now. Neighbours of one kind share a line. Tables show what they hold around
//! the cursor and count the rest.

mod closed_lists;
mod left_out;
mod off_screen;
mod selected;
mod selection;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apprentice_protocol::{Detail, DetailKind, NodeRef, State, UiNode, UiTree, View, outline_line};

use left_out::Note;
use selection::Selection;

/// Roles of elements that are dragged or drawn on, so that their place matters although they have a reference.
const PLACED: &[&str] = &[
    "option",
    "listitem",
    "treeitem",
    "slider",
    "img",
    "image",
    "canvas",
    "drawingarea",
    "document",
    "document_frame",
    "terminal",
    "unknown",
    "scrollbar",
    "spinbutton",
    "~text",
    "clickable",
];
/// Roles of what draws and lists nothing of it.
const DRAWING: &[&str] = &["canvas", "embeddedobject", "pluginobject"];
/// Roles of which neighbours share a line.
const SHARING: &[&str] = &[
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "button",
    "tab",
    "cell",
    "gridcell",
    "columnheader",
    "rowheader",
    "radio",
    "link",
    "text",
];
/// Most elements on one line.
const ON_A_LINE: usize = 24;

/// One element of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) id: NodeRef,
    /// `role "name"`, which tells it when it is gone.
    pub(crate) label: String,
    /// Its line.
    pub(crate) text: String,
    /// Its line without its role.
    short: String,
    pub(crate) role: String,
    pub(crate) facts: Facts,
    /// The texts that tell it from others that look alike, in one line.
    pub(crate) row: String,
}

/// What an element's line says, in parts that can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
    pub(crate) details: Vec<Detail>,
    /// Its states, other than the focus, which is told on its own.
    pub(crate) states: BTreeSet<State>,
    pub(crate) has_focus: bool,
    /// Its caret and what is selected of it, which are told on their own, too.
    pub(crate) marks: Vec<Detail>,
    /// Its place, where that is listed.
    pub(crate) place: Option<(i32, i32)>,
    pub(crate) off_screen: bool,
}

/// One line of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) depth: usize,
    /// The line above that holds it.
    pub(crate) parent: Option<usize>,
    pub(crate) parts: Vec<Part>,
    /// A sentence about what is not listed.
    pub(crate) note: Option<Note>,
    /// What goes first when the list is too long has the highest number.
    pub(crate) rank: u8,
    /// Whether nothing of it is on the screen.
    pub(crate) off_screen: bool,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElementList {
    pub(crate) lines: Vec<Line>,
    /// The element that has the keyboard focus.
    pub(crate) focus: Option<NodeRef>,
    /// Elements on the screen that are not listed, such as those behind a dialog.
    pub(crate) held_back: BTreeSet<NodeRef>,
    /// Elements off the screen that are not listed, and what is said of them.
    pub(crate) outside: BTreeSet<NodeRef>,
    pub(crate) outside_note: String,
    /// Cells without content, which are not listed.
    pub(crate) empty: BTreeSet<NodeRef>,
    /// What was told earlier of those.
    pub(crate) remembered: BTreeMap<NodeRef, Part>,
}

impl Part {
    /// Whether an element that was on the screen is not now, and says the same otherwise.
    pub(super) fn only_left_the_screen(&self, now: &Self) -> bool {
        let rest = |facts: &Facts| Facts {
            has_focus: false,
            marks: Vec::new(),
            place: None,
            off_screen: false,
            ..facts.clone()
        };
        !self.facts.off_screen
            && now.facts.off_screen
            && self.role == now.role
            && rest(&self.facts) == rest(&now.facts)
    }

    /// Whether both say the same, focus and caret aside.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let lasting = |facts: &Facts| Facts { has_focus: false, marks: Vec::new(), ..facts.clone() };
        self.role == other.role && lasting(&self.facts) == lasting(&other.facts)
    }
}

impl Line {
    /// Writes these parts of the line, without indentation.
    pub(crate) fn write<'a>(&'a self, parts: impl Iterator<Item = &'a Part>) -> String {
        self.write_each(parts, |_| String::new())
    }

    /// Writes the new parts of the line, if there are any.
    pub(crate) fn write_new(&self, is_new: impl Fn(&Part) -> bool) -> String {
        let new: Vec<&Part> = self.parts.iter().filter(|part| is_new(part)).collect();
        if new.is_empty() { String::new() } else { self.write(new.into_iter()) }
    }

    /// Writes these parts of the line, each with what is said of it.
    pub(crate) fn write_each<'a>(
        &'a self,
        parts: impl Iterator<Item = &'a Part>,
        said: impl Fn(&Part) -> String,
    ) -> String {
        let parts: Vec<&Part> = parts.collect();
        match parts.as_slice() {
            [] => self.note.as_ref().map(|note| note.text.clone()).unwrap_or_default(),
            [one] => format!("{}{}", one.text, said(one)),
            [first, ..] => {
                let each: Vec<String> =
                    parts.iter().map(|part| format!("{}{}", part.short, said(part))).collect();
                format!("{}: {}", first.role, each.join(" | "))
            }
        }
    }
}

impl ElementList {
    /// Builds the list of a tree.
    pub(crate) fn of(tree: &UiTree, view: &View) -> Self {
        let selection = Selection::of(tree);
        let mut list = Self::default();
        // The line of each node, if it has one.
        let mut line_of: Vec<Option<usize>> = vec![None; tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate() {
            let parent = selection.holder(index).and_then(|holder| line_of.get(holder).copied().flatten());
            if !selection.has(index) {
                if selection.left_out().held_back.contains(&index) {
                    list.held_back.insert(node.id.clone());
                } else if selection.left_out().empty.contains(&index) {
                    list.empty.insert(node.id.clone());
                }
                continue;
            }
            let part = part(node, &selection, index, view);
            let off_screen = !is_on_screen(node, view);
            if node.is(State::Focused) {
                list.focus = Some(part.id.clone());
            }
            let place = if list.shares(&part, parent, &selection, index) {
                list.lines.len() - 1
            } else {
                list.lines.push(Line { off_screen, ..list.fresh_line(node, parent) });
                list.lines.len() - 1
            };
            if let Some(line) = list.lines.get_mut(place) {
                line.parts.push(part);
            }
            if let Some(slot) = line_of.get_mut(index) {
                *slot = Some(place);
            }
            if let Some(note) = selection.note(index) {
                let depth = list.lines.get(place).map_or(0, |line| line.depth + 1);
                let rank = list.lines.get(place).map_or(0, |line| line.rank);
                let note = Some(note.clone());
                list.lines.push(Line {
                    depth,
                    parent: Some(place),
                    parts: Vec::new(),
                    note,
                    rank,
                    off_screen,
                });
            }
        }
        off_screen::keep_holders(&mut list.lines);
        if selection.is_page() {
            off_screen::leave_out(&mut list);
        }
        list
    }

    fn fresh_line(&self, node: &UiNode, parent: Option<usize>) -> Line {
        let above = parent.and_then(|parent| self.lines.get(parent));
        let rank = rank(node).min(if above.is_some_and(|above| above.rank == IN_DIALOG) {
            IN_DIALOG
        } else {
            u8::MAX
        });
        let depth = above.map_or(0, |above| above.depth + 1);
        Line { depth, parent, parts: Vec::new(), note: None, rank, off_screen: false }
    }

    /// Whether a node goes on the last line.
    fn shares(&self, part: &Part, parent: Option<usize>, selection: &Selection, index: usize) -> bool {
        let Some(last) = self.lines.last() else { return false };
        let is_like = |last: &Part| {
            let same_side = !selection.is_page() || last.facts.off_screen == part.facts.off_screen;
            last.role == part.role && same_side
        };
        last.parent == parent
            && last.note.is_none()
            && last.parts.len() < ON_A_LINE
            && SHARING.contains(&part.role.as_str())
            && selection.is_leaf(index)
            && last.parts.last().is_some_and(is_like)
            && selection.continues_row(index)
    }

    /// Keeps what an earlier list told of elements that are still on the screen and not listed now.
    pub(crate) fn after(mut self, before: &Self) -> Self {
        let told = before.parts().chain(before.remembered.values());
        let kept = told.filter_map(|part| {
            let mut part = part.clone();
            if self.outside.contains(&part.id) {
                part.facts.off_screen = true;
            } else if !self.held_back.contains(&part.id) {
                return None;
            }
            Some((part.id.clone(), part))
        });
        self.remembered = kept.collect();
        self
    }

    /// Whether both list the same.
    pub(crate) fn lists_the_same(&self, other: &Self) -> bool {
        (&self.lines, &self.focus, &self.outside_note) == (&other.lines, &other.focus, &other.outside_note)
    }

    /// What was told of each element so far.
    pub(crate) fn told(&self) -> impl Iterator<Item = &Part> {
        self.parts().chain(self.remembered.values())
    }

    /// The sentence below an element.
    pub(crate) fn note_below(&self, id: &NodeRef) -> Option<&Note> {
        let holder = self.lines.iter().position(|line| line.parts.iter().any(|part| part.id == *id))?;
        let line = self.lines.get(holder + 1).filter(|line| line.parent == Some(holder))?;
        line.note.as_ref()
    }

    /// All elements, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.lines.iter().flat_map(|line| &line.parts)
    }

    /// Writes the list within a number of characters. What matters least goes first, and is counted.
    pub(crate) fn write(&self, budget: usize) -> String {
        let written: Vec<String> = self.lines.iter().map(|line| indented(line, line.parts.iter())).collect();
        let mut order: Vec<usize> = (0..written.len()).collect();
        // What is on the screen comes before anything that is not.
        order.sort_by_key(|index| {
            self.lines.get(*index).map_or((false, 0), |line| (line.off_screen, line.rank))
        });
        let room = budget.saturating_sub(LEFT_OUT_ROOM + self.outside_note.chars().count());
        let (mut used, mut kept, mut left_out) = (0, vec![false; written.len()], 0);
        for index in order {
            let length = written.get(index).map_or(0, |line| line.chars().count() + 1);
            if used + length > room {
                left_out += self.lines.get(index).map_or(0, |line| line.parts.len());
                continue;
            }
            used += length;
            if let Some(slot) = kept.get_mut(index) {
                *slot = true;
            }
        }
        let mut text: String = written
            .iter()
            .zip(&kept)
            .filter(|(_, kept)| **kept)
            .map(|(line, _)| format!("{line}\n"))
            .collect();
        text.push_str(&self.outside_note);
        if left_out > 0 {
            let _ = writeln!(
                text,
                "[{left_out} more elements do not fit: close or scroll something to see them]"
            );
        }
        text
    }
}

/// Most characters of the text that tells the row of a control.
const ROW_NAME: usize = 40;
/// Room for the line about elements that do not fit.
const LEFT_OUT_ROOM: usize = 90;
/// The rank of what stands in a dialog.
const IN_DIALOG: u8 = 1;

/// What matters more has a lower number: windows and the focus, dialogs, bars, controls, texts, cells.
fn rank(node: &UiNode) -> u8 {
    if node.is(State::Focused) {
        return 0;
    }
    match node.role.as_str() {
        "window" | "application" => 0,
        "dialog" | "alertdialog" | "alert" => IN_DIALOG,
        "menubar" | "menu" | "toolbar" | "status" | "tab" | "tablist" | "menuitem" => 2,
        "cell" | "gridcell" | "row" => 5,
        "text" | "paragraph" | "heading" | "img" | "image" | "listitem" => 4,
        _ => 3,
    }
}

fn indented<'a>(line: &'a Line, parts: impl Iterator<Item = &'a Part>) -> String {
    format!("{}{}", "  ".repeat(line.depth), line.write(parts))
}

/// Writes one element.
fn part(node: &UiNode, selection: &Selection, index: usize, view: &View) -> Part {
    let role = node.role.as_str();
    let mut shown = node.clone();
    if let Some(name) = selection.lent_name(index) {
        name.clone_into(&mut shown.name);
    }
    let sayings: &[State] = match role {
        "button" => &[State::Unchecked, State::Editable],
        "combobox" | "slider" => &[],
        _ => &[State::Editable],
    };
    shown.states.retain(|state| !sayings.contains(state));
    if selection.tells_selection_above(index) {
        shown.states.remove(&State::Selected);
    }
    if shown.value.as_deref().is_some_and(|value| value.trim() == shown.name.trim()) {
        shown.value = None;
    }
    if role == "menuitem" && shown.states.remove(&State::Collapsed) && !selection.is_leaf(index) {
        shown.states.insert(State::Expanded);
    }
    let row = selection.row_of(index);
    if let Some(row) = row.first().filter(|row| !row.is_empty()) {
        let text = row.chars().take(ROW_NAME).collect();
        shown.details.push(Detail { kind: DetailKind::Row, text });
    }
    let middle = node.bounds.and_then(|bounds| bounds.centre()).and_then(|centre| view.to_image(centre));
    if !PLACED.contains(&role) {
        shown.bounds = None;
    }
    let mut text = outline_line(&shown, 0, view);
    if let Some(bounds) = node.bounds.filter(|_| DRAWING.contains(&role) && selection.is_leaf(index)) {
        let _ =
            write!(text, " ({} by {}: what it draws is in the picture alone)", bounds.width, bounds.height);
    }
    let off_screen = middle.is_none() && !WITHOUT_PLACE.contains(&role);
    if off_screen {
        text.push_str(" (off the screen)");
    }
    let word = role.replace(' ', "_");
    let short = text.strip_prefix(word.as_str()).unwrap_or(&text).trim_start().to_owned();
    let label = if shown.name.is_empty() {
        word
    } else {
        format!("{word} {:?}", shown.name.chars().take(60).collect::<String>())
    };
    let place = shown.bounds.and_then(|bounds| bounds.centre()).map(|centre| (centre.x, centre.y));
    let has_focus = shown.states.remove(&State::Focused);
    let value = shown.visible.map(|visible| visible.text).or(shown.value);
    let (name, states) = (shown.name, shown.states);
    let is_mark = |detail: &Detail| {
        matches!(detail.kind, DetailKind::Caret | DetailKind::SelectedText | DetailKind::SelectionStart)
    };
    let (marks, details) = shown.details.into_iter().partition(is_mark);
    let facts = Facts { name, value, details, states, has_focus, marks, place, off_screen };
    let row = row.join(" ");
    Part { id: node.id.clone(), label, text, short, role: role.to_owned(), facts, row }
}

/// Whether a part of an element is in the view.
fn is_on_screen(node: &UiNode, view: &View) -> bool {
    node.bounds.is_some_and(|bounds| bounds.overlaps(&view.region))
}

/// Roles that hold others, and lie where those lie.
const WITHOUT_PLACE: &[&str] = &[
    "window",
    "application",
    "dialog",
    "menubar",
    "toolbar",
    "tablist",
    "table",
    "tree",
    "treegrid",
    "list",
    "grid",
    "row",
    "status",
    "menu",
    "listbox",
    "document",
    "tab",
];

#[cfg(test)]
mod tests;
