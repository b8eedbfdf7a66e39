//! Reduces tables and long lists to what stands around the cursor and the selection.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apprentice_protocol::{State, UiNode, UiTree};

use super::left_out::{LeftOut, Note, is_page};

/// Rows of a table that are listed from its beginning, and on both sides of the cursor or a selected row.
const FIRST_ROWS: usize = 12;
const AROUND: usize = 6;
/// Fewer cells than this are all listed.
const SMALL: usize = 30;
/// Rows with fewer cells than this in all are not left out: the one that is wanted may be among them.
const FEW: usize = 40;
/// Fewer cells without a place than this may be those of a column that does not show.
const RUN: usize = 6;

/// Whether a node is a cell of a table.
pub(super) fn is_cell(node: &UiNode) -> bool {
    matches!(node.role.as_str(), "cell" | "gridcell" | "columnheader" | "rowheader")
}

/// Leaves out empty cells and rows far from the cursor, and tells their number below the table.
pub(super) fn reduce(
    tree: &UiTree,
    parents: &[Option<usize>],
    listed: &mut [bool],
    notes: &mut BTreeMap<usize, Note>,
    left_out: &mut LeftOut,
) {
    let is_page = is_page(tree);
    let tables = (0..tree.nodes.len()).filter(|index| {
        ["table", "grid", "treegrid", "tree", "treetable", "list", "listbox"]
            .contains(&tree.nodes[*index].role.as_str())
    });
    for table in tables.collect::<Vec<_>>() {
        let below =
            |index: &usize| std::iter::successors(parents[*index], |at| parents[*at]).any(|at| at == table);
        let entry = |index: &usize| {
            let node = &tree.nodes[*index];
            stands_in_row(node) || matches!(node.role.as_str(), "listitem" | "treeitem" | "option")
        };
        let cells: Vec<usize> =
            (table + 1..tree.nodes.len()).take_while(|index| below(index)).filter(entry).collect();
        // What a page shows of a table is on the screen, and listed; the rest is counted with all that is off the screen.
        let is_sheet = cells.first().is_some_and(|cell| is_address(&tree.nodes[*cell].name));
        if is_page && !is_sheet {
            continue;
        }
        let out_of_view = out_of_view(tree, &cells);
        let mut note = Note::default();
        if cells.len() >= SMALL {
            let empty = leave_out_empty(tree, &cells, listed);
            let rows = rows(tree, cells.iter().copied().filter(|cell| listed[*cell]));
            let far = leave_out_far(tree, &rows, listed);
            left_out.held_back.extend(far.iter().flat_map(|row| &rows[*row]));
            left_out.empty.extend(cells.iter().copied().filter(|cell| is_empty(&tree.nodes[*cell])));
            note = rows_left_out(tree, &cells, &rows, &far).with_empty(empty);
        }
        if let Some(more) = out_of_view {
            note = note.followed_by(&more);
        }
        if listed[table] && !note.text.is_empty() {
            notes.insert(table, note);
        }
    }
}

/// Whether a node shares its row with others: a cell, or the check box of a row.
fn stands_in_row(node: &UiNode) -> bool {
    is_cell(node) || node.role.as_str() == "checkbox"
}

fn is_empty(node: &UiNode) -> bool {
    if node.role.as_str() == "checkbox" {
        return false;
    }
    let text = node.value.as_deref().unwrap_or(if is_address(&node.name) { "" } else { &node.name });
    text.trim().is_empty()
}

/// The place of a cell in a spreadsheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) row: u32,
    pub(super) column: u32,
}

impl Place {
    /// Reads the place from a name such as `B7`.
    pub(super) fn of(name: &str) -> Option<Self> {
        let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let letters = name.strip_suffix(digits).filter(|letters| (1..=3).contains(&letters.len()))?;
        let row = digits.parse().ok().filter(|_| digits.bytes().all(|c| c.is_ascii_digit()))?;
        let column = letters.bytes().fold(0, |column, letter| column * 26 + u32::from(letter - b'A') + 1);
        Some(Self { row, column })
    }
}

fn is_address(name: &str) -> bool {
    Place::of(name).is_some()
}

