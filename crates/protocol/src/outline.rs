//! The outline, version 1: the text format in which a model gets an accessibility tree.
//!
//! One element per line, indented by two spaces per level: `role "name" = "value" [state, state] @x,y #ref`. What else its
//! program tells of an element follows its value: `= "6" formula "=B1*2"`.
//! Containers without a name are omitted and their children move up; hidden elements are omitted. The point is the
//! element's centre in the model's own coordinate space. A last line counts the elements that exceed the budget.
//! Desktop and browser worlds share this format; [`Outline::parse`] parses it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::{
    BoundedText, DetailKind, ImagePoint, NodeRef, Role, State, TextBudget, UiNode, UiTree, View, VisibleText,
};

/// The version of the text format.
pub const OUTLINE_VERSION: u32 = 1;

const NAME_LIMIT: usize = 120;
/// Roles whose name is what there is to read, such as the question of a dialog: their names are cut as values are.
const READ: &[&str] = &["text", "paragraph", "heading", "label"];
const VALUE_LIMIT: usize = 400;
/// Limit of the part of a long text that is on the screen.
const VISIBLE_LIMIT: usize = 2000;

/// Roles that only group other elements; without a name they carry no information.
const CONTAINERS: &[&str] = &[
    "generic",
    "group",
    "panel",
    "none",
    "presentation",
    "scrollpane",
    "viewport",
    "splitpane",
    "layeredpane",
    "filler",
    "rootpane",
    "section",
    "paragraph",
    "ignored",
    "document",
    "region",
    "unknown",
    "redundant object",
];

/// One element of an outline.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineNode {
    /// Indentation level, from 0.
    pub depth: u32,
    /// The role.
    pub role: String,
    /// The accessible name; empty if absent.
    pub name: String,
    /// The value, if the element has one.
    pub value: Option<String>,
    /// The states.
    pub states: Vec<State>,
    /// The centre in the model's coordinate space.
    pub at: Option<ImagePoint>,
    /// The reference for actions.
    pub id: NodeRef,
}

/// A parsed outline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// The elements, in order.
    pub nodes: Vec<OutlineNode>,
}

/// Roles of what opens above other windows.
const DIALOGS: &[&str] = &["dialog", "alertdialog", "alert"];
/// Roles of items of lists and tables.
const ITEMS: &[&str] = &["cell", "gridcell", "row", "listitem", "treeitem"];

/// Writes the outline of a tree for a model, at most `budget` characters long. Of a tree that is too large, windows, the
/// focus and what stands in dialogs come before the rest, and items of lists and tables last.
pub fn outline(tree: &UiTree, view: &View, budget: TextBudget) -> BoundedText {
    let lines = ranked_lines(tree, view);
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|index| lines.get(*index).map(|(rank, _)| *rank));
    let room = budget.0.saturating_sub(80);
    let mut used = 0;
    let fitting = order.iter().take_while(|index| {
        used += lines.get(**index).map_or(0, |(_, line)| line.chars().count() + 1);
        used <= room
    });
    let mut kept: Vec<usize> = fitting.copied().collect();
    kept.sort_unstable();
    let mut text = String::new();
    for (_, line) in kept.iter().filter_map(|index| lines.get(*index)) {
        text.push_str(line);
        text.push('\n');
    }
    let left_out = lines.len() - kept.len();
    if left_out > 0 {
        let _ = writeln!(text, "[{left_out} more elements do not fit]");
    }
    if let Some(why) = tree.truncated {
        let _ = writeln!(text, "[the tree is not whole: the budget of {why:?} ran out]");
    }
    BoundedText::cut(&text, budget)
}

