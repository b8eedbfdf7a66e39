//! Hides the items of closed menus: GTK 2 goes on to tell their places after a menu has closed. Pure.

use apprentice_protocol::{Rect, State, UiTree};

/// Hides items of menus that lie in none of the areas in which menus are drawn.
pub(super) fn hide(tree: &mut UiTree, popups: &[Rect]) {
    let is_item = |role: &str| role.starts_with("menuitem");
    let mut closed: Vec<usize> = Vec::new();
    for index in 0..tree.nodes.len() {
        let node = &tree.nodes[index];
        let Some(menu) = node.parent.and_then(|parent| usize::try_from(parent).ok()) else { continue };
        let opens = is_item(tree.nodes[menu].role.as_str());
        let Some(middle) = node.bounds.and_then(|bounds| bounds.centre()) else { continue };
        if !opens || popups.iter().any(|popup| popup.contains(middle)) {
            continue;
        }
        let node = &mut tree.nodes[index];
        node.states.insert(State::Hidden);
        node.states.remove(&State::Focused);
        node.bounds = None;
        closed.push(menu);
    }
    for menu in closed {
        let shows_some = tree
            .nodes
            .iter()
            .any(|node| node.parent.is_some_and(|above| above as usize == menu) && !node.is(State::Hidden));
        let states = &mut tree.nodes[menu].states;
        if !shows_some && states.remove(&State::Expanded) {
            states.insert(State::Collapsed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apprentice_protocol::{Rect, State, UiNode, UiTree};

    use super::hide;

    #[test]
    fn items_show_where_a_menu_is_drawn_and_nowhere_else() {
        let node = |parent: Option<u32>, name: &str, y: i32, states: &[State]| UiNode {
            states: states.iter().copied().collect::<BTreeSet<_>>(),
            bounds: Some(Rect::new(200, y, 290, 25)),
            ..UiNode::new("n1", parent, if parent.is_none() { "menubar" } else { "menuitem" }, name)
        };
        let nodes = vec![
            node(None, "", 50, &[]),
            node(Some(0), "File", 50, &[State::Expanded]),
            node(Some(1), "New", 80, &[]),
            node(Some(1), "Create", 105, &[]),
            node(Some(3), "From Clipboard", 400, &[]),
        ];
        let shown = |popups: &[Rect]| -> Vec<&'static str> {
            let mut tree = UiTree { nodes: nodes.clone(), truncated: None };
            hide(&mut tree, popups);
            let names = ["", "File", "New", "Create", "From Clipboard"];
            let shows = |index: &usize| !tree.nodes[*index].is(State::Hidden);
            assert_eq!(tree.nodes[1].is(State::Expanded), !popups.is_empty());
            (1..5).filter(shows).map(|index| names[index]).collect()
        };
        assert_eq!(shown(&[]), ["File"], "the bar is no menu that is drawn apart");
        assert_eq!(shown(&[Rect::new(200, 78, 300, 300)]), ["File", "New", "Create"]);
        let both = [Rect::new(200, 78, 300, 300), Rect::new(200, 390, 300, 100)];
        assert_eq!(shown(&both), ["File", "New", "Create", "From Clipboard"]);
    }
}
