//! Parses the outline of the latest observation into a scene with surfaces and labels.

use apprentice_protocol::{ImagePoint, NodeRef, Outline, State};

use super::words::plain;

/// The interaction category of an element, derived from its role and states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    /// Opens a list of commands.
    Menu,
    /// A command, an option or another selectable entry.
    Item,
    /// A toggle that is on or off.
    Switch,
    /// One of several exclusive choices.
    Radio,
    /// Performs an action when pressed.
    Button,
    /// Accepts text.
    Field,
    /// Opens a list of options.
    Combo,
    /// Shows another page of the same surface.
    Tab,
    /// Navigates to another page.
    Link,
    /// An object: a file, a row, a cell.
    Object,
    /// A window.
    Window,
    /// A dialog window.
    Dialog,
    /// Static text.
    StaticText,
    /// Any other element.
    Other,
}

/// The largest number of elements between a control of a page and the menu that it unfolds.
const MENU_DISTANCE: usize = 4;

impl ElementKind {
    /// Returns whether controls of this kind are pressed.
    pub(super) fn is_pressed(self) -> bool {
        matches!(
            self,
            Self::Menu
                | Self::Item
                | Self::Switch
                | Self::Radio
                | Self::Button
                | Self::Combo
                | Self::Tab
                | Self::Link
        )
    }
}

/// Returns whether an element is a toggle button and not a disclosure.
fn toggles(states: &[State]) -> bool {
    states.iter().any(|state| matches!(state, State::Checked | State::Unchecked))
        && !states.iter().any(|state| matches!(state, State::Collapsed | State::Expanded))
}

fn kind_of(role: &str, states: &[State]) -> ElementKind {
    match role {
        "menu" | "popupbutton" | "menubutton" => ElementKind::Menu,
        "menuitem" if states.iter().any(|state| matches!(state, State::Collapsed | State::Expanded)) => {
            ElementKind::Menu
        }
        "menuitem" | "option" | "menu_item" | "list_item_option" => ElementKind::Item,
        "menuitemcheckbox" | "checkbox" | "switch" | "togglebutton" | "toggle_button" | "check_box"
        | "check_menu_item" => ElementKind::Switch,
        "menuitemradio" | "radio" | "radiobutton" | "radio_button" | "radio_menu_item" => ElementKind::Radio,
        "button" if toggles(states) => ElementKind::Switch,
        "button" | "push_button" | "pushbutton" | "disclosuretriangle" | "summary" => ElementKind::Button,
        "textbox" | "searchbox" | "spinbutton" | "entry" | "terminal" | "password_text" | "textarea" => {
            ElementKind::Field
        }
        "combobox" | "combo_box" | "listbox_button" => {
            if states.contains(&State::Editable) {
                ElementKind::Field
            } else {
                ElementKind::Combo
            }
        }
        "tab" | "page_tab" => ElementKind::Tab,
        "link" => ElementKind::Link,
        "listitem" | "treeitem" | "row" | "cell" | "gridcell" | "icon" | "table_cell" | "list_item"
        | "img" | "image" => ElementKind::Object,
        "window" | "frame" | "application" => ElementKind::Window,
        "dialog" | "alertdialog" | "alert" | "file_chooser" | "color_chooser" => ElementKind::Dialog,
        "text" if states.contains(&State::Editable) => ElementKind::Field,
        "label" | "text" | "heading" | "statictext" | "static" | "paragraph" | "text_leaf" | "labeltext"
        | "caption" => ElementKind::StaticText,
        _ if states.contains(&State::Editable) => ElementKind::Field,
        _ => ElementKind::Other,
    }
}

/// One element of the outline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    pub(super) id: NodeRef,
    /// Levels below the root.
    pub(super) depth: u32,
    /// The index of its parent.
    pub(super) parent: Option<usize>,
    pub(super) kind: ElementKind,
    /// Its role as the outline spells it.
    pub(super) role: String,
    /// Its name, trimmed.
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) states: Vec<State>,
    /// Its center in image coordinates; `None` if the outline gives no position.
    pub(super) at: Option<ImagePoint>,
}

impl Element {
    /// Returns whether it has this state.
    pub(super) fn is(&self, state: State) -> bool {
        self.states.contains(&state)
    }

    /// Returns whether it is enabled and visible.
    pub(super) fn is_enabled(&self) -> bool {
        !self.is(State::Disabled) && !self.is(State::Hidden)
    }

    /// Returns whether its label ends in an ellipsis, which announces another surface.
    pub(super) fn promises(&self) -> bool {
        self.name.ends_with('…') || self.name.ends_with("...")
    }

    /// Returns whether it is the document of a page.
    pub(super) fn is_document(&self) -> bool {
        matches!(self.role.as_str(), "document" | "rootwebarea")
    }

