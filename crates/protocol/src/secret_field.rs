//! Tells whether a view shows a field for a secret. Worlds read no content of password fields, and browsers show it masked.

use crate::{Outline, OutlineNode, State};

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

fn may_hold_secret(node: &OutlineNode) -> bool {
    let takes_text = node.states.contains(&State::Editable) || node.role == "textbox";
    let name = node.name.to_lowercase();
    let is_masked =
        |value: &str| !value.trim().is_empty() && value.trim().chars().all(|c| MASKS.contains(&c));
    let is_unread = node.value.is_none() && !CONTENT.contains(&node.role.as_str());
    node.role.contains("password")
        || node.value.as_deref().is_some_and(is_masked)
        || (takes_text && (is_unread || NAMES.iter().any(|word| name.contains(word))))
}

#[cfg(test)]
mod tests {
    use crate::Outline;

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
