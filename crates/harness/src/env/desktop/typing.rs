//! Typing on a desktop.

use std::collections::BTreeSet;

use apprentice_protocol::{State, TreeBudget, UiNode, UiTree};
use apprentice_sandbox::Keys;

use super::{ActReport, ActionError, ActionResult, DesktopEnvironment};

impl DesktopEnvironment {
    /// Types a text with the keys of a keyboard.
    pub(super) async fn type_text(&self, text: String) -> ActionResult {
        self.cell.on_screen(|screen, stop| screen.await_focus(stop)).await?;
        let to = self.taken_now(&text).await?;
        let typed = self.cell.on_screen(move |screen, stop| {
            screen.disturbed()?;
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

    /// What takes the keys of a text at this moment. Elements are read again where the screen has changed since the last view, as
    /// the focus may have gone elsewhere, and where nobody asked for them.
    async fn taken_now(&self, text: &str) -> Result<Keys, ActionError> {
        match &self.seen_tree {
            _ if !repeats(text) => return Ok(Keys::Text),
            Some(tree) if !tree.nodes.iter().any(|node| is_key(node, text)) => return Ok(Keys::Text),
            Some(tree) => {
                let changes = self.cell.on_screen(|screen, _| Ok(screen.activity()?.0)).await?;
                if changes == self.seen_changes {
                    return Ok(taken_by(tree, text));
                }
            }
            None => {}
        }
        Ok(taken_by(&self.tree(&TreeBudget::default()).await?, text))
    }
}

/// Returns whether a text has a character twice: its key is pressed again, perhaps while its button is pressed still.
fn repeats(text: &str) -> bool {
    let mut seen = BTreeSet::new();
    !text.chars().all(|character| seen.insert(character))
}

/// Returns whether an element is a button that has the name of one of the characters.
fn is_key(node: &UiNode, text: &str) -> bool {
    let mut name = node.name.trim().chars();
    let (first, rest) = (name.next(), name.next());
    node.role.as_str() == "button" && rest.is_none() && first.is_some_and(|name| text.contains(name))
}

/// What takes the keys of a text: buttons, if the focus is on something that cannot be edited, and a button has the name of one of
/// the characters.
fn taken_by(tree: &UiTree, text: &str) -> Keys {
    let focus = tree.nodes.iter().find(|node| node.is(State::Focused));
    match focus {
        Some(focus) if !focus.is(State::Editable) && tree.nodes.iter().any(|node| is_key(node, text)) => {
            Keys::Buttons
        }
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