    /// Returns its on/off state; `None` if it cannot be on or off.
    pub(super) fn is_on(&self) -> Option<bool> {
        let toggles = matches!(self.kind, ElementKind::Switch | ElementKind::Radio);
        if !toggles && !matches!(self.kind, ElementKind::Item | ElementKind::Button) {
            return None;
        }
        let states = [(State::Checked, true), (State::Unchecked, false)];
        let known = states.into_iter().find(|(state, _)| self.is(*state)).map(|(_, on)| on);
        known.or(toggles.then_some(false))
    }
}

/// A parsed observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scene {
    /// The elements, parents before children.
    pub(super) elements: Vec<Element>,
    /// Lines of the observation that are not elements.
    pub(super) notes: Vec<String>,
}

/// Returns whether an element contains the entries of an open list: a menu, or the list of a combo box.
fn is_popup(elements: &[Element], index: usize) -> bool {
    let element = &elements[index];
    match element.role.as_str() {
        "menu" | "combobox" => true,
        "listbox" => element.parent.is_some_and(|parent| elements[parent].kind == ElementKind::Combo),
        _ => false,
    }
}

impl Scene {
    /// Parses the text of an observation.
    pub(super) fn read(text: &str) -> Self {
        let mut path: Vec<(u32, usize)> = Vec::new();
        let mut elements: Vec<Element> = Vec::new();
        for node in Outline::parse(text).nodes {
            path.retain(|(depth, _)| *depth < node.depth);
            let parent = path.last().map(|(_, index)| *index);
            path.push((node.depth, elements.len()));
            let in_bar = parent.is_some_and(|parent: usize| elements[parent].role == "menubar");
            let in_list = parent.is_some_and(|parent: usize| is_popup(&elements, parent));
            let kind = match kind_of(&node.role, &node.states) {
                ElementKind::Item if in_bar => ElementKind::Menu,
                ElementKind::Item if node.role == "option" && !in_list => ElementKind::Object,
                kind => kind,
            };
            elements.push(Element {
                kind,
                role: node.role,
                name: node.name.trim().to_owned(),
                value: node.value,
                states: node.states,
                at: node.at,
                id: node.id,
                depth: node.depth,
                parent,
            });
        }
        let notes = text.lines().filter(|line| !line.contains(" #") || Outline::parse(line).nodes.is_empty());
        Self { notes: notes.map(str::to_owned).collect(), elements }
    }

    /// Returns whether `inner` is `outer` or one of its descendants.
    pub(super) fn is_within(&self, inner: usize, outer: usize) -> bool {
        let mut at = Some(inner);
        while let Some(index) = at {
            if index == outer {
                return true;
            }
            at = self.elements.get(index).and_then(|element| element.parent);
        }
        false
    }