/// The lines of the listed elements, in order. What may be left out first has the highest number.
fn ranked_lines(tree: &UiTree, view: &View) -> Vec<(u8, String)> {
    // The depth at which each node's children are written, and whether they stand in a dialog.
    let mut below: Vec<(u32, bool)> = Vec::with_capacity(tree.nodes.len());
    let mut lines = Vec::new();
    for node in &tree.nodes {
        let above = node.parent.and_then(|parent| below.get(parent as usize).copied());
        let (depth, in_dialog) = above.unwrap_or((0, false));
        let in_dialog = in_dialog || DIALOGS.contains(&node.role.as_str());
        let listed = is_listed(node);
        below.push((depth + u32::from(listed), in_dialog));
        if !listed {
            continue;
        }
        let is_item = ITEMS.contains(&node.role.as_str());
        let rank = match (node.role.is_window() || node.is(State::Focused), in_dialog, is_item) {
            (true, _, _) => 0,
            (false, true, false) => 1,
            (false, false, false) | (false, true, true) => 2,
            (false, false, true) => 3,
        };
        lines.push((rank, outline_line(node, depth, view)));
    }
    lines
}

/// Returns whether an outline lists a node: it is not hidden, and it says or does something.
pub fn is_listed(node: &UiNode) -> bool {
    if node.is(State::Hidden) {
        return false;
    }
    let says = !node.name.is_empty() || node.value.as_deref().is_some_and(|value| !value.is_empty());
    let acts = node.is(State::Focused) || node.is(State::Editable);
    says || acts || !CONTAINERS.contains(&node.role.as_str())
}

/// Writes the line of one element, without its line break.
pub fn outline_line(node: &UiNode, depth: u32, view: &View) -> String {
    let mut line = "  ".repeat(depth as usize);
    line.push_str(&node.role.as_str().replace(' ', "_"));
    // A long text of a page is its name: its visible part says more than its beginning.
    let is_part = node.visible.is_some() && node.value.is_none();
    if !node.name.is_empty() && !is_part {
        line.push(' ');
        let limit = if READ.contains(&node.role.as_str()) { VALUE_LIMIT } else { NAME_LIMIT };
        line.push_str(&quote(&node.name, limit));
    }
    let shown = match (&node.visible, &node.value) {
        (Some(part), _) => Some(quote(&part.text, VISIBLE_LIMIT)),
        (None, value) => value.as_ref().map(|value| quote(value, VALUE_LIMIT)),
    };
    if let Some(shown) = shown {
        let _ = write!(line, " = {shown}");
    }
    for detail in &node.details {
        let _ = write!(line, " {} {}", detail.kind.word(), quote(&detail.text, VALUE_LIMIT));
    }
    let mut words: Vec<String> = node.states.iter().map(|state| state.word().to_owned()).collect();
    words.extend(node.visible.as_ref().and_then(lines_shown));
    if !words.is_empty() {
        let _ = write!(line, " [{}]", words.join(", "));
    }
    let middle = node.bounds.and_then(|bounds| bounds.centre()).and_then(|centre| view.to_image(centre));
    if let Some(point) = middle {
        let _ = match view.space {
            crate::CoordinateSpace::Unit => write!(line, " @{:.4},{:.4}", point.x, point.y),
            crate::CoordinateSpace::ImagePixels | crate::CoordinateSpace::Grid { .. } => {
                write!(line, " @{:.0},{:.0}", point.x, point.y)
            }
        };
    }
    let _ = write!(line, " #{}", node.id);
    line
}

/// Which lines of a text show, where not all of them do.
fn lines_shown(part: &VisibleText) -> Option<String> {
    let (first, last) = (part.line, part.last_line());
    (last - first + 1 < part.lines).then(|| format!("lines {first} to {last} of {}", part.lines))
}

/// Quotes a text as a JSON string, so that quotes and line breaks can be parsed.
fn quote(text: &str, limit: usize) -> String {
    let cut: String = if text.chars().count() > limit {
        text.chars().take(limit - 1).chain(std::iter::once('…')).collect()
    } else {
        text.to_owned()
    };
    serde_json::Value::String(cut).to_string()
}

