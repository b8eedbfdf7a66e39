//! Tells whether a view shows a field for a secret, and where. Worlds read no content of password fields, and browsers show it masked.

use crate::{Outline, OutlineNode, Rect, State, UiNode, UiTree};

/// Words in the names of fields for secrets.
const NAMES: &[&str] = &[
    "password",
    "passwort",
    "passphrase",
    "passcode",
    "mot de passe",
    "contraseña",
    "kennwort",
    "secret",
    "pin code",
];
/// Characters with which programs mask a secret.
const MASKS: &[char] = &['•', '●', '∗', '*', '⬤'];

/// Roles of documents and tables and of their parts. They take text and name no content of their own: a password is typed into a
/// field.
const CONTENT: &[&str] = &[
    "document",
    "table",
    "grid",
    "treegrid",
    "row",
    "cell",
    "gridcell",
    "columnheader",
    "rowheader",
    "paragraph",
    "heading",
];

impl Outline {
    /// Returns whether an element is a field for a secret, or may be one: it is called so, its content is masked, or it is a
    /// field whose content was not read.
    pub fn may_show_secret(&self) -> bool {
        self.nodes.iter().any(may_hold_secret)
    }
}

impl UiTree {
    /// Returns where the screen shows a secret: fields called so or masked, and elements in whose texts `is_secret` finds one.
    /// Of an element and what stands in it, the inner ones, as the outer may be the whole page.
    pub fn secret_places(&self, is_secret: impl Fn(&str) -> bool) -> Vec<Rect> {
        let mut is_outer = vec![false; self.nodes.len()];
        let mut places = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let is_one = is_outer[at] || is_secret_field(node) || texts(node).any(&is_secret);
            let parent = node.parent.and_then(|parent| is_outer.get_mut(parent as usize));
            if let Some(outer) = parent.filter(|_| is_one) {
                *outer = true;
            }
            let place = node.bounds.filter(|place| place.centre().is_some());
            if is_one && !is_outer[at] && !node.is(State::Hidden) {
                places.extend(place);
            }
        }
        places.reverse();
        places
    }
}

fn texts(node: &UiNode) -> impl Iterator<Item = &str> {
    let visible = node.visible.as_ref().map(|visible| visible.text.as_str());
    [Some(node.name.as_str()), node.value.as_deref(), visible].into_iter().flatten()
}

fn is_secret_field(node: &UiNode) -> bool {
    let takes_text = node.is(State::Editable) || node.role.as_str() == "textbox";
    let is_called_so = || {
        let name = node.name.to_lowercase();
        NAMES.iter().any(|word| name.contains(word))
    };
    node.role.as_str().contains("password")
        || node.value.as_deref().is_some_and(is_masked)
        || takes_text && is_called_so()
}

fn is_masked(value: &str) -> bool {
    !value.trim().is_empty() && value.trim().chars().all(|c| MASKS.contains(&c))
}

fn may_hold_secret(node: &OutlineNode) -> bool {
    let takes_text = node.states.contains(&State::Editable) || node.role == "textbox";
    let name = node.name.to_lowercase();
    let is_unread = node.value.is_none() && !CONTENT.contains(&node.role.as_str());
    node.role.contains("password")
        || node.value.as_deref().is_some_and(is_masked)
        || (takes_text && (is_unread || NAMES.iter().any(|word| name.contains(word))))
}

#[cfg(test)]
mod tests {
    use crate::{Outline, Rect, UiNode, UiTree};

    #[test]
    fn places_of_secrets_are_the_inner_ones_with_a_place() {
        let node = |id: &str, parent, role: &str, name: &str, value: Option<&str>, at: i32| UiNode {
            value: value.map(str::to_owned),
            bounds: (at >= 0).then(|| Rect::new(0, at, 100, 10)),
            ..UiNode::new(id, parent, role, name)
        };
        let tree = UiTree {
            nodes: vec![
                node("n0", None, "document", "the key is K1", None, 0),
                node("n1", Some(0), "text", "K1", None, 20),
                node("n2", Some(0), "textbox", "Your password", Some("open sesame"), 40),
                node("n3", Some(0), "textbox", "Name", Some("•••"), 60),
                node("n4", Some(0), "textbox", "Name", Some("Ada"), 80),
                node("n5", Some(0), "button", "Forgot password?", None, 100),
                node("n6", Some(0), "text", "K1", None, -1),
            ],
            truncated: None,
        };
        let tops: Vec<i32> =
            tree.secret_places(|text| text.contains("K1")).iter().map(|place| place.y).collect();
        assert_eq!(tops, [20, 40, 60]);
    }

    #[test]
    fn fields_for_secrets_are_known_by_role_name_mask_or_unread_content() {
        let shows = |line: &str| Outline::parse(line).may_show_secret();
        for line in [
            "password_text \"Key\" = \"\" #n1",
            "textbox \"Password\" = \"\" [editable] @1,2 #n1",
            "textbox \"Dein Passwort\" = \"abc\" [editable] #n1",
            "textbox = \"••••\" [editable] #n1",
            "textbox \"Account\" [editable] #n1",
            "generic [editable] #n1",
            "cell \"Password\" [editable] #n1",
            "cell \"B2\" = \"••••••\" [editable] #n1",
        ] {
            assert!(shows(line), "{line}");
        }
        for line in [
            "button \"Forgot password?\" #n1",
            "textbox \"Title\" = \"\" [editable] #n1",
            "textbox = \"2 * 3\" [editable] #n1",
            "menuitem \"Edit\" [expanded] #n1",
            "document \"diary - LibreOffice Document\" [editable] #n1",
            "table \"Sheet List\" [focused, editable] #n1",
            "cell \"E1\" [editable] #n1",
            "paragraph [editable] #n1",
        ] {
            assert!(!shows(line), "{line}");
        }
    }
}