    fn indices(&self, test: impl Fn(&Element) -> bool) -> Vec<usize> {
        self.elements
            .iter()
            .enumerate()
            .filter(|(_, element)| test(element))
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the open menus and option lists with visible entries, outermost first.
    pub(super) fn open_menus(&self) -> Vec<usize> {
        let is_line = |kind: ElementKind| {
            matches!(kind, ElementKind::Item | ElementKind::Switch | ElementKind::Radio | ElementKind::Menu)
        };
        self.indices(|element| {
            element.kind == ElementKind::Menu || element.role == "listbox" && !element.is(State::Hidden)
        })
        .into_iter()
        .filter(|menu| {
            !self.is_standing(*menu)
                && (self.elements[*menu].role != "listbox" || is_popup(&self.elements, *menu))
                && self.elements.iter().any(|element| {
                    element.parent == Some(*menu) && is_line(element.kind) && !element.is(State::Hidden)
                })
        })
        .collect()
    }

    /// Returns whether a menu is a permanent part of a page: no control before it is unfolded.
    fn is_standing(&self, menu: usize) -> bool {
        let mut above = self.elements[menu].parent;
        while let Some(index) = above.filter(|index| !self.elements[*index].is_document()) {
            above = self.elements[index].parent;
        }
        let before = &self.elements[menu.saturating_sub(MENU_DISTANCE)..menu];
        above.is_some() && !before.iter().any(|element| element.is(State::Expanded))
    }

    /// Returns the dialogs, outermost first. A dialog nested in another one is not counted.
    pub(super) fn dialogs(&self) -> Vec<usize> {
        let is_dialog = |element: &Element| element.kind == ElementKind::Dialog || element.is(State::Modal);
        let mut found = self.indices(is_dialog);
        found.retain(|index| {
            let mut above = self.elements[*index].parent;
            while let Some(element) = above.and_then(|index| self.elements.get(index)) {
                if is_dialog(element) {
                    return false;
                }
                above = element.parent;
            }
            true
        });
        found
    }

    /// Returns whether a document is present but still empty.
    pub(super) fn is_loading(&self) -> bool {
        let documents = self.indices(|element| element.role == "document" || element.role == "rootwebarea");
        !documents.is_empty()
            && documents
                .iter()
                .all(|document| !self.elements.iter().any(|element| element.parent == Some(*document)))
    }

    /// Returns whether a browser page is in front.
    pub(super) fn is_page(&self) -> bool {
        self.elements.iter().any(|element| element.role == "document" && !element.name.is_empty())
    }

    /// Returns the root of the surface that receives input: the innermost open menu, else the front dialog, else the
    /// active window. `None` stands for the whole scene.
    pub(super) fn front(&self) -> Option<usize> {
        if let Some(menu) = self.open_menus().last() {
            return Some(*menu);
        }
        self.surface()
    }

    /// Returns the front dialog or window, ignoring menus.
    pub(super) fn surface(&self) -> Option<usize> {
        let dialogs = self.dialogs();
        let active = dialogs.iter().copied().find(|index| self.elements[*index].is(State::Active));
        active.or_else(|| dialogs.last().copied()).or_else(|| {
            let windows =
                self.indices(|element| element.kind == ElementKind::Window && element.role != "application");
            windows.into_iter().find(|index| self.elements[*index].is(State::Active))
        })
    }

    /// Returns the enabled and visible elements below a root, without the root.
    pub(super) fn below(&self, root: Option<usize>) -> Vec<&Element> {
        let inside = |index: &usize| root.is_none_or(|root| *index != root && self.is_within(*index, root));
        (0..self.elements.len())
            .filter(inside)
            .map(|index| &self.elements[index])
            .filter(|element| element.is_enabled())
            .collect()
    }

    /// Returns the number of named windows.
    pub(super) fn windows(&self) -> usize {
        self.indices(|element| {
            element.kind == ElementKind::Window && element.role != "application" && !element.name.is_empty()
        })
        .len()
    }

    /// Returns whether the front dialog asks for a file or a folder.
    pub(super) fn asks_for_file(&self) -> bool {
        let Some(surface) = self.surface() else { return false };
        self.elements.iter().enumerate().any(|(index, element)| {
            let says = element.role.replace('_', "") == "filechooser"
                || element.kind == ElementKind::Dialog
                    && plain(&element.name).starts_with(&["file".into(), "chooser".into()]);
            says && self.is_within(index, surface)
        })
    }

    /// Returns the title of the front window, to distinguish programs.
    pub(super) fn title(&self) -> &str {
        let windows = self.indices(|element| {
            matches!(element.kind, ElementKind::Window)
                && element.role != "application"
                && !element.name.is_empty()
        });
        let active = windows.iter().find(|index| self.elements[**index].is(State::Active));
        active.or_else(|| windows.first()).map_or("", |index| self.elements[*index].name.as_str())
    }

    /// Returns the names of programs, windows and dialogs, to select a skill domain.
    pub(super) fn places(&self) -> Vec<String> {
        let named = self.indices(|element| matches!(element.kind, ElementKind::Window | ElementKind::Dialog));
        named
            .into_iter()
            .map(|index| self.elements[index].name.clone())
            .filter(|name| !name.is_empty())
            .collect()
    }

    /// Returns an element's name, or the text beside or above it if it is unnamed. A combo box gets both.
    pub(super) fn label_of(&self, element: &Element) -> String {
        let own = element.name.clone();
        let is_combo = element.kind == ElementKind::Combo;
        if !own.is_empty() && !is_combo {
            return own;
        }
        let Some(at) = element.at else { return own };
        let mut best: Option<(f64, &str)> = None;
        for words in self.elements.iter().filter(|other| {
            matches!(other.kind, ElementKind::StaticText | ElementKind::Switch)
                && !other.name.is_empty()
                && other.id != element.id
        }) {
            let Some(place) = words.at else { continue };
            let (dx, dy) = (at.x - place.x, at.y - place.y);
            let beside = dx > 0.0 && dy.abs() <= 14.0;
            let above = dy > 0.0 && dy <= 45.0 && dx.abs() <= 260.0;
            let distance = if beside { dx * 0.2 + dy.abs() } else { dy * 2.0 + dx.abs() * 0.3 };
            if (beside || above) && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, &words.name));
            }
        }
        match best {
            Some((_, label)) if is_combo => format!("{label} {own}"),
            Some((_, label)) => label.to_owned(),
            None => own,
        }
    }

    /// Returns the main text field of a window: a terminal, the focused field, or the only field. `None` inside a
    /// dialog.
    pub(super) fn document(&self) -> Option<&Element> {
        let surface = self.surface();
        if surface.is_some_and(|index| self.elements[index].kind == ElementKind::Dialog) {
            return None;
        }
        let fields: Vec<&Element> =
            self.below(surface).into_iter().filter(|element| element.kind == ElementKind::Field).collect();
        fields
            .iter()
            .copied()
            .find(|field| field.role == "terminal")
            .or_else(|| fields.iter().copied().find(|field| field.is(State::Focused)))
            .or_else(|| fields.first().copied().filter(|_| fields.len() == 1))
    }
}
