//! Selects the nodes of a tree that a model's list holds.

use std::collections::{BTreeMap, HashSet};

use apprentice_protocol::{DetailKind, Rect, State, UiNode, UiTree, counted, is_listed};

use super::left_out::{LeftOut, Note, is_page, nearest};
use super::{closed_lists, selected, table};

/// Roles that never help a model to act.
const SILENT: &[&str] = &[
    "separator",
    "filler",
    "scrollbar",
    "ruler",
    "splitpane",
    "rootpane",
    "viewport",
    "application",
    "notification",
];
/// Roles that hold others and say nothing without them.
const HOLDERS: &[&str] = &[
    "rootpane",
    "toolbar",
    "menubar",
    "tablist",
    "tab",
    "list",
    "listbox",
    "table",
    "tree",
    "treegrid",
    "row",
    "grid",
    "scrollpane",
    "group",
    "generic",
    "region",
    "status",
    "form",
    "main",
    "banner",
    "navigation",
    "section",
    "article",
    "paragraph",
    "panel",
    "menu",
    "rowgroup",
    "listitem",
    "unknown",
    "none",
];
/// Roles of texts, which often repeat what holds them.
const TEXTS: &[&str] =
    &["text", "generic", "label", "statictext", "img", "image", "cell", "option", "labeltext"];

/// Which nodes are listed.
pub(super) struct Selection {
    /// Whether it is the tree of a page, which tells the place of all that is drawn.
    is_page: bool,
    /// What tells controls apart that look alike.
    rows: BTreeMap<usize, Vec<String>>,
    listed: Vec<bool>,
    holders: Vec<Option<usize>>,
    leaves: Vec<bool>,
    /// Names that nameless controls get from the group that holds nothing else.
    lent: BTreeMap<usize, String>,
    /// Whether a cell stands in the same row as the listed cell before it.
    in_row: Vec<bool>,
    notes: BTreeMap<usize, Note>,
    /// Nodes of which the sentence above says that they are selected.
    selected: HashSet<usize>,
    left_out: LeftOut,
}

impl Selection {
    /// Selects from a tree.
    pub(super) fn of(tree: &UiTree) -> Self {
        let parents: Vec<Option<usize>> = tree
            .nodes
            .iter()
            .map(|node| node.parent.and_then(|parent| usize::try_from(parent).ok()))
            .collect();
        let mut notes = BTreeMap::new();
        let is_page = is_page(tree);
        let gone = doubled_bars(tree, &parents);
        let behind = windows_behind(tree, &parents);
        let mut listed: Vec<bool> = Vec::with_capacity(tree.nodes.len());
        let mut unusable: Vec<bool> = Vec::with_capacity(tree.nodes.len());
        let mut left_out = LeftOut::default();
        for (index, node) in tree.nodes.iter().enumerate() {
            let above = parents[index];
            let within = above.is_some_and(|above| unusable[above]);
            let shown = says(node, is_page) && !within && !gone.contains(&index);
            listed.push(shown);
            if within && says(node, is_page) && !gone.contains(&index) {
                left_out.held_back.insert(index);
            }
            unusable.push(within || behind.contains(&index));
        }
        for window in &behind {
            let count =
                left_out.held_back.iter().filter(|index| is_below(&parents, **index, *window)).count();
            // It may lie behind the other one, beside it, or on another monitor.
            let are = if count == 1 { "is" } else { "are" };
            let text = format!("[not in front: its {} {are} listed once it is]", counted(count, "element"));
            notes.insert(*window, Note::lasting(text));
        }
        left_out.held_back.extend(leave_out_covered(tree, &parents, &mut listed, &mut notes));
        leave_cells_to_speak(tree, &parents, &mut listed);
        drop_repeated_texts(tree, &parents, &mut listed);
        closed_lists::count(tree, &parents, &mut listed, &mut notes);
        table::reduce(tree, &parents, &mut listed, &mut notes, &mut left_out);
        let selected = selected::summarize(tree, &parents, &listed, &mut notes);
        drop_empty_holders(tree, &parents, &mut listed, &notes);
        let lent = lend_names(tree, &parents, &mut listed);
        let rows = crate::rows::texts(tree);
        Self { is_page, rows, lent, selected, left_out, ..Self::with(tree, &parents, listed, notes) }
    }

