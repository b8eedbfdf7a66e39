//! Menus of a menu bar that its program calls menu bars, too, as QML's controls do (`QQuickMenuBarItem`, Qt 5.15 and 6). Pure.

use apprentice_protocol::{Role, UiNode};

const BAR: &str = "menubar";

/// Makes each named menu bar within a menu bar the item that opens its menu.
pub(super) fn name_menus(nodes: &mut [UiNode]) {
    let within = |node: &UiNode| {
        let above = node.parent.and_then(|parent| nodes.get(usize::try_from(parent).ok()?));
        above.is_some_and(|above| above.role.as_str() == BAR)
    };
    let is_menu = |node: &UiNode| node.role.as_str() == BAR && !node.name.is_empty() && within(node);
    let menus: Vec<usize> = (0..nodes.len()).filter(|index| is_menu(&nodes[*index])).collect();
    for menu in menus {
        nodes[menu].role = Role::new("menuitem");
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::UiNode;

    use super::name_menus;

    #[test]
    fn a_named_bar_in_a_bar_is_a_menu() {
        let bar = |parent: Option<u32>, name: &str| UiNode::new("n1", parent, "menubar", name);
        let window = UiNode::new("n1", None, "window", "QML");
        let mut nodes = vec![window, bar(Some(0), "Main"), bar(Some(1), "File"), bar(Some(1), "")];
        name_menus(&mut nodes);
        let roles: Vec<&str> = nodes.iter().map(|node| node.role.as_str()).collect();
        assert_eq!(roles, ["window", "menubar", "menuitem", "menubar"]);
    }
}