/// Says what a list holds outside of its visible part: entries without a place before the first that has one, and after the
/// last. A few may belong to a column that does not show.
fn out_of_view(tree: &UiTree, cells: &[usize]) -> Option<String> {
    let own: Vec<&UiNode> = cells
        .iter()
        .map(|cell| &tree.nodes[*cell])
        .filter(|node| {
            let above = node.parent.and_then(|parent| tree.nodes.get(parent as usize));
            let is_part = above.is_some_and(|above| above.role.as_str() == "generic");
            !is_part && !node.is(State::Hidden) && node.role.as_str() != "columnheader"
        })
        .collect();
    let first = own.iter().position(|node| node.bounds.is_some())?;
    let last = own.iter().rposition(|node| node.bounds.is_some())?;
    let told = [("above", &own[..first]), ("below", &own[last + 1..])].into_iter().filter_map(|(side, run)| {
        let names: Vec<String> =
            run.iter().filter(|node| is_cell(node) && !node.name.is_empty()).map(|node| short(&node.name)).collect();
        let (from, to) = (names.first()?, names.last()?);
        let count = names.len();
        (count >= RUN).then(|| format!("[out of view {side}: {count} more cells, from {from:?} to {to:?}; scroll the list to see them]"))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}

/// Leaves out empty cells, except those with the cursor. Returns their number.
fn leave_out_empty(tree: &UiTree, cells: &[usize], listed: &mut [bool]) -> usize {
    let mut empty = 0;
    for cell in cells {
        let node = &tree.nodes[*cell];
        if is_empty(node) && !node.is(State::Focused) && !node.is(State::Selected) {
            empty += usize::from(is_address(&node.name));
            listed[*cell] = false;
        }
    }
    empty
}

/// The rows of these cells, from top to bottom.
fn rows(tree: &UiTree, cells: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for cell in cells {
        let node = &tree.nodes[cell];
        let same = rows.last().and_then(|row| row.last()).is_some_and(|last| {
            let last = &tree.nodes[*last];
            let top = |node: &UiNode| node.bounds.map(|bounds| bounds.y);
            stands_in_row(node) && top(last) == top(node)
        });
        match rows.last_mut() {
            Some(row) if same => row.push(cell),
            _ => rows.push(vec![cell]),
        }
    }
    rows
}

/// Leaves out rows far from the beginning, the cursor and the selection. Returns their numbers.
fn leave_out_far(tree: &UiTree, rows: &[Vec<usize>], listed: &mut [bool]) -> BTreeSet<usize> {
    let marked = |row: &Vec<usize>| {
        row.iter().any(|cell| tree.nodes[*cell].is(State::Focused) || tree.nodes[*cell].is(State::Selected))
    };
    let focus =
        (0..rows.len()).find(|row| rows[*row].iter().any(|cell| tree.nodes[*cell].is(State::Focused)));
    let is_near_focus = |row: usize| focus.is_some_and(|focus| row.abs_diff(focus) <= AROUND);
    let marks: Vec<usize> = (0..rows.len()).filter(|row| marked(&rows[*row])).collect();
    let ends = marks.first().copied().zip(marks.last().copied());
    // Of a long selection, only the first and the last row are listed.
    let is_long = |(first, last): (usize, usize)| last - first + 1 == marks.len() && marks.len() > FIRST_ROWS;
    let is_near = |row: usize| {
        let near_mark = match ends.filter(|ends| is_long(*ends)) {
            Some((first, last)) => row == first || row == last,
            None => marks.iter().any(|mark| row.abs_diff(*mark) <= AROUND),
        };
        row < FIRST_ROWS || near_mark || is_near_focus(row)
    };
    let far: BTreeSet<usize> = (0..rows.len()).filter(|row| !is_near(*row)).collect();
    if far.iter().filter_map(|row| rows.get(*row)).map(Vec::len).sum::<usize>() < FEW {
        return BTreeSet::new();
    }
    for cell in far.iter().flat_map(|row| &rows[*row]) {
        listed[*cell] = false;
    }
    far
}

/// Says which rows are left out. Of a spreadsheet, it says what is on the screen, too.
fn rows_left_out(tree: &UiTree, cells: &[usize], rows: &[Vec<usize>], far: &BTreeSet<usize>) -> Note {
    let how = "select a row near them, or scroll, to list them";
    let first_name = |row: usize| {
        let cells = rows.get(row).into_iter().flatten();
        let mut names = cells.map(|cell| short(&tree.nodes[*cell].name)).filter(|name| !name.is_empty());
        names.next().unwrap_or_default()
    };
    let ends = cells
        .first()
        .zip(cells.last())
        .map(|(first, last)| [first, last].map(|cell| &tree.nodes[*cell].name));
    if let Some([first, last]) = ends.filter(|ends| ends.iter().all(|name| is_address(name))) {
        let numbers = far.iter().filter_map(|row| Place::of(&first_name(*row))).map(|place| place.row);
        let told = match runs(numbers).join(", ") {
            none if none.is_empty() => format!("[on the screen: {first} to {last}]"),
            rows => format!("[on the screen: {first} to {last}; not listed: rows {rows}; {how}]"),
        };
        return Note::lasting(told);
    }
    let Some((first, last)) = far.first().zip(far.last()) else { return Note::default() };
    let (count, first, last) = (far.len(), first_name(*first), first_name(*last));
    Note::lasting(format!("[not listed: {count} more rows on the screen, from {first:?} to {last:?}; {how}]"))
}

/// Numbers that follow on each other, as `3 to 7`.
fn runs(numbers: impl Iterator<Item = u32>) -> Vec<String> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let write = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    };
    runs.into_iter().map(write).collect()
}

impl Note {
    /// Adds the number of empty cells, which is not told again when it changes.
    fn with_empty(mut self, empty: usize) -> Self {
        if empty > 0 {
            let gap = if self.text.is_empty() { "" } else { " " };
            let _ = write!(self.text, "{gap}[{empty} empty cells are not listed]");
        }
        self
    }

    fn followed_by(mut self, sentence: &str) -> Self {
        for text in [&mut self.text, &mut self.lasting] {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(sentence);
        }
        self
    }
}
