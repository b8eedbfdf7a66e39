//! Translates roles and states of the accessibility bus into ARIA's. Pure.

use std::collections::BTreeSet;

use apprentice_protocol::{Role, State};
use atspi::{Role as BusRole, State as BusState, StateSet};

/// The ARIA role of a bus role. A menu with a name is the item that opens it, as in a menu bar.
pub(super) fn role(role: BusRole, name: &str, states: StateSet) -> Role {
    let word = match role {
        BusRole::Button | BusRole::PushButtonMenu | BusRole::ToggleButton => "button",
        BusRole::CheckBox => "checkbox",
        BusRole::CheckMenuItem => "menuitemcheckbox",
        BusRole::RadioButton => "radio",
        BusRole::RadioMenuItem => "menuitemradio",
        BusRole::MenuBar => "menubar",
        BusRole::MenuItem | BusRole::TearoffMenuItem => "menuitem",
        BusRole::Menu if !name.is_empty() => "menuitem",
        BusRole::Menu | BusRole::PopupMenu => "menu",
        BusRole::PageTab => "tab",
        BusRole::PageTabList => "tablist",
        BusRole::Entry | BusRole::PasswordText | BusRole::Editbar | BusRole::DateEditor => "textbox",
        BusRole::Text if states.contains(BusState::Editable) => "textbox",
        BusRole::Text | BusRole::Label | BusRole::Static | BusRole::Caption => "text",
        BusRole::ComboBox | BusRole::Autocomplete => "combobox",
        BusRole::ListBox => "listbox",
        BusRole::ListItem | BusRole::Icon | BusRole::DesktopIcon if states.contains(BusState::Selectable) => {
            "option"
        }
        BusRole::ListItem => "listitem",
        BusRole::Icon | BusRole::DesktopIcon | BusRole::Image => "img",
        BusRole::TreeTable => "treegrid",
        BusRole::DocumentSpreadsheet => "document",
        // A cell without a name only groups other elements.
        BusRole::TableCell if name.is_empty() => "generic",
        BusRole::TableCell => "cell",
        BusRole::TableRow => "row",
        BusRole::ColumnHeader | BusRole::TableColumnHeader => "columnheader",
        BusRole::RowHeader | BusRole::TableRowHeader => "rowheader",
        BusRole::Dialog | BusRole::FileChooser | BusRole::ColorChooser | BusRole::FontChooser => "dialog",
        BusRole::Frame | BusRole::Window | BusRole::InternalFrame => "window",
        BusRole::StatusBar => "status",
        BusRole::LevelBar => "meter",
        BusRole::Panel | BusRole::Grouping => "group",
        BusRole::Section | BusRole::Extended | BusRole::Invalid => "generic",
        BusRole::Landmark => "region",
        BusRole::DocumentFrame
        | BusRole::DocumentWeb
        | BusRole::DocumentText
        | BusRole::DocumentEmail
        | BusRole::DocumentPresentation => "document",
        other => return Role::new(format!("{other:?}").to_lowercase()),
    };
    Role::new(word)
}

/// Whether an element is a window or stands for a program.
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

/// The states that are reported.
pub(super) fn states(role: BusRole, states: StateSet) -> BTreeSet<State> {
    let has = |state| states.contains(state);
    let mut told = BTreeSet::new();
    let mut tell = |state, holds: bool| {
        if holds {
            told.insert(state);
        }
    };
    let toggles = matches!(
        role,
        BusRole::CheckBox
            | BusRole::CheckMenuItem
            | BusRole::RadioButton
            | BusRole::RadioMenuItem
            | BusRole::ToggleButton
    );
    let checked = has(BusState::Checked) || (role == BusRole::ToggleButton && has(BusState::Pressed));
    tell(State::Focused, has(BusState::Focused));
    tell(State::Active, has(BusState::Active));
    tell(State::Checked, checked);
    tell(State::Unchecked, !checked && (toggles || has(BusState::Checkable)));
    tell(State::Selected, has(BusState::Selected));
    // A submenu does not report that it can be expanded; an open one is selected.
    let submenu = role == BusRole::Menu;
    let opens = submenu || has(BusState::Expandable);
    let open = has(BusState::Expanded) || submenu && has(BusState::Selected);
    tell(State::Expanded, opens && open);
    tell(State::Collapsed, opens && !open);
    tell(State::Editable, has(BusState::Editable) && !has(BusState::ReadOnly));
    tell(State::Modal, has(BusState::Modal));
    if role != BusRole::Application {
        tell(State::Disabled, !has(BusState::Sensitive) && !has(BusState::Enabled));
        tell(State::Hidden, !has(BusState::Showing));
    }
    told
}

