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

impl Outline {
    /// Returns whether an element is a field for a secret, or may be one: it is called so, its content is masked, or it
    /// takes text and its content was not read.
    pub fn may_show_secret(&self) -> bool {
        self.nodes.iter().any(may_hold_secret)
    }
}

fn may_hold_secret(node: &OutlineNode) -> bool {
    let takes_text = node.states.contains(&State::Editable) || node.role == "textbox";
    let name = node.name.to_lowercase();
    let is_masked =
        |value: &str| !value.trim().is_empty() && value.trim().chars().all(|c| MASKS.contains(&c));
    node.role.contains("password")
        || node.value.as_deref().is_some_and(is_masked)
        || (takes_text && (node.value.is_none() || NAMES.iter().any(|word| name.contains(word))))
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
        ] {
            assert!(shows(line), "{line}");
        }
        for line in [
            "button \"Forgot password?\" #n1",
            "textbox \"Title\" = \"\" [editable] #n1",
            "textbox = \"2 * 3\" [editable] #n1",
            "menuitem \"Edit\" [expanded] #n1",
        ] {
            assert!(!shows(line), "{line}");
        }
    }
}
