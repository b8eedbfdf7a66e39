//! Typing on a desktop.

use apprentice_protocol::{State, UiNode, UiTree};
use apprentice_sandbox::Keys;

use super::{ActReport, ActionResult, DesktopEnvironment};

impl DesktopEnvironment {
    /// Types a text with the keys of a keyboard.
    pub(super) async fn type_text(&self, text: String) -> ActionResult {
        let seen = self.seen_changes;
        let focus = self.seen_tree.as_ref().map_or(Keys::Text, |tree| taken_by(tree, &text));
        let typed = self.cell.on_screen(move |screen, stop| {
            screen.await_focus(stop)?;
            // The focus may have gone elsewhere since the list was made.
            let to = if screen.activity()?.0 == seen { focus } else { Keys::Text };
            screen.disturbed();
            let untypable = screen.type_text(&text, to, stop)?;
            screen.settle(stop)?;
            Ok(untypable)
        });
        let untypable = typed.await?;
        if untypable.is_empty() {
            return Ok(ActReport::delivered());
        }
        let text = Some(format!("characters that no key types were left out: {untypable:?}"));
        Ok(ActReport { text, ..ActReport::delivered() })
    }
}

/// What takes the keys of a text: buttons, if the focus is on something that cannot be edited, and a button has the name of one of
/// the characters.
fn taken_by(tree: &UiTree, text: &str) -> Keys {
    let is_named = |node: &UiNode, character: char| {
        let mut name = node.name.trim().chars();
        name.next() == Some(character) && name.next().is_none()
    };
    let is_key = |node: &UiNode| node.role.as_str() == "button" && text.chars().any(|c| is_named(node, c));
    let focus = tree.nodes.iter().find(|node| node.is(State::Focused));
    match focus {
        Some(focus) if !focus.is(State::Editable) && tree.nodes.iter().any(is_key) => Keys::Buttons,
        _ => Keys::Text,
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{State, UiNode, UiTree};
    use apprentice_sandbox::Keys;

    use super::taken_by;

    #[test]
    fn keys_of_a_calculator_are_taken_by_its_buttons() {
        let node = |role: &str, name: &str, states: &[State]| UiNode {
            states: states.iter().copied().collect(),
            ..UiNode::new("1", None, role, name)
        };
        let check = |focus: UiNode, button: &str, text: &str, expected: Keys| {
            let tree = UiTree { nodes: vec![focus, node("button", button, &[])], ..UiTree::default() };
            assert_eq!(taken_by(&tree, text), expected, "{tree:?} {text}");
        };
        let display = node("textbox", "", &[State::Focused]);
        check(display.clone(), "7", "37-8=", Keys::Buttons);
        check(display.clone(), "7", "Ada", Keys::Text);
        check(display.clone(), "Save", "Save", Keys::Text);
        check(node("textbox", "", &[State::Focused, State::Editable]), "7", "37-8=", Keys::Text);
        check(node("textbox", "", &[]), "7", "37-8=", Keys::Text);
    }
}