    fn with(
        tree: &UiTree,
        parents: &[Option<usize>],
        listed: Vec<bool>,
        notes: BTreeMap<usize, Note>,
    ) -> Self {
        let mut holders = Vec::with_capacity(listed.len());
        let mut leaves = vec![true; listed.len()];
        let mut in_row = vec![false; listed.len()];
        let mut last: Option<usize> = None;
        for index in 0..listed.len() {
            let holder = nearest(parents, index, &listed);
            holders.push(holder);
            if !listed[index] {
                continue;
            }
            if let Some(holder) = holder {
                leaves[holder] = false;
            }
            in_row[index] = match last {
                Some(last) => is_same_row(&tree.nodes[last], &tree.nodes[index]),
                None => false,
            };
            last = Some(index);
        }
        Self {
            is_page: false,
            rows: BTreeMap::new(),
            listed,
            holders,
            leaves,
            in_row,
            notes,
            lent: BTreeMap::new(),
            selected: HashSet::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Whether a node is listed.
    pub(super) fn has(&self, index: usize) -> bool {
        self.listed.get(index).copied().unwrap_or(false)
    }

    /// The nearest listed node that holds a node.
    pub(super) fn holder(&self, index: usize) -> Option<usize> {
        self.holders.get(index).copied().flatten()
    }

    /// Whether a node holds no listed node.
    pub(super) fn is_leaf(&self, index: usize) -> bool {
        self.leaves.get(index).copied().unwrap_or(true)
    }

    /// Whether a node continues the row of the one before it. What is no cell always does.
    pub(super) fn continues_row(&self, index: usize) -> bool {
        self.in_row.get(index).copied().unwrap_or(false)
    }

    /// The name that a nameless node has from its group.
    pub(super) fn lent_name(&self, index: usize) -> Option<&str> {
        self.lent.get(&index).map(String::as_str)
    }

    /// Whether it is the tree of a page.
    pub(super) fn is_page(&self) -> bool {
        self.is_page
    }

    /// The texts that tell a control from others that look alike; none where no other does.
    pub(super) fn row_of(&self, index: usize) -> &[String] {
        self.rows.get(&index).map_or(&[], Vec::as_slice)
    }

    /// The sentence below a node.
    pub(super) fn note(&self, index: usize) -> Option<&Note> {
        self.notes.get(&index)
    }

    /// What was left out although it is on the screen.
    pub(super) fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Whether the sentence of what holds a node says that it is selected.
    pub(super) fn tells_selection_above(&self, index: usize) -> bool {
        self.selected.contains(&index)
    }
}

fn is_below(parents: &[Option<usize>], index: usize, above: usize) -> bool {
    std::iter::successors(parents[index], |at| parents[*at]).any(|at| at == above)
}

fn is_same_row(one: &UiNode, other: &UiNode) -> bool {
    if !table::is_cell(other) {
        return true;
    }
    match (one.bounds, other.bounds) {
        (Some(one), Some(other)) => one.y == other.y,
        (None, None) => true,
        _ => false,
    }
}

/// Whether a node says something, looked at by itself. In a page, what has no place may be scrolled to.
fn says(node: &UiNode, is_page: bool) -> bool {
    let role = node.role.as_str();
    let acts = node.is(State::Focused) || (node.is(State::Editable) && node.bounds.is_some());
    let named = !node.name.is_empty() || node.value.as_deref().is_some_and(|value| !value.trim().is_empty());
    let silent = SILENT.contains(&role) && (role == "rootpane" || !node.is(State::Focused));
    let bare_button = role == "button" && !named && node.is(State::Disabled);
    let empty_text = ["text", "paragraph", "img", "image", "heading", "option", "cell", "gridcell"]
        .contains(&role)
        && !named;
    let placeless = !is_page && ["cell", "text", "tab"].contains(&role) && node.bounds.is_none() && !acts;
    let useless = silent || bare_button || placeless || (empty_text && !acts);
    is_listed(node) && !useless && (named || acts || role != "unknown")
}

/// Menu bars that list what an earlier one of their window lists, with what is in them. LibreOffice has two, of which the second
/// reports wrong positions.
fn doubled_bars(tree: &UiTree, parents: &[Option<usize>]) -> HashSet<usize> {
    let mut known: HashSet<(Option<usize>, Vec<&str>)> = HashSet::new();
    let mut doubled = HashSet::new();
    for index in (0..tree.nodes.len()).filter(|index| tree.nodes[*index].role.as_str() == "menubar") {
        let items = || (0..tree.nodes.len()).filter(|at| parents[*at] == Some(index));
        let names: Vec<&str> = items().map(|at| tree.nodes[at].name.as_str()).collect();
        let is_open = (0..tree.nodes.len()).any(|at| {
            parents[at] != Some(index) && is_below(parents, at, index) && is_listed(&tree.nodes[at])
        });
        let window = std::iter::successors(parents[index], |at| parents[*at])
            .find(|above| tree.nodes[*above].role.is_window());
        if !known.insert((window, names)) && !is_open {
            doubled.insert(index);
        }
    }
    // A node comes after what it is in.
    for (index, above) in parents.iter().enumerate() {
        if above.is_some_and(|above| doubled.contains(&above)) {
            doubled.insert(index);
        }
    }
    doubled
}

/// Windows that cannot be used as long as another is in front: a modal dialog blocks its program, and another program's
/// window has to come to the front first.
fn windows_behind(tree: &UiTree, parents: &[Option<usize>]) -> HashSet<usize> {
    let is_window = |index: usize| {
        let above = std::iter::successors(parents[index], |at| parents[*at]);
        tree.nodes[index].role.is_window()
            && above.map(|at| tree.nodes[at].role.as_str()).all(|role| role == "application")
    };
    let windows: Vec<usize> = (0..tree.nodes.len()).filter(|index| is_window(*index)).collect();
    let Some(front) = windows.iter().copied().find(|index| tree.nodes[*index].is(State::Active)) else {
        return HashSet::new();
    };
    let blocks = tree.nodes[front].is(State::Modal);
    let is_covered =
        |index: usize| tree.nodes[index].details.iter().any(|detail| detail.kind == DetailKind::CoveredBy);
    let other = |index: &usize| parents[*index] != parents[front] || blocks || is_covered(*index);
    windows
        .into_iter()
        .filter(|index| *index != front && !tree.nodes[*index].name.is_empty())
        .filter(|index| !tree.nodes[*index].is(State::Active))
        .filter(|index| !tree.nodes[*index].is(State::Modal) || is_covered(*index))
        .filter(other)
        .collect()
}

/// Leaves out what lies behind the dialog in front, in other windows of its program: a click there hits the dialog. Returns
/// what that is.
fn leave_out_covered(
    tree: &UiTree,
    parents: &[Option<usize>],
    listed: &mut [bool],
    notes: &mut BTreeMap<usize, Note>,
) -> Vec<usize> {
    let mut covered = Vec::new();
    let is_dialog =
        |node: &UiNode| node.role.is_window() && node.role.as_str() != "window" && node.is(State::Active);
    let Some(front) = tree.nodes.iter().position(is_dialog) else { return covered };
    let Some(cover) = tree.nodes[front].bounds else { return covered };
    let is_below_front = |index: usize| index == front || is_below(parents, index, front);
    let windows = (0..tree.nodes.len()).filter(|index| {
        let node = &tree.nodes[*index];
        let named = node.role.is_window() && !node.name.is_empty();
        named && *index != front && parents[*index] == parents[front] && !notes.contains_key(index)
    });
    for window in windows.collect::<Vec<_>>() {
        // What cannot be used as long as the dialog is there is of no use either.
        let is_useless = |node: &UiNode| {
            node.is(State::Disabled) || node.bounds.is_some_and(|bounds| lies_within(bounds, cover))
        };
        let hidden: Vec<usize> = (window + 1..tree.nodes.len())
            .take_while(|index| is_below(parents, *index, window))
            .filter(|index| listed[*index] && !is_below_front(*index))
            .filter(|index| is_useless(&tree.nodes[*index]))
            .collect();
        if hidden.is_empty() {
            continue;
        }
        let name = &tree.nodes[front].name;
        let note = format!(
            "[{} more elements of this window are not listed: they are behind {name:?} or disabled]",
            hidden.len()
        );
        hidden.iter().for_each(|index| listed[*index] = false);
        covered.extend(hidden);
        notes.insert(window, Note::lasting(note));
    }
    covered
}

/// Whether all of an element is covered.
fn lies_within(inner: Rect, outer: Rect) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x.saturating_add(inner.width) <= outer.x.saturating_add(outer.width)
        && inner.y.saturating_add(inner.height) <= outer.y.saturating_add(outer.height)
}

/// Controls that may have no name of their own.
const CONTROLS: &[&str] =
    &["button", "textbox", "combobox", "spinbutton", "slider", "checkbox", "radio", "paragraph"];
/// Most controls of a group that get its name.
const LENT: usize = 3;

/// Gives the name of a group to the nameless controls in it, if it holds nothing else, and leaves the group out.
fn lend_names(tree: &UiTree, parents: &[Option<usize>], listed: &mut [bool]) -> BTreeMap<usize, String> {
    let mut lent = BTreeMap::new();
    let groups = (0..tree.nodes.len()).filter(|index| {
        let node = &tree.nodes[*index];
        ["group", "toolbar", "panel"].contains(&node.role.as_str()) && !node.name.is_empty()
    });
    for group in groups {
        let held: Vec<usize> = (group + 1..tree.nodes.len())
            .take_while(|index| is_below(parents, *index, group))
            .filter(|index| listed[*index])
            .collect();
        let bare = |index: &usize| {
            let node = &tree.nodes[*index];
            CONTROLS.contains(&node.role.as_str()) && node.name.is_empty()
        };
        if listed[group] && (1..=LENT).contains(&held.len()) && held.iter().all(bare) {
            listed[group] = false;
            lent.extend(held.into_iter().map(|index| (index, tree.nodes[group].name.clone())));
        }
    }
    lent
}

/// Leaves out rows that hold cells alone and get their names from them: the cells are what is pointed at.
fn leave_cells_to_speak(tree: &UiTree, parents: &[Option<usize>], listed: &mut [bool]) {
    let says_more = |node: &UiNode| {
        [State::Focused, State::Selected, State::Expanded, State::Collapsed]
            .iter()
            .any(|state| node.is(*state))
    };
    for index in 0..tree.nodes.len() {
        let row = &tree.nodes[index];
        if !listed[index] || row.role.as_str() != "row" || row.name.is_empty() || says_more(row) {
            continue;
        }
        let held = (index + 1..tree.nodes.len()).take_while(|at| is_below(parents, *at, index));
        let mut held = held.filter(|at| listed[*at]).map(|at| &tree.nodes[at]).peekable();
        if held.peek().is_some()
            && held.all(|node| table::is_cell(node) || TEXTS.contains(&node.role.as_str()))
        {
            listed[index] = false;
        }
    }
}

/// Leaves out texts that repeat the element that holds them.
fn drop_repeated_texts(tree: &UiTree, parents: &[Option<usize>], listed: &mut [bool]) {
    for index in 0..tree.nodes.len() {
        let node = &tree.nodes[index];
        if !listed[index] || !TEXTS.contains(&node.role.as_str()) || node.is(State::Focused) {
            continue;
        }
        let Some(holder) = nearest(parents, index, listed).map(|at| &tree.nodes[at]) else { continue };
        let holds = |text: &str| !node.name.is_empty() && text.contains(&node.name);
        let named = holds(&holder.name) || holder.value.as_deref().is_some_and(holds);
        if named && holder.role.as_str() != "window" && node.value.is_none() {
            listed[index] = false;
        }
    }
}

/// Leaves out what only holds others and holds none of the list, or only one line of it.
fn drop_empty_holders(
    tree: &UiTree,
    parents: &[Option<usize>],
    listed: &mut [bool],
    notes: &BTreeMap<usize, Note>,
) {
    let mut holds = vec![false; listed.len()];
    for index in (0..tree.nodes.len()).rev() {
        let node = &tree.nodes[index];
        // Programs keep windows without a name for lists that they do not show.
        let is_spare = node.role.is_window() && node.name.is_empty() && !node.is(State::Active);
        let bare = (is_spare || HOLDERS.contains(&node.role.as_str()))
            && !node.is(State::Focused)
            && node.value.is_none()
            && !notes.contains_key(&index);
        let text =
            ["paragraph", "listitem", "tab", "status"].contains(&node.role.as_str()) && !node.name.is_empty();
        if listed[index] && bare && !holds[index] && !text {
            listed[index] = false;
        }
        if (listed[index] || holds[index])
            && let Some(parent) = parents[index]
        {
            holds[parent] = true;
        }
    }
}
