//! Names windows that have no name on the accessibility bus by their titles on the screen. Pure.

use apprentice_protocol::{Rect, UiTree, Window};

/// A window on the bus may have a frame around it that the window on the screen lacks: at most so many pixels on a side.
const FRAME: i32 = 48;

/// Gives each nameless window the title of the one window on the screen that stands where it does.
pub(super) fn name_nameless(tree: &mut UiTree, windows: &[Window]) {
    let of_windows = tree.nodes.iter().filter(|node| node.role.is_window());
    let names: Vec<String> = of_windows.map(|node| node.name.clone()).collect();
    for node in &mut tree.nodes {
        let Some(bounds) = node.bounds.filter(|_| node.role.as_str() == "window" && node.name.is_empty())
        else {
            continue;
        };
        let mut same =
            windows.iter().filter(|window| !window.title.is_empty() && stands_in(window.bounds, bounds));
        if let (Some(window), None) = (same.next(), same.next())
            && !names.contains(&window.title)
        {
            node.name.clone_from(&window.title);
        }
    }
}

/// Whether the first lies in the second, and fills it but for a frame.
fn stands_in(inner: Rect, outer: Rect) -> bool {
    let edges = [
        inner.x - outer.x,
        inner.y - outer.y,
        outer.x + outer.width - inner.x - inner.width,
        outer.y + outer.height - inner.y - inner.height,
    ];
    edges.iter().all(|edge| (-2..=FRAME).contains(edge))
}

#[cfg(test)]
mod tests {

    use apprentice_protocol::{Rect, UiNode, UiTree, Window};

    use super::name_nameless;

    #[test]
    fn a_nameless_window_has_the_title_of_the_one_that_stands_there() {
        let node =
            |name: &str, at: Rect| UiNode { bounds: Some(at), ..UiNode::new("n1", None, "window", name) };
        let window = |title: &str, bounds: Rect| Window {
            id: "0x1".into(),
            title: title.into(),
            class: String::new(),
            bounds,
            active: false,
            pid: None,
        };
        let windows = [
            window("Accounts", Rect::new(101, 120, 800, 500)),
            window("Welcome", Rect::new(300, 200, 300, 200)),
        ];
        let nodes = vec![
            node("", Rect::new(100, 100, 802, 521)),
            node("", Rect::new(300, 200, 60, 90)),
            node("Welcome", Rect::new(299, 180, 302, 221)),
            node("", Rect::new(300, 200, 300, 200)),
        ];
        let mut tree = UiTree { nodes, truncated: None };
        name_nameless(&mut tree, &windows);
        let names: Vec<&str> = tree.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(
            names,
            ["Accounts", "", "Welcome", ""],
            "a menu has no title, and a title names one window"
        );
    }
}