const STATES: &[State] = &[
    State::Focused,
    State::Active,
    State::Checked,
    State::Unchecked,
    State::Selected,
    State::Expanded,
    State::Collapsed,
    State::Disabled,
    State::Editable,
    State::Modal,
    State::Default,
    State::Hidden,
];

impl Outline {
    /// Parses an outline; lines in another format are skipped.
    pub fn parse(text: &str) -> Self {
        Self { nodes: text.lines().filter_map(parse_line).collect() }
    }

    /// Leaves out a menu bar whose items an earlier one of its window lists, unless one of its menus is open. LibreOffice reports
    /// its menu bar twice, the second time in wrong places.
    #[must_use]
    pub fn without_doubled_menu_bars(self) -> Self {
        let mut listed: BTreeSet<&str> = BTreeSet::new();
        let mut doubled = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if Role::new(node.role.as_str()).is_window() {
                listed.clear();
            }
            if node.role != "menubar" {
                continue;
            }
            let after = self.nodes.get(index + 1..).unwrap_or_default();
            let end = after.iter().position(|other| other.depth <= node.depth).unwrap_or(after.len());
            let below = after.get(..end).unwrap_or_default();
            let is_open = below.iter().any(|other| other.depth > node.depth + 1);
            let is_known = below.iter().all(|item| listed.contains(item.name.as_str()));
            if !below.is_empty() && is_known && !is_open {
                doubled[index..=index + end].fill(true);
            }
            listed.extend(below.iter().map(|item| item.name.as_str()));
        }
        let nodes = self.nodes.iter().zip(&doubled).filter(|(_, doubled)| !**doubled);
        Self { nodes: nodes.map(|(node, _)| node.clone()).collect() }
    }

    /// Returns the named element whose centre is nearest to a place of the same view, as `role "name"`.
    pub fn nearest_named(&self, place: ImagePoint) -> Option<String> {
        let distance = |at: &ImagePoint| (at.x - place.x).hypot(at.y - place.y);
        let named = self.nodes.iter().filter(|node| !node.name.trim().is_empty());
        let placed = named.filter_map(|node| Some((distance(node.at.as_ref()?), node)));
        let (_, node) = placed.min_by(|one, other| one.0.total_cmp(&other.0))?;
        Some(format!("{} {:?}", node.role, node.name))
    }
}

fn parse_line(line: &str) -> Option<OutlineNode> {
    let body = line.trim_start_matches(' ');
    let depth = u32::try_from((line.len() - body.len()) / 2).ok()?;
    let role_end = body.find(' ')?;
    let (role, rest) = body.split_at(role_end);
    if role.is_empty() || !role.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '~')) {
        return None;
    }
    let (name, rest) = take_quoted(rest, " ");
    let (value, rest) = take_quoted(rest, " = ");
    let rest = skip_details(rest);
    let (states, rest) = take_states(rest);
    let (at, rest) = take_point(rest);
    let id = rest.strip_prefix(" #").filter(|id| !id.is_empty() && !id.contains(' '))?;
    Some(OutlineNode {
        depth,
        role: Role::new(role).0,
        name: name.unwrap_or_default(),
        value,
        states,
        at,
        id: NodeRef(id.to_owned()),
    })
}

fn take_quoted<'a>(text: &'a str, prefix: &str) -> (Option<String>, &'a str) {
    let Some(quoted) = text.strip_prefix(prefix).filter(|rest| rest.starts_with('"')) else {
        return (None, text);
    };
    let mut stream = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    match stream.next() {
        Some(Ok(string)) => (Some(string), &quoted[stream.byte_offset()..]),
        Some(Err(_)) | None => (None, text),
    }
}

/// What follows the details of an element.
fn skip_details(mut text: &str) -> &str {
    for kind in DetailKind::ALL {
        text = take_quoted(text, &format!(" {} ", kind.word())).1;
    }
    text
}

fn take_states(text: &str) -> (Vec<State>, &str) {
    let Some((inside, rest)) = text.strip_prefix(" [").and_then(|rest| rest.split_once(']')) else {
        return (Vec::new(), text);
    };
    let find = |name: &str| STATES.iter().copied().find(|state| state.word() == name);
    (inside.split(", ").filter_map(find).collect(), rest)
}

