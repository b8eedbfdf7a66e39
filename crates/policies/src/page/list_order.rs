//! Orders a list on a page: determines the requested order and makes one move towards it at a time.

use apprentice_protocol::{Action, Button, ImagePoint};

use super::super::actions::{click, key, quoted};
use super::super::policy::Move;
use super::super::scene::Element;
use super::super::text_match::plain;
use super::instruction::{InstructionClause, ParsedInstruction};
use super::page_view::{PageControlKind, PageView};

/// Verbs that ask for an order.
const ORDERING: &[&str] = &["sort", "move", "put", "drag", "order", "arrange", "place", "bring", "swap"];
/// Modifier keys held while an arrow key moves the focused entry. Programs differ, so they are tried in turn.
const MODIFIERS: &[&str] = &["alt", "ctrl", "ctrl+shift", "shift"];

/// The reordering methods tried on a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ListOrdering {
    before: Vec<String>,
    means: usize,
    moves: u32,
}

struct ListEntry<'s> {
    name: String,
    row: usize,
    element: &'s Element,
}

/// Returns the entries of the longest list on the page.
fn lines<'s>(page: &PageView<'s>) -> Vec<ListEntry<'s>> {
    let elements = &page.scene.elements;
    let is_line =
        |element: &Element| matches!(element.role.as_str(), "listitem" | "row" | "option" | "treeitem");
    let mut best: Vec<ListEntry<'s>> = Vec::new();
    for (parent, _) in
        elements.iter().enumerate().filter(|(index, _)| page.scene.is_within(*index, page.root))
    {
        let of_parent = elements
            .iter()
            .enumerate()
            .filter(|(_, element)| element.parent == Some(parent) && is_line(element));
        let found: Vec<ListEntry<'s>> = of_parent
            .filter_map(|(row, element)| {
                let texts = page.texts_of(row);
                let name =
                    texts.into_iter().find(|text| text.chars().filter(|c| c.is_alphabetic()).count() > 1)?;
                Some(ListEntry { name, row, element })
            })
            .collect();
        if found.len() > best.len() {
            best = found;
        }
    }
    best
}

/// Returns the order that a clause requests; `None` if it requests none.
fn wanted(parsed: &ParsedInstruction, clause: &InstructionClause, names: &[String]) -> Option<Vec<String>> {
    if !ORDERING.contains(&clause.verb.as_str()) || names.len() < 2 {
        return None;
    }
    let words = plain(&clause.text);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let mut sorted = names.to_vec();
    if has(&["alphabet", "alphabetical", "alphabetically"]) {
        sorted.sort_by_key(|name| name.to_lowercase());
        if has(&["reverse", "reversed", "backwards", "descending"]) {
            sorted.reverse();
        }
        return Some(sorted);
    }
    let mut named: Vec<(usize, &String)> = names
        .iter()
        .filter(|name| parsed.names(name))
        .filter_map(|name| Some((place(&words, name)?, name)))
        .collect();
    named.sort_by_key(|(at, _)| *at);
    let (_, moved) = named.first()?;
    sorted.retain(|name| name != *moved);
    let other = named.get(1).and_then(|(_, other)| sorted.iter().position(|name| name == *other));
    let at = match other {
        Some(other) if has(&["before", "above"]) => other,
        Some(other) if has(&["after", "below", "behind", "under"]) => other + 1,
        _ if has(&["top", "first", "beginning", "start"]) => 0,
        _ if has(&["bottom", "last", "end"]) => sorted.len(),
        _ => return None,
    };
    sorted.insert(at, (*moved).clone());
    Some(sorted)
}

fn place(words: &[String], name: &str) -> Option<usize> {
    let name = plain(name);
    words.windows(name.len().max(1)).position(|run| run == name)
}

/// Returns whether the list has the requested order; `None` if the clause requests no order.
pub(super) fn is_in_order(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    clause: &InstructionClause,
) -> Option<bool> {
    let names: Vec<String> = lines(page).into_iter().map(|line| line.name).collect();
    Some(wanted(parsed, clause, &names)? == names)
}

impl ListOrdering {
    /// Returns the next move towards the requested order.
    pub(super) fn next(
        &mut self,
        page: &PageView<'_>,
        parsed: &ParsedInstruction,
        clause: &InstructionClause,
    ) -> Option<Move> {
        let lines = lines(page);
        let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
        let wanted = wanted(parsed, clause, &names)?;
        if wanted == names || self.moves > 14 {
            return None;
        }
        if self.moves > 0 && self.before == names {
            self.means += 1;
        }
        self.before.clone_from(&names);
        self.moves += 1;
        let far =
            |at: &usize| wanted.iter().position(|name| *name == names[*at]).map_or(0, |to| to.abs_diff(*at));
        let from = (0..names.len()).max_by_key(far)?;
        let to = wanted.iter().position(|name| *name == names[from])?;
        let line = &lines[from];
        let say = format!("{} must move {}.", quoted(&line.name), if to < from { "up" } else { "down" });
        if let Some(button) = arrow(page, line, to < from) {
            return Some(Move::Act { say, actions: vec![click(button, Button::Left, 1)] });
        }
        let actions = match MODIFIERS.get(self.means) {
            Some(held) => {
                let chord = format!("{held}+{}", if to < from { "up" } else { "down" });
                let mut actions = vec![click(line.element, Button::Left, 1)];
                actions.extend((0..from.abs_diff(to)).filter_map(|_| key(&chord)));
                actions
            }
            None if self.means == MODIFIERS.len() => drag(line, lines.get(to)?, to < from)?,
            None => return None,
        };
        Some(Move::Act { say, actions })
    }
}

/// Returns the button of an entry that moves it up or down.
fn arrow<'s>(page: &PageView<'s>, line: &ListEntry<'_>, up: bool) -> Option<&'s Element> {
    let words: &[&str] = if up {
        &["up", "higher", "earlier", "▲", "↑"]
    } else {
        &["down", "lower", "later", "▼", "↓"]
    };
    let says = |label: &str| {
        plain(label).iter().any(|word| words.contains(&word.as_str())) || words.contains(&label.trim())
    };
    let found = page.controls.iter().find(|control| {
        control.sort == PageControlKind::Button && control.row == Some(line.row) && says(&control.label)
    });
    found.map(|control| control.element)
}

fn drag(from: &ListEntry<'_>, to: &ListEntry<'_>, up: bool) -> Option<Vec<Action<ImagePoint>>> {
    let (start, end) = (from.element.at?, to.element.at?);
    let beyond = ImagePoint::new(end.x, end.y + if up { -6.0 } else { 6.0 });
    let middle = ImagePoint::new(f64::midpoint(start.x, end.x), f64::midpoint(start.y, end.y));
    Some(vec![Action::Drag { path: vec![start, middle, end, beyond], button: Button::Left }])
}
