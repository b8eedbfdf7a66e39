//! Translates roles and states of the accessibility bus into ARIA's. Pure.

use std::collections::BTreeSet;

use apprentice_protocol::{Role, State};
use atspi::{Role as BusRole, State as BusState, StateSet};

/// The ARIA role of a bus role. A menu with a name is the item that opens it, as in a menu bar.
pub(crate) fn role(role: BusRole, name: &str, states: StateSet) -> Role {
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

/// The role and the states of an element by the bus's own names, as OSWorld's server gives them: `push-button`, `read_only`.
pub fn by_names<'a>(
    role_name: &str,
    name: &str,
    state_names: impl Iterator<Item = &'a str>,
) -> (Role, BTreeSet<State>) {
    let known: StateSet = state_names.map(|state| BusState::from(state.replace('_', "-").as_str())).collect();
    let bus_role = bus_role(role_name);
    // A program may name a role of its own.
    let role = match bus_role {
        BusRole::Extended if role_name != "extended" => Role::new(role_name.replace('-', "")),
        known_role => role(known_role, name, known),
    };
    (role, states(bus_role, known))
}

/// The bus's role with this name, its words joined by hyphens.
fn bus_role(name: &str) -> BusRole {
    if name == "push-button" {
        // Its name until version 2.54 of the bus's library.
        return BusRole::Button;
    }
    let roles = (0..).map_while(|number| BusRole::try_from(number).ok());
    let mut named = roles.filter(|role| role.name().replace(' ', "-") == name);
    named.next().unwrap_or(BusRole::Extended)
}

/// The states that are reported.
pub(crate) fn states(role: BusRole, states: StateSet) -> BTreeSet<State> {
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
    tell(State::Default, has(BusState::IsDefault));
    if role != BusRole::Application {
        tell(State::Disabled, !has(BusState::Sensitive) && !has(BusState::Enabled));
        tell(State::Hidden, !has(BusState::Showing));
    }
    told
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::State;
    use atspi::{Role as BusRole, State as BusState, StateSet};

    use super::{BTreeSet, Role, bus_role, by_names, role, states};

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
    fn names_of_the_bus_are_read_as_its_numbers() {
        // The names that version 2.46 of the bus's library gives the numbers, in their order, as it printed them.
        let names = include_str!("aria_role_names.txt").lines();
        for (number, name) in names.enumerate() {
            let by_number = BusRole::try_from(u32::try_from(number).expect("a number")).expect("a role");
            assert_eq!(bus_role(&name.replace(' ', "-")), by_number, "{name}");
        }
        let read = |role: &str, states: &[&str]| by_names(role, "Copy", states.iter().copied());
        let usual = ["showing", "visible", "sensitive", "enabled", "focusable"];
        let told = |role: &str, more: &[&str]| read(role, &[&usual, more].concat());
        assert_eq!(told("list-item", &["selectable"]).0.as_str(), "option");
        assert_eq!(told("list-item", &[]).0.as_str(), "listitem");
        assert_eq!(told("entry", &["editable", "read_only"]), told("entry", &[]));
        assert_eq!(told("push-button", &["is_default"]).1.into_iter().collect::<Vec<_>>(), [State::Default]);
        // A role of a program's own, and a state of a later version.
        assert_eq!(told("gallery-view", &["floating"]), (Role::new("galleryview"), BTreeSet::new()));
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
