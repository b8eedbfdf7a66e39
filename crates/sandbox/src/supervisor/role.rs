//! What is read of an element, by its role. Pure.

use atspi::Role as BusRole;

/// Returns whether an element is a window or stands for a program.
pub(super) fn is_window(role: BusRole) -> bool {
    matches!(
        role,
        BusRole::Application
            | BusRole::Frame
            | BusRole::Window
            | BusRole::Dialog
            | BusRole::Alert
            | BusRole::FileChooser
            | BusRole::InternalFrame
    )
}

/// Returns whether the role's text is read in addition to its name. Passwords are not read.
pub(super) fn has_text(role: BusRole) -> bool {
    matches!(
        role,
        BusRole::Entry
            | BusRole::Text
            | BusRole::Editbar
            | BusRole::Terminal
            | BusRole::SpinButton
            | BusRole::Autocomplete
            | BusRole::TableCell
            | BusRole::StatusBar
            | BusRole::Page
    )
}

/// Returns whether the role's text is read unless the children hold it: word processors keep text in the paragraph itself,
/// browsers in text nodes below it.
pub(super) fn has_text_unless_children_tell(role: BusRole) -> bool {
    matches!(role, BusRole::Paragraph | BusRole::Heading | BusRole::BlockQuote | BusRole::Caption)
}

/// Returns whether the role may show a picture instead of a name, so that its description explains it.
fn is_button(role: BusRole) -> bool {
    matches!(role, BusRole::Button | BusRole::ToggleButton | BusRole::RadioButton | BusRole::PushButtonMenu)
}

/// Returns whether the role shows a text. Some programs give it no name, but a text of its own.
pub(super) fn is_label(role: BusRole) -> bool {
    matches!(role, BusRole::Label | BusRole::Static)
}

/// Returns whether a nameless element may say in its description what it is: buttons with a picture, fields, and labels without
/// a text.
pub(super) fn may_be_described(role: BusRole, silent: bool) -> bool {
    is_button(role) || is_field(role) || (is_label(role) && silent)
}

/// Returns whether the role is a field, which a label may explain.
pub(super) fn is_field(role: BusRole) -> bool {
    matches!(
        role,
        BusRole::Entry | BusRole::Text | BusRole::SpinButton | BusRole::ComboBox | BusRole::PasswordText
    )
}

/// Returns whether the role shows a text that may be longer than its place.
pub(super) fn may_be_cut_off(role: BusRole) -> bool {
    has_text(role) || has_text_unless_children_tell(role) || is_label(role) || role == BusRole::ComboBox
}

/// Returns whether the role is an item of a menu.
pub(super) fn is_menu_item(role: BusRole) -> bool {
    matches!(
        role,
        BusRole::MenuItem
            | BusRole::CheckMenuItem
            | BusRole::RadioMenuItem
            | BusRole::TearoffMenuItem
            | BusRole::Menu
            | BusRole::Separator
    )
}

/// Returns whether the role has a numeric value.
pub(super) fn has_number(role: BusRole) -> bool {
    matches!(role, BusRole::Slider | BusRole::ProgressBar | BusRole::LevelBar | BusRole::Dial)
}
