//! Says of many selected elements of a table or a text in one sentence that they are. Pure.

use std::collections::{BTreeMap, HashSet};

use apprentice_protocol::{State, UiTree};

use super::left_out::{Note, nearest};
use super::table::Place;

/// So many selected elements are told one by one.
const FEW: usize = 3;
/// Longest name of an element in a sentence, in characters.
const NAME: usize = 30;

/// Writes the sentences, and returns the elements that they speak of. A selection that no sentence tells exactly stays with its
/// elements.
pub(super) fn summarize(
    tree: &UiTree,
    parents: &[Option<usize>],
    listed: &[bool],
    notes: &mut BTreeMap<usize, Note>,
) -> HashSet<usize> {
    let mut by_holder: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        let above = parents[index].filter(|_| node.is(State::Selected) && !node.is(State::Hidden));
        if let Some(above) =
            above.and_then(|above| if listed[above] { Some(above) } else { nearest(parents, above, listed) })
        {
            by_holder.entry(above).or_default().push(index);
        }
    }
    let mut told = HashSet::new();
    for (holder, selected) in by_holder {
        let Some(sentence) = sentence(tree, parents, &selected).filter(|_| selected.len() > FEW) else {
            continue;
        };
        let note = notes.remove(&holder).unwrap_or_default();
        let joined =
            |rest: &str| if rest.is_empty() { sentence.clone() } else { format!("{sentence} {rest}") };
        notes.insert(holder, Note { text: joined(&note.text), lasting: joined(&note.lasting) });
        told.extend(selected);
    }
    told
}

/// The sentence about these elements, or `None` if there are others between them.
fn sentence(tree: &UiTree, parents: &[Option<usize>], selected: &[usize]) -> Option<String> {
    let (first, last) = (*selected.first()?, *selected.last()?);
    let name = |index: usize| -> String {
        let node = &tree.nodes[index];
        let text = if node.name.is_empty() { node.value.as_deref().unwrap_or_default() } else { &node.name };
        text.chars().take(NAME).collect()
    };
    let places: Option<Vec<Place>> =
        selected.iter().map(|index| Place::of(&tree.nodes[*index].name)).collect();
    if let Some(places) = places {
        return is_block(&places).then(|| format!("[selected: {} to {}]", name(first), name(last)));
    }
    let role = &tree.nodes[first].role;
    let alike = |index: &usize| {
        let node = &tree.nodes[*index];
        node.role == *role && parents[*index] == parents[first] && !node.is(State::Hidden)
    };
    let between = (first..=last).filter(alike).count();
    let all = (0..tree.nodes.len()).filter(alike).count();
    match selected.len() {
        count if count == all => Some(format!("[selected: all of the {count}]")),
        count if count == between => {
            Some(format!("[selected: {count}, from {:?} to {:?}]", name(first), name(last)))
        }
        _ => None,
    }
}

/// Whether these places are all of the cells between the first and the last.
fn is_block(places: &[Place]) -> bool {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return false };
    let mut block = (first.row..=last.row)
        .flat_map(|row| (first.column..=last.column).map(move |column| Place { row, column }));
    places.iter().all(|place| block.next() == Some(*place)) && block.next().is_none()
}
