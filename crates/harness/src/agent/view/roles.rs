//! What the roles of elements say about acting on them.

/// Roles of elements that can be acted on.
const INTERACTIVE: &[&str] = &[
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "listbox",
    "option",
    "checkbox",
    "radio",
    "switch",
    "slider",
    "spinbutton",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "tab",
    "treeitem",
    "clickable",
];

/// Whether elements of this role can be acted on.
pub(crate) fn is_interactive_role(role: &str) -> bool {
    INTERACTIVE.contains(&role)
}