fn take_point(text: &str) -> (Option<ImagePoint>, &str) {
    let Some(rest) = text.strip_prefix(" @") else { return (None, text) };
    let end = rest.find(' ').unwrap_or(rest.len());
    let (numbers, after) = rest.split_at(end);
    let point =
        numbers.split_once(',').and_then(|(x, y)| Some(ImagePoint::new(x.parse().ok()?, y.parse().ok()?)));
    (point, if point.is_some() { after } else { text })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{Outline, outline, outline_line};
    use crate::{Detail, DetailKind, Rect, Size, State, TextBudget, UiNode, UiTree, View, VisibleText};

    fn node(id: u32, parent: Option<u32>, role: &str, name: &str) -> UiNode {
        UiNode {
            bounds: Some(Rect::new(10, 10, 100, 20)),
            ..UiNode::new(format!("n{id}"), parent, role, name)
        }
    }

    #[test]
    fn the_text_of_a_question_is_told_whole_where_the_name_of_a_button_is_cut() {
        let question = "Some of it cannot be saved in the format that was chosen. ".repeat(4);
        let view = View::whole(Size::new(800, 600));
        let line = |role: &str| outline_line(&node(1, None, role, &question), 0, &view);
        assert!(line("text").contains(question.trim_end()));
        assert!(!line("button").contains(question.trim_end()) && line("button").contains('…'));
    }

    #[test]
    fn containers_without_a_name_and_hidden_items_are_left_out() {
        let mut entry = node(4, Some(1), "textbox", "Find \"it\"");
        entry.value = Some("two\nlines".into());
        entry.states = BTreeSet::from([State::Focused, State::Editable]);
        let mut hidden = node(5, Some(0), "menuitem", "Save As…");
        hidden.states = BTreeSet::from([State::Hidden]);
        let tree = UiTree {
            nodes: vec![
                node(1, None, "window", "Editor"),
                node(2, Some(0), "group", ""),
                node(3, Some(1), "button", "Open"),
                entry,
                hidden,
            ],
            truncated: None,
        };
        let text = outline(&tree, &View::whole(Size::new(1920, 1080)), TextBudget(4000));
        insta::assert_snapshot!(text.as_str(), @r#"
        window "Editor" @60,20 #n1
          button "Open" @60,20 #n3
          textbox "Find \"it\"" = "two\nlines" [focused, editable] @60,20 #n4
        "#);
    }

    #[test]
    fn what_a_program_tells_besides_a_text_follows_it_and_is_passed_over_by_a_reader() {
        let mut cell = node(7, None, "cell", "A1");
        cell.value = Some("6".into());
        cell.states = BTreeSet::from([State::Selected]);
        let told = [(DetailKind::Formula, "=B1&\"] formula \""), (DetailKind::Bold, "a … b")];
        cell.details = told.map(|(kind, text)| Detail { kind, text: text.into() }).into();
        let line = outline_line(&cell, 0, &View::whole(Size::new(1920, 1080)));
        let expected = r##"cell "A1" = "6" formula "=B1&\"] formula \"" bold "a … b" [selected] @60,20 #n7"##;
        assert_eq!(line, expected);
        let read = &Outline::parse(&line).nodes[0];
        assert_eq!(
            (read.value.as_deref(), read.states.as_slice()),
            (Some("6"), [State::Selected].as_slice())
        );
        assert_eq!(read.id, cell.id);
    }

    #[test]
    fn a_list_that_is_too_long_keeps_windows_the_focus_and_dialogs() {
        let mut nodes = vec![node(0, None, "window", "Sheet")];
        nodes.extend((1..200).map(|number| node(number, Some(0), "cell", &format!("A{number}"))));
        nodes[150].states = BTreeSet::from([State::Focused]);
        nodes.push(node(200, Some(0), "button", "Bold"));
        nodes.push(node(201, None, "dialog", "Keep this format?"));
        nodes.push(node(202, Some(201), "button", "Keep"));
        let tree = UiTree { nodes, truncated: None };
        let text = outline(&tree, &View::whole(Size::new(1920, 1080)), TextBudget(250));
        insta::assert_snapshot!(text.as_str(), @r#"
        window "Sheet" @60,20 #n0
          cell "A150" [focused] @60,20 #n150
          button "Bold" @60,20 #n200
        dialog "Keep this format?" @60,20 #n201
          button "Keep" @60,20 #n202
        [198 more elements do not fit]
        "#);
    }

    #[test]
    fn a_long_text_shows_what_is_on_the_screen_and_which_lines_these_are() {
        let whole: String = (1..=300).map(|line| format!("line {line}\n")).collect();
        let mut editor = node(1, None, "textbox", "");
        editor.states = BTreeSet::from([State::Focused]);
        let start = whole.find("line 120").expect("there");
        editor.visible = Some(VisibleText::between(&whole, start, start + 17));
        editor.value = Some(whole);
        let line = outline_line(&editor, 0, &View::whole(Size::new(1920, 1080)));
        let expected = r#"textbox = "line 120\nline 121" [focused, lines 120 to 121 of 301] @60,20 #n1"#;
        assert_eq!(line, expected);
        let read = Outline::parse(&line);
        assert_eq!(read.nodes[0].states, [State::Focused]);
        assert_eq!(read.nodes[0].value.as_deref(), Some("line 120\nline 121"));
    }

    /// Returns the names and roles that are left of an outline.
    fn left(text: &str) -> Vec<String> {
        let left = Outline::parse(text).without_doubled_menu_bars();
        left.nodes.iter().map(|node| format!("{} {}", node.role, node.name).trim().to_owned()).collect()
    }

    #[test]
    fn a_menu_bar_that_repeats_an_earlier_one_of_its_window_is_left_out() {
        let window = |second: &str| {
            format!(
                "window \"a.csv\" #n1\n  menubar #n2\n    menuitem \"File\" #n3\n    menuitem \"Edit\" #n4\n  group \"a.csv\" #n5\n    \
                 menubar #n6\n{second}    toolbar \"Standard\" #n9\n"
            )
        };
        let items = "      menuitem \"File\" #n7\n      menuitem \"Edit\" #n8\n";
        let once =
            ["window a.csv", "menubar", "menuitem File", "menuitem Edit", "group a.csv", "toolbar Standard"];
        assert_eq!(left(&window(items)), once);
        let cut = "      menuitem \"File\" #n7\n";
        assert_eq!(left(&window(cut)), once, "an outline may be cut");
        let open = format!("{items}        menuitem \"Undo\" #n10\n");
        assert_eq!(left(&window(&open)).len(), 10, "an open menu shows");
        let other = "      menuitem \"File\" #n7\n      menuitem \"Help\" #n8\n";
        assert_eq!(left(&window(other)).len(), 9, "another bar");
        let two = format!("{}{}", window(items), window("").replace("a.csv", "b.csv"));
        assert_eq!(
            left(&two).len(),
            13,
            "another window has a bar of its own, and one without items is kept"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            names in proptest::collection::vec(".{0,30}", 1..30), budget in 200usize..3000,
        ) {
            let nodes: Vec<UiNode> = names
                .iter()
                .enumerate()
                .map(|(index, name)| {
                    let index = u32::try_from(index).expect("small");
                    node(index, index.checked_sub(1), "button", name)
                })
                .collect();
            let tree = UiTree { nodes, truncated: None };
            let text = outline(&tree, &View::whole(Size::new(1920, 1080)), TextBudget(budget));
            prop_assert!(text.as_str().chars().count() <= budget);
            for (read, name) in Outline::parse(text.as_str()).nodes.iter().zip(&names) {
                prop_assert_eq!(&read.name, name);
            }
        }
    }
}
