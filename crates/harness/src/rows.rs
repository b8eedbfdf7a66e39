//! What tells controls apart that look alike: the texts of the row, card or line that each of them stands in. Pure.

use std::collections::{BTreeMap, HashMap};

use apprentice_protocol::{UiNode, UiTree};

/// Roles of what holds one thing of several.
const ROWS: &[&str] = &["row", "listitem", "article", "treeitem"];
/// Roles of what is pressed, ticked or filled in.
const CONTROLS: &[&str] = &[
    "button",
    "togglebutton",
    "link",
    "checkbox",
    "radio",
    "switch",
    "textbox",
    "combobox",
    "spinbutton",
    "slider",
    "clickable",
];
/// Roles of what says which row it is.
const TEXTS: &[&str] = &["text", "statictext", "cell", "gridcell", "rowheader", "heading", "label", "link"];
/// Most texts of a row that are remembered, and most nodes of it that are looked at.
const MOST: usize = 3;
const LOOKED: usize = 60;
/// Longer texts are no names of a row.
const LONG: usize = 80;

/// The texts that tell each control of several alike from the others, by its number in the tree.
pub(crate) fn texts(tree: &UiTree) -> BTreeMap<usize, Vec<String>> {
    let mut alike: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        if CONTROLS.contains(&node.role.as_str()) {
            alike.entry((node.role.as_str(), node.name.as_str())).or_default().push(index);
        }
    }
    let mut told = BTreeMap::new();
    for controls in alike.values().filter(|controls| controls.len() > 1) {
        let found: Vec<Vec<&str>> = controls
            .iter()
            .enumerate()
            .map(|(number, control)| match row_of(tree, *control) {
                Some(row) => texts_of_row(tree, row, *control),
                None => {
                    let before = number.checked_sub(1).and_then(|number| controls.get(number)).copied();
                    texts_beside(tree, *control, before, controls.get(number + 1).copied())
                }
            })
            .collect();
        // What stands in the rows of others, too, tells nothing.
        let mut counts: HashMap<&str, usize> = HashMap::new();
        found.iter().flatten().for_each(|text| *counts.entry(text).or_default() += 1);
        for (control, texts) in controls.iter().zip(&found) {
            let own = texts.iter().filter(|text| counts.get(**text) == Some(&1));
            let mut own: Vec<String> = own.take(MOST).map(|text| (*text).to_owned()).collect();
            if own.is_empty() {
                own.extend(texts.first().map(|text| (*text).to_owned()));
            }
            if !own.is_empty() {
                told.insert(*control, own);
            }
        }
    }
    told
}

fn above(tree: &UiTree, index: usize) -> Option<usize> {
    tree.nodes.get(index)?.parent.map(|parent| parent as usize)
}

/// The innermost row, card or item that holds a node.
fn row_of(tree: &UiTree, index: usize) -> Option<usize> {
    let mut holders = std::iter::successors(above(tree, index), |at| above(tree, *at));
    holders.find(|at| tree.nodes.get(*at).is_some_and(|node| ROWS.contains(&node.role.as_str())))
}

fn says<'a>(node: &'a UiNode, control: &UiNode) -> Option<&'a str> {
    let text = node.name.trim();
    let tells = TEXTS.contains(&node.role.as_str()) && !text.is_empty() && text.chars().count() <= LONG;
    // A cell that holds the control is named by it.
    let repeats =
        text == control.name.trim() || (!control.name.is_empty() && text.contains(control.name.trim()));
    (tells && !repeats).then_some(text)
}

/// The texts of a row, in order.
fn texts_of_row(tree: &UiTree, row: usize, control: usize) -> Vec<&str> {
    let is_below = |index: &usize| {
        std::iter::successors(above(tree, *index), |at| above(tree, *at).filter(|at| *at >= row))
            .any(|at| at == row)
    };
    let Some(own) = tree.nodes.get(control) else { return Vec::new() };
    let held = (row + 1..tree.nodes.len()).take_while(is_below).take(LOOKED);
    let mut texts: Vec<&str> = Vec::new();
    for text in held.filter(|index| *index != control).filter_map(|index| says(&tree.nodes[index], own)) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let name = tree.nodes.get(row).map(|row| row.name.trim()).unwrap_or_default();
    if texts.is_empty() && !name.is_empty() && name.chars().count() <= LONG {
        texts.push(name);
    }
    texts
}

/// The text beside a control that stands in no row: the last one before it, or else the first one behind it, among its neighbours
/// up to the next control like it.
fn texts_beside(tree: &UiTree, control: usize, before: Option<usize>, behind: Option<usize>) -> Vec<&str> {
    let Some(own) = tree.nodes.get(control) else { return Vec::new() };
    let from = before.map_or(0, |before| before + 1).max(control.saturating_sub(LOOKED));
    let to = behind.unwrap_or(tree.nodes.len()).min(control + LOOKED);
    let beside = |index: &usize| tree.nodes[*index].parent == own.parent;
    let earlier = (from..control).rev().filter(beside).find_map(|index| says(&tree.nodes[index], own));
    let found =
        earlier.or_else(|| (control + 1..to).filter(beside).find_map(|index| says(&tree.nodes[index], own)));
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{NodeRef, Role, UiNode, UiTree};

    use super::texts;

    fn tree(lines: &[(Option<u32>, &str, &str)]) -> UiTree {
        let node = |(index, (parent, role, name)): (usize, &(Option<u32>, &str, &str))| UiNode {
            id: NodeRef(format!("n{index}")),
            parent: *parent,
            role: Role::new(*role),
            name: (*name).to_owned(),
            value: None,
            visible: None,
            details: Vec::new(),
            states: [].into(),
            bounds: None,
        };
        UiTree { nodes: lines.iter().enumerate().map(node).collect(), truncated: None }
    }

    fn check(lines: &[(Option<u32>, &str, &str)], expected: &[(usize, &[&str])]) {
        let found: Vec<(usize, Vec<String>)> = texts(&tree(lines)).into_iter().collect();
        let expected: Vec<(usize, Vec<String>)> = expected
            .iter()
            .map(|(index, texts)| (*index, texts.iter().map(|text| (*text).to_owned()).collect()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn controls_that_look_alike_are_told_apart_by_their_rows() {
        let rows = [
            (None, "table", ""),
            (Some(0), "row", ""),
            (Some(1), "cell", "1001"),
            (Some(1), "cell", "Open"),
            (Some(1), "cell", "Cancel"),
            (Some(4), "button", "Cancel"),
            (Some(0), "row", ""),
            (Some(6), "cell", "1002"),
            (Some(6), "cell", "Open"),
            (Some(6), "button", "Cancel"),
            (None, "button", "Save"),
        ];
        check(&rows, &[(5, &["1001"]), (9, &["1002"])]);
    }

    #[test]
    fn without_rows_the_text_beside_tells() {
        let flat = [
            (None, "document", ""),
            (Some(0), "text", "Ann"),
            (Some(0), "button", "Delete"),
            (Some(0), "text", "Ben"),
            (Some(0), "button", "Delete"),
        ];
        check(&flat, &[(2, &["Ann"]), (4, &["Ben"])]);
        check(&[(None, "button", "x"), (None, "button", "x")], &[]);
    }
}
