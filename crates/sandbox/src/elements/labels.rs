//! Names for elements that have none of their own: check boxes in a list by their row, fields by the label beside them.
//! A check box of a list gets its place, too: GTK says that it has no width. What a name says besides, and changes by itself, goes.
//! Pure.

use apprentice_protocol::{Rect, State, UiNode};

/// Roles of fields that a label stands beside.
const FIELDS: &[&str] = &["textbox", "combobox", "spinbutton", "slider"];
/// Roles of lists whose rows hold cells.
const LISTS: &[&str] = &["table", "treegrid", "tree", "list", "grid"];
/// Roles of panes: a label in one of them belongs to no field outside of it.
const PANES: &[&str] = &["scrollpane", "viewport", "splitpane", "tab", "tablist", "tabpanel"];
/// Most pixels between a label and its field.
const GAP: i32 = 240;
/// A label is no higher than this: a text that fills a pane belongs to no field beside it.
const LABEL_HEIGHT: i32 = 48;
/// A label may reach into the area of its field by so many pixels.
const NEAR: i32 = 6;

/// Between a tab's title and the memory that its page takes, of which Chromium says more or less from time to time.
const MEMORY_USE: [&str; 2] = [" - Memory usage - ", " - High memory usage - "];

/// Takes the memory that a page uses out of the names of tabs.
pub(super) fn without_memory_use(nodes: &mut [UiNode]) {
    for node in nodes.iter_mut().filter(|node| node.role.as_str() == "tab") {
        let start = MEMORY_USE.iter().filter_map(|mark| node.name.rfind(mark)).max();
        if let Some(start) = start.filter(|start| is_amount(&node.name[*start..])) {
            node.name.truncate(start);
        }
    }
}

