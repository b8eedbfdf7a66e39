//! Counts the options of closed list boxes, which are not on the screen, and names them where they are few. Pure.

use std::collections::BTreeMap;

use apprentice_protocol::{State, UiNode, UiTree};

use super::left_out::Note;

/// So many options are named, up to this length in characters.
const FEW: usize = 12;
const SHORT: usize = 160;
/// Most characters of an option's name.
const NAME: usize = 40;

/// Leaves out the options of closed list boxes, and says below each box what it holds.
pub(super) fn count(
    tree: &UiTree,
    parents: &[Option<usize>],
    listed: &mut [bool],
    notes: &mut BTreeMap<usize, Note>,
) {
    let is_box =
        |node: &UiNode| matches!(node.role.as_str(), "combobox" | "button") && !node.is(State::Expanded);
    for list in 0..tree.nodes.len() {
        if !listed[list] || !is_box(&tree.nodes[list]) {
            continue;
        }
        let is_below =
            |index: &usize| std::iter::successors(parents[*index], |at| parents[*at]).any(|at| at == list);
        let held: Vec<usize> = (list + 1..tree.nodes.len()).take_while(is_below).collect();
        let options: Vec<usize> =
            held.iter().copied().filter(|index| tree.nodes[*index].role.as_str() == "option").collect();
        let is_drawn = |index: &usize| tree.nodes[*index].bounds.is_some();
        if options.is_empty() || options.iter().any(is_drawn) {
            continue;
        }
        for index in held.into_iter().filter(|index| !is_drawn(index)) {
            listed[index] = false;
        }
        let names: Vec<String> =
            options.iter().map(|index| tree.nodes[*index].name.chars().take(NAME).collect()).collect();
        notes.insert(list, Note::lasting(sentence(&names)));
    }
}

fn sentence(names: &[String]) -> String {
    let all = names.join(" | ");
    if names.len() <= FEW && all.chars().count() <= SHORT {
        return format!("[options: {all}]");
    }
    let (first, last) = (names.first(), names.last());
    let (first, last) = (first.map(String::as_str), last.map(String::as_str));
    format!(
        "[{} options, from {:?} to {:?}: choose one by its text]",
        names.len(),
        first.unwrap_or_default(),
        last.unwrap_or_default()
    )
}
