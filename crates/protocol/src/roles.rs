//! What the roles of elements say about them.

/// Roles of fields.
const FIELDS: [&str; 5] = ["textbox", "searchbox", "combobox", "spinbutton", "entry"];
/// Roles of what lists and tables hold: the user's data. Their names are values, and no labels of a program.
const ITEMS: [&str; 7] = ["cell", "gridcell", "listitem", "row", "treeitem", "icon", "table cell"];

/// Whether an element of this role is a field: what is put into it replaces what it holds.
pub fn is_field_role(role: &str) -> bool {
    FIELDS.contains(&role)
}

/// Whether text can be typed into an element of this role: a field, or a terminal.
pub fn takes_text_role(role: &str) -> bool {
    is_field_role(role) || role == "terminal"
}

/// Whether an element of this role is held by a list or a table: its name is the user's data.
pub fn is_item_role(role: &str) -> bool {
    ITEMS.contains(&role)
}