/// Returns whether a text ends with a number of bytes, such as `- 45.3 MB`.
fn is_amount(text: &str) -> bool {
    let mut words = text.rsplit(' ');
    let (unit, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    ["B", "KB", "MB", "GB"].contains(&unit) && number.parse::<f64>().is_ok()
}

/// Names what has no name, from what stands beside it.
pub(super) fn name_nameless(nodes: &mut [UiNode]) {
    let nameless: Vec<usize> = (0..nodes.len()).filter(|index| nodes[*index].name.is_empty()).collect();
    for index in nameless {
        let role = nodes[index].role.as_str();
        if role == "checkbox" {
            if let Some(row) = row(nodes, index) {
                nodes[index].bounds = nodes[index].bounds.or(Some(row.room));
                nodes[index].name = row.name;
            } else if let Some(name) = name_before(nodes, index) {
                nodes[index].name = name;
            }
        } else if role == "button" {
            if let Some(name) = only_text_within(nodes, index) {
                nodes[index].name = name;
            }
        } else if FIELDS.contains(&role)
            && let Some(own) = nodes[index].bounds
            && let Some(name) = label_beside(nodes, index, own)
        {
            nodes[index].name = name;
        }
    }
}

/// What the one text in a button says, as GTK 4 gives a label to the text alone.
fn only_text_within(nodes: &[UiNode], index: usize) -> Option<String> {
    let within = || nodes.iter().enumerate().skip(index + 1).take_while(|(at, _)| holds(nodes, index, *at));
    let is_known = |node: &UiNode| !node.name.is_empty() && !node.is(State::Hidden);
    let mut named = within().filter(|(_, node)| is_known(node)).map(|(_, node)| node);
    let text = named.next().filter(|node| node.role.as_str() == "text")?;
    named.next().is_none().then(|| text.name.clone())
}

/// What the row of a check box says of it.
struct Row {
    name: String,
    /// The part of the row that no other cell takes.
    room: Rect,
}

/// The row of a check box that stands in a list. Cells of a row follow on each other.
fn row(nodes: &[UiNode], index: usize) -> Option<Row> {
    let is_list = |at: &usize| LISTS.contains(&nodes[*at].role.as_str());
    let holder = parent(nodes, index)?;
    // A cell of several parts stands in the row in place of the check box.
    let index = if is_list(&holder) { index } else { holder };
    let list = parent(nodes, index).filter(is_list)?;
    let area = nodes[list].bounds?;
    let cell = |at: usize| {
        let node = nodes.get(at).filter(|node| node.parent == nodes[index].parent)?;
        Some((node, node.bounds.filter(|_| node.role.as_str() == "cell" && !node.name.is_empty())?))
    };
    let before = index.checked_sub(1).and_then(cell);
    let after = cell(index + 1);
    let own = nodes[index].bounds;
    let in_row = |at: &Rect| own.is_none_or(|own| shares_row(*at, own));
    // Without a place of its own, the cell before it may be the last one of the row above.
    let follows =
        |left: Rect| own.is_some() || after.is_none_or(|(_, right)| left.y == right.y && left.x < right.x);
    let before = before.filter(|(_, at)| in_row(at) && follows(*at));
    let after = after.filter(|(_, at)| in_row(at));
    let (named, beside) = before.or(after)?;
    let left = before.map_or(area.x, |(_, at)| at.x.saturating_add(at.width));
    let right = match (before, after) {
        (None, Some((_, at))) => at.x,
        (Some((_, one)), Some((_, other))) if one.y == other.y => other.x,
        _ => area.x.saturating_add(area.width),
    };
    let name = named.name.lines().next().unwrap_or_default().to_owned();
    (right > left).then(|| Row { name, room: Rect::new(left, beside.y, right - left, beside.height) })
}

/// The name of the cell before a check box whose row is out of view.
fn name_before(nodes: &[UiNode], index: usize) -> Option<String> {
    let holder = parent(nodes, index)?;
    let cell = if LISTS.contains(&nodes[holder].role.as_str()) { index } else { holder };
    parent(nodes, cell).filter(|list| LISTS.contains(&nodes[*list].role.as_str()))?;
    let before = nodes.get(cell.checked_sub(1)?).filter(|before| before.parent == nodes[cell].parent)?;
    let is_named = before.role.as_str() == "cell" && before.bounds.is_none() && !before.name.is_empty();
    let is_out_of_view = nodes[index].bounds.is_none();
    (is_named && is_out_of_view).then(|| before.name.lines().next().unwrap_or_default().to_owned())
}

fn parent(nodes: &[UiNode], index: usize) -> Option<usize> {
    nodes.get(index)?.parent.and_then(|parent| usize::try_from(parent).ok())
}

/// The text to the left of a field, in the same row and the same window, with nothing else between them.
fn label_beside(nodes: &[UiNode], index: usize, own: Rect) -> Option<String> {
    let window = window(nodes, index);
    let left_of = |other: &usize| {
        let at = nodes[*other].bounds?;
        let gap = own.x - at.x.saturating_add(at.width);
        // A field of several lines has many texts beside it, of which none needs to be its label.
        let is_line = acts(&nodes[*other]) || at.height <= LABEL_HEIGHT;
        let beside = is_line && is_level(own, at) && at.x < own.x && (-NEAR..=GAP).contains(&gap);
        (*other != index && beside).then_some(gap)
    };
    let candidates = (0..nodes.len()).filter(|other| {
        let node = &nodes[*other];
        let says = node.role.as_str() == "text" && !label(node).is_empty();
        (says || acts(node)) && !holds(nodes, *other, index)
    });
    let (_, nearest) = candidates.filter_map(|other| Some((left_of(&other)?, other))).min()?;
    let is_label = nodes[nearest].role.as_str() == "text"
        && self::window(nodes, nearest) == window
        && shares_pane(nodes, nearest, index);
    is_label.then(|| label(&nodes[nearest]).to_owned())
}

/// Returns whether a label stands in the pane of a field: no pane lies between it and what holds both, and the two are no halves of
/// a split pane.
fn shares_pane(nodes: &[UiNode], label: usize, field: usize) -> bool {
    let is_pane = |at: usize| PANES.contains(&nodes[at].role.as_str());
    let above = |from: usize| std::iter::successors(parent(nodes, from), |at| parent(nodes, *at));
    let both = above(label).find(|at| above(field).any(|other| other == *at));
    let mut between = above(label).take_while(|at| Some(*at) != both);
    !between.any(is_pane) && both.is_none_or(|at| nodes[at].role.as_str() != "splitpane")
}

/// What a text says, without the colon at its end.
fn label(node: &UiNode) -> &str {
    let text = if node.name.is_empty() { node.value.as_deref().unwrap_or_default() } else { &node.name };
    text.trim().trim_end_matches(':').trim_end()
}

/// Returns whether an element is one that a label may belong to.
fn acts(node: &UiNode) -> bool {
    FIELDS.contains(&node.role.as_str()) || ["button", "checkbox", "radio"].contains(&node.role.as_str())
}

fn holds(nodes: &[UiNode], above: usize, below: usize) -> bool {
    std::iter::successors(parent(nodes, below), |at| parent(nodes, *at)).any(|at| at == above)
}

/// The window that holds an element.
fn window(nodes: &[UiNode], index: usize) -> Option<usize> {
    std::iter::successors(parent(nodes, index), |at| parent(nodes, *at))
        .find(|at| nodes[*at].role.is_window())
}

/// Returns whether the middle of one lies beside the other.
fn shares_row(one: Rect, other: Rect) -> bool {
    is_level(one, other) || is_level(other, one)
}

/// Returns whether the middle of one lies beside the other, between its top and its bottom.
fn is_level(one: Rect, other: Rect) -> bool {
    let middle = one.y.saturating_add(one.height / 2);
    (other.y..other.y.saturating_add(other.height)).contains(&middle)
}

#[cfg(test)]
mod tests {

    use apprentice_protocol::{Rect, UiNode};

    use super::{name_nameless, without_memory_use};

    fn node(parent: Option<u32>, role: &str, name: &str, at: Rect) -> UiNode {
        UiNode { bounds: Some(at), ..UiNode::new("n1", parent, role, name) }
    }

    #[test]
    fn the_name_of_a_tab_is_its_title() {
        let named = |role: &str, name: &str| {
            let mut nodes = [node(None, role, name, Rect::new(0, 0, 100, 20))];
            without_memory_use(&mut nodes);
            nodes[0].name.clone()
        };
        assert_eq!(named("tab", "Prices - Memory usage - 45.3 MB"), "Prices");
        assert_eq!(named("tab", "Prices - High memory usage - 1.2 GB"), "Prices");
        assert_eq!(
            named("tab", "Chart - Memory usage - 1 KB - Memory usage - 9 MB"),
            "Chart - Memory usage - 1 KB"
        );
        for whole in ["Prices", "Chart - Memory usage - June", "On - Memory usage - of 3 parts"] {
            assert_eq!(named("tab", whole), whole);
        }
        assert_eq!(named("button", "Prices - Memory usage - 45.3 MB"), "Prices - Memory usage - 45.3 MB");
    }

    #[test]
    fn a_field_has_the_name_of_the_label_beside_it_and_of_no_other() {
        let mut nodes = vec![
            node(None, "dialog", "Fill Series", Rect::new(0, 0, 400, 300)),
            node(Some(0), "text", "Start value:", Rect::new(10, 10, 80, 20)),
            node(Some(0), "textbox", "", Rect::new(100, 8, 100, 24)),
            node(Some(0), "textbox", "", Rect::new(210, 8, 60, 24)),
            node(Some(0), "text", "Stop", Rect::new(10, 40, 80, 20)),
            node(Some(0), "group", "", Rect::new(95, 38, 110, 28)),
            node(Some(5), "textbox", "", Rect::new(100, 38, 100, 24)),
            node(Some(0), "textbox", "", Rect::new(100, 100, 100, 24)),
            node(None, "window", "Behind", Rect::new(0, 0, 400, 300)),
            node(Some(8), "text", "Total", Rect::new(10, 100, 80, 20)),
        ];
        name_nameless(&mut nodes);
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names[2..8], ["Start value", "", "Stop", "", "Stop", ""], "{names:?}");
    }

    #[test]
    fn a_text_of_many_lines_is_not_named_by_what_stands_beside_it() {
        let mut nodes = vec![
            node(None, "window", "Editor", Rect::new(0, 0, 800, 600)),
            node(Some(0), "text", "No symbols found", Rect::new(10, 60, 150, 20)),
            node(Some(0), "textbox", "", Rect::new(180, 40, 600, 500)),
        ];
        name_nameless(&mut nodes);
        assert_eq!(nodes[2].name, "");
        // A text that fills its pane has its middle at that of the field.
        nodes[1].bounds = Some(Rect::new(10, 40, 150, 500));
        name_nameless(&mut nodes);
        assert_eq!(nodes[2].name, "");
    }

    #[test]
    fn a_text_of_another_pane_is_no_label() {
        let named = |between: &[&str]| {
            let mut nodes = vec![
                node(None, "window", "Editor", Rect::new(0, 0, 800, 600)),
                node(Some(0), between[0], "", Rect::new(0, 40, 800, 60)),
                node(Some(1), between[1], "", Rect::new(0, 40, 170, 60)),
                node(Some(2), "text", "No symbols found", Rect::new(10, 60, 150, 20)),
                node(Some(1), "scrollpane", "", Rect::new(180, 40, 600, 60)),
                node(Some(4), "textbox", "", Rect::new(180, 40, 600, 60)),
            ];
            name_nameless(&mut nodes);
            nodes[5].name.clone()
        };
        assert_eq!(named(&["group", "group"]), "No symbols found", "a label in the field's row");
        assert_eq!(named(&["splitpane", "group"]), "", "the other half");
        for pane in ["scrollpane", "tab"] {
            assert_eq!(named(&["group", pane]), "", "{pane}");
        }
    }

    #[test]
    fn a_check_box_of_a_list_has_the_name_of_its_row_and_the_place_beside_it() {
        let mut nodes = vec![
            node(None, "treegrid", "", Rect::new(400, 290, 480, 300)),
            node(Some(0), "checkbox", "", Rect::new(0, 0, 0, 0)),
            node(Some(0), "cell", "Export\nExports a file.", Rect::new(444, 291, 436, 38)),
            node(Some(0), "checkbox", "", Rect::new(0, 0, 0, 0)),
            node(Some(0), "cell", "Save Actions", Rect::new(444, 331, 436, 38)),
            node(None, "checkbox", "", Rect::new(0, 20, 20, 20)),
            node(None, "treegrid", "", Rect::new(0, 0, 300, 300)),
            node(Some(6), "cell", "Size", Rect::new(0, 0, 200, 20)),
            node(Some(6), "checkbox", "", Rect::new(210, 0, 20, 20)),
            node(Some(6), "cell", "Date", Rect::new(0, 20, 200, 20)),
            node(Some(6), "generic", "", Rect::new(210, 20, 90, 20)),
            node(Some(10), "checkbox", "", Rect::new(210, 20, 94, 20)),
        ];
        nodes.push(node(Some(6), "cell", "Owner", Rect::new(0, 900, 200, 20)));
        nodes.push(node(Some(6), "checkbox", "", Rect::new(210, 900, 20, 20)));
        for index in [1, 3, 12, 13] {
            nodes[index].bounds = None;
        }
        name_nameless(&mut nodes);
        let boxes = [1, 3, 5, 8, 11, 13].map(|index| (nodes[index].name.as_str(), nodes[index].bounds));
        let expected = [
            ("Export", Some(Rect::new(400, 291, 44, 38))),
            ("Save Actions", Some(Rect::new(400, 331, 44, 38))),
            ("", Some(Rect::new(0, 20, 20, 20))),
            ("Size", Some(Rect::new(210, 0, 20, 20))),
            ("Date", Some(Rect::new(210, 20, 94, 20))),
            ("Owner", None),
        ];
        assert_eq!(boxes, expected);
    }
}