/// Whether the role's text is read in addition to its name. Passwords are not read.
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
    )
}

/// Whether the role's text is read unless the children hold it: word processors keep text in the paragraph itself,
/// browsers in text nodes below it.
pub(super) fn has_text_unless_children_tell(role: BusRole) -> bool {
    matches!(role, BusRole::Paragraph | BusRole::Heading | BusRole::BlockQuote | BusRole::Caption)
}

/// Whether the role may show a picture instead of a name, so that its description explains it.
fn is_button(role: BusRole) -> bool {
    matches!(role, BusRole::Button | BusRole::ToggleButton | BusRole::RadioButton | BusRole::PushButtonMenu)
}

/// Whether the role shows a text. Some programs give it no name, but a text of its own.
pub(super) fn is_label(role: BusRole) -> bool {
    matches!(role, BusRole::Label | BusRole::Static)
}

/// Whether a nameless element may say in its description what it is: buttons with a picture, fields, and labels without
/// a text.
pub(super) fn may_be_described(role: BusRole, silent: bool) -> bool {
    is_button(role) || is_field(role) || (is_label(role) && silent)
}

/// Whether the role is a field, which a label may explain.
pub(super) fn is_field(role: BusRole) -> bool {
    matches!(
        role,
        BusRole::Entry | BusRole::Text | BusRole::SpinButton | BusRole::ComboBox | BusRole::PasswordText
    )
}

/// Whether the role shows a text that may be longer than its place.
pub(super) fn may_be_cut_off(role: BusRole) -> bool {
    has_text(role) || has_text_unless_children_tell(role) || is_label(role) || role == BusRole::ComboBox
}

/// Whether the role is an item of a menu.
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

/// Whether the role has a numeric value.
pub(super) fn has_number(role: BusRole) -> bool {
    matches!(role, BusRole::Slider | BusRole::ProgressBar | BusRole::LevelBar | BusRole::Dial)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::State;
    use atspi::{Role as BusRole, State as BusState, StateSet};

    use super::{role, states};

    #[test]
    fn roles_become_arias_words() {
        let check = |bus, name, has: &[BusState], expected: &str| {
            assert_eq!(role(bus, name, has.iter().collect()).as_str(), expected, "{bus:?} {name:?}");
        };
        check(BusRole::Button, "Open", &[], "button");
        check(BusRole::Menu, "File", &[], "menuitem");
        check(BusRole::Menu, "", &[], "menu");
        check(BusRole::Text, "", &[BusState::Editable], "textbox");
        check(BusRole::Text, "", &[], "text");
        check(BusRole::Icon, "a.txt", &[BusState::Selectable], "option");
        check(BusRole::ScrollPane, "", &[], "scrollpane");
        check(BusRole::Terminal, "", &[], "terminal");
    }

    #[test]
    fn only_states_worth_telling_are_told() {
        let usual = [BusState::Sensitive, BusState::Enabled, BusState::Showing, BusState::Visible];
        let told = |role, more: &[BusState]| -> Vec<State> {
            let all: StateSet = usual.iter().chain(more).collect();
            states(role, all).into_iter().collect()
        };
        assert_eq!(told(BusRole::Button, &[]), []);
        assert_eq!(told(BusRole::CheckBox, &[]), [State::Unchecked]);
        assert_eq!(told(BusRole::ToggleButton, &[BusState::Pressed]), [State::Checked]);
        assert_eq!(told(BusRole::Tree, &[BusState::Expandable]), [State::Collapsed]);
        assert_eq!(states(BusRole::Application, StateSet::empty()).len(), 0);
        let closed: Vec<State> = states(BusRole::MenuItem, StateSet::empty()).into_iter().collect();
        assert_eq!(closed, [State::Disabled, State::Hidden]);
    }
}
