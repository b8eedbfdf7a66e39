//! What a model of few parameters is shown of a tree.

use apprentice_protocol::{Rect, Size, State, UiNode, UiTree, View};

use super::{MAX_LIST_CHARS, Named, elements, ends_of};
use crate::agent::view::element_list::ElementList;

/// A node of a tree: its parent, role, name and states. Its number is its reference.
fn node(index: usize, parent: Option<u32>, role: &str, name: &str, states: &[State]) -> UiNode {
    let top = 10 * i32::try_from(index).expect("few");
    UiNode {
        states: states.iter().copied().collect(),
        bounds: Some(Rect::new(10, top, 60, 8)),
        ..UiNode::new(format!("n{index}"), parent, role, name)
    }
}

fn shown(nodes: &[(Option<u32>, &str, &str, &[State])], named: &str) -> String {
    let nodes = nodes.iter().enumerate();
    let nodes = nodes.map(|(index, (parent, role, name, states))| node(index, *parent, role, name, states));
    let tree = UiTree { nodes: nodes.collect(), truncated: None };
    let list = ElementList::of(&tree, &View::whole(Size::new(1600, 900)));
    elements(&list, &Named::of([named, ""]))
}

#[test]
fn elements_stand_one_a_line_with_the_name_before_the_role() {
    let text = shown(
        &[
            (None, "window", "Notes", &[State::Active]),
            (Some(0), "menubar", "", &[]),
            (Some(1), "menuitem", "File", &[]),
            (Some(1), "menuitem", "Edit", &[State::Disabled]),
            (Some(0), "textbox", "Title", &[State::Focused, State::Editable]),
            (Some(0), "checkbox", "Draft", &[State::Unchecked]),
            (Some(0), "separator", "", &[]),
        ],
        "",
    );
    assert_eq!(
        text, "#n2 File (menuitem)\n#n4 Title (textbox) = \"\" [focused]\n#n5 Draft (checkbox) [unchecked]\n",
        "what is disabled cannot be used now"
    );
}

#[test]
fn what_an_open_menu_holds_comes_last_and_is_kept() {
    let mut nodes: Vec<(Option<u32>, &str, String, Vec<State>)> = vec![
        (None, "window", "Notes".into(), vec![State::Active]),
        (Some(0), "menubar", String::new(), vec![]),
        (Some(1), "menuitem", "View".into(), vec![State::Expanded]),
        (Some(2), "menuitem", "Rulers".into(), vec![]),
    ];
    nodes.extend((0..60).map(|index| (Some(0), "button", format!("Tool number {index}"), vec![])));
    let nodes: Vec<(Option<u32>, &str, &str, &[State])> = nodes
        .iter()
        .map(|(parent, role, name, states)| (*parent, *role, name.as_str(), states.as_slice()))
        .collect();
    let text = shown(&nodes, "press tool number 59");
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.chars().count() < MAX_LIST_CHARS + 60, "{text}");
    assert!(text.contains("#n63 Tool number 59 (button)"), "the task names it: {text}");
    let menu = lines.iter().position(|line| line.ends_with("Rulers (menuitem)")).expect("is listed");
    assert_eq!(menu + 2, lines.len(), "{text}");
    assert!(lines.last().is_some_and(|line| line.starts_with("[not listed: ")), "{text}");
}

#[test]
fn elements_that_look_alike_get_labels_of_their_own() {
    let text = shown(
        &[
            (None, "window", "Shop", &[State::Active]),
            (Some(0), "button", "Buy", &[]),
            (Some(0), "button", "Buy", &[]),
            (Some(0), "textbox", "", &[]),
        ],
        "",
    );
    assert_eq!(text, "#n1 Buy (button)\n#n2 Buy (button 2)\n#n3 textbox (textbox) = \"\"\n");
}

#[test]
fn buttons_of_rows_are_told_apart_by_all_that_no_other_row_holds() {
    let text = shown(
        &[
            (None, "window", "Desk", &[State::Active]),
            (Some(0), "table", "", &[]),
            (Some(1), "row", "", &[]),
            (Some(2), "cell", "4188", &[]),
            (Some(2), "cell", "Ada Holm", &[]),
            (Some(2), "cell", "Friday", &[]),
            (Some(2), "button", "Details", &[]),
            (Some(1), "row", "", &[]),
            (Some(7), "cell", "4035", &[]),
            (Some(7), "cell", "Ben Ost", &[]),
            (Some(7), "cell", "Friday", &[]),
            (Some(7), "button", "Details", &[]),
        ],
        "",
    );
    assert!(text.contains("Details (button, row 4188 Ada Holm)\n"), "{text}");
    assert!(text.contains("Details (button, row 4035 Ben Ost)\n"), "{text}");
}

#[test]
fn a_long_value_shows_where_it_begins_and_ends() {
    let value: String = ('a'..='z').cycle().take(300).collect();
    let cut = ends_of(&value);
    assert!(cut.starts_with("abcdefghij") && cut.ends_with("klmn") && cut.contains(" … "), "{cut}");
    assert_eq!(ends_of("short"), "short");
}

#[test]
fn a_closed_list_box_shows_what_it_offers() {
    let mut nodes: Vec<UiNode> = vec![
        node(0, None, "window", "Labels", &[State::Active]),
        node(1, Some(0), "combobox", "Paper", &[]),
        node(2, Some(1), "option", "sheet", &[State::Selected]),
        node(3, Some(1), "option", "roll", &[]),
    ];
    nodes[1].value = Some("sheet".into());
    for option in &mut nodes[2..] {
        option.bounds = None;
    }
    let tree = UiTree { nodes, truncated: None };
    let list = ElementList::of(&tree, &View::whole(Size::new(1600, 900)));
    let text = elements(&list, &Named::of(["", ""]));
    assert_eq!(text, "#n1 Paper (combobox) = \"sheet\" [options: sheet | roll]\n");
}
