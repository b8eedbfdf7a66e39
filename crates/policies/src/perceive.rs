//! What a built-in model sees: the outline of the last observation as a scene with scopes and labels.

use apprentice_protocol::{ImagePoint, NodeRef, Outline, State};

use super::words::{plain, same_label};

/// What can be done with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Opens a list of commands.
    Menu,
    /// A command, an option or another pickable line.
    Item,
    /// Is on or off.
    Switch,
    /// One of several.
    Radio,
    /// Does something when pressed.
    Button,
    /// Takes text.
    Field,
    /// Opens a list of options.
    Combo,
    /// Shows another page of the same surface.
    Tab,
    /// Leads to another page.
    Link,
    /// A thing: a file, a row, a cell.
    Thing,
    /// A window.
    Window,
    /// A window that wants an answer.
    Dialog,
    /// Words to read.
    Words,
    /// Anything else.
    Other,
}

/// Whether something pressed stays so, and does not unfold.
fn toggles(states: &[State]) -> bool {
    states.iter().any(|state| matches!(state, State::Checked | State::Unchecked))
        && !states.iter().any(|state| matches!(state, State::Collapsed | State::Expanded))
}

fn kind_of(role: &str, states: &[State]) -> Kind {
    match role {
        "menu" | "popupbutton" | "menubutton" => Kind::Menu,
        "menuitem" if states.iter().any(|state| matches!(state, State::Collapsed | State::Expanded)) => {
            Kind::Menu
        }
        "menuitem" | "option" | "menu_item" | "list_item_option" => Kind::Item,
        "menuitemcheckbox" | "checkbox" | "switch" | "togglebutton" | "toggle_button" | "check_box"
        | "check_menu_item" => Kind::Switch,
        "menuitemradio" | "radio" | "radiobutton" | "radio_button" | "radio_menu_item" => Kind::Radio,
        "button" if toggles(states) => Kind::Switch,
        "button" | "push_button" | "pushbutton" | "disclosuretriangle" | "summary" => Kind::Button,
        "textbox" | "searchbox" | "spinbutton" | "entry" | "terminal" | "password_text" | "textarea" => {
            Kind::Field
        }
        "combobox" | "combo_box" | "listbox_button" => {
            if states.contains(&State::Editable) {
                Kind::Field
            } else {
                Kind::Combo
            }
        }
        "tab" | "page_tab" => Kind::Tab,
        "link" => Kind::Link,
        "listitem" | "treeitem" | "row" | "cell" | "gridcell" | "icon" | "table_cell" | "list_item"
        | "img" | "image" => Kind::Thing,
        "window" | "frame" | "application" => Kind::Window,
        "dialog" | "alertdialog" | "alert" | "file_chooser" | "color_chooser" => Kind::Dialog,
        "text" if states.contains(&State::Editable) => Kind::Field,
        "label" | "text" | "heading" | "statictext" | "static" | "paragraph" | "text_leaf" | "labeltext"
        | "caption" => Kind::Words,
        _ if states.contains(&State::Editable) => Kind::Field,
        _ => Kind::Other,
    }
}

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    /// Its reference.
    pub(super) id: NodeRef,
    /// Levels below the root.
    pub(super) depth: u32,
    /// The index of its parent.
    pub(super) parent: Option<usize>,
    /// What can be done with it.
    pub(super) kind: Kind,
    /// Its role as written.
    pub(super) role: String,
    /// Its name, trimmed.
    pub(super) name: String,
    /// Its value.
    pub(super) value: Option<String>,
    /// Its states.
    pub(super) states: Vec<State>,
    /// Where it is.
    pub(super) at: Option<ImagePoint>,
}

impl Element {
    /// Whether it has this state.
    pub(super) fn is(&self, state: State) -> bool {
        self.states.contains(&state)
    }

    /// Whether it takes input.
    pub(super) fn works(&self) -> bool {
        !self.is(State::Disabled) && !self.is(State::Hidden)
    }

    /// Whether its label promises another surface.
    pub(super) fn promises(&self) -> bool {
        self.name.ends_with('…') || self.name.ends_with("...")
    }

    /// Whether it is on, when it can be on or off.
    pub(super) fn is_on(&self) -> Option<bool> {
        match self.kind {
            Kind::Switch | Kind::Radio | Kind::Item | Kind::Button => {
                if self.is(State::Checked) {
                    Some(true)
                } else if self.is(State::Unchecked) || matches!(self.kind, Kind::Switch | Kind::Radio) {
                    Some(false)
                } else {
                    None
                }
            }
            Kind::Menu
            | Kind::Field
            | Kind::Combo
            | Kind::Tab
            | Kind::Link
            | Kind::Thing
            | Kind::Window
            | Kind::Dialog
            | Kind::Words
            | Kind::Other => None,
        }
    }
}

/// One observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scene {
    /// The elements, parents before children.
    pub(super) elements: Vec<Element>,
    /// Lines of the observation that are no elements.
    pub(super) notes: Vec<String>,
}

/// Whether an element holds the lines of an open list: a menu, or what a combo box shows.
fn is_popup(elements: &[Element], index: usize) -> bool {
    let element = &elements[index];
    match element.role.as_str() {
        "menu" | "combobox" => true,
        "listbox" => element.parent.is_some_and(|parent| elements[parent].kind == Kind::Combo),
        _ => false,
    }
}

impl Scene {
    /// Reads the text of an observation.
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
                Kind::Item if in_bar => Kind::Menu,
                Kind::Item if node.role == "option" && !in_list => Kind::Thing,
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

    /// Whether `inner` lies below `outer`.
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

    /// The open menus and option lists, outermost first: those whose items can be seen.
    pub(super) fn open_menus(&self) -> Vec<usize> {
        let is_line = |kind: Kind| matches!(kind, Kind::Item | Kind::Switch | Kind::Radio | Kind::Menu);
        self.indices(|element| {
            matches!(element.kind, Kind::Menu | Kind::Item)
                || element.role == "listbox" && !element.is(State::Hidden)
        })
        .into_iter()
        .filter(|menu| {
            let in_bar = |index: usize| self.elements[index].role == "menubar";
            !in_bar(*menu)
                && !self.is_standing(*menu)
                && (self.elements[*menu].role != "listbox" || is_popup(&self.elements, *menu))
                && self.elements.iter().any(|element| {
                    element.parent == Some(*menu) && is_line(element.kind) && !element.is(State::Hidden)
                })
        })
        .collect()
    }

    /// A list of commands that stands on a page for good marks the present one.
    pub(super) fn is_standing(&self, menu: usize) -> bool {
        let present = |element: &Element| element.parent == Some(menu) && element.is(State::Active);
        self.elements[menu].role == "menu" && self.elements.iter().any(present)
    }

    /// The dialogs, outermost first; a part of a dialog that calls itself one is none.
    pub(super) fn dialogs(&self) -> Vec<usize> {
        let is_dialog = |element: &Element| element.kind == Kind::Dialog || element.is(State::Modal);
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

    /// Whether a page is announced whose content is not there yet.
    pub(super) fn is_loading(&self) -> bool {
        let documents = self.indices(|element| element.role == "document" || element.role == "rootwebarea");
        !documents.is_empty()
            && documents
                .iter()
                .all(|document| !self.elements.iter().any(|element| element.parent == Some(*document)))
    }

    /// Whether hardly anything can be seen.
    pub(super) fn is_sparse(&self) -> bool {
        self.elements.len() < 6 || self.is_loading()
    }

    /// Whether a page of a browser is in front.
    pub(super) fn is_page(&self) -> bool {
        self.elements.iter().any(|element| element.role == "document" && !element.name.is_empty())
    }

    /// The root of what takes input now: the innermost open menu, else the front dialog, else the active
    /// window; none stands for everything.
    pub(super) fn front(&self) -> Option<usize> {
        if let Some(menu) = self.open_menus().last() {
            return Some(*menu);
        }
        self.surface()
    }

    /// The front dialog or window, menus left aside.
    pub(super) fn surface(&self) -> Option<usize> {
        let dialogs = self.dialogs();
        let active = dialogs.iter().copied().find(|index| self.elements[*index].is(State::Active));
        active.or_else(|| dialogs.last().copied()).or_else(|| {
            let windows =
                self.indices(|element| element.kind == Kind::Window && element.role != "application");
            windows.into_iter().find(|index| self.elements[*index].is(State::Active))
        })
    }

    /// The elements below a root, the root left out, that take input.
    pub(super) fn below(&self, root: Option<usize>) -> Vec<&Element> {
        let inside = |index: &usize| root.is_none_or(|root| *index != root && self.is_within(*index, root));
        (0..self.elements.len())
            .filter(inside)
            .map(|index| &self.elements[index])
            .filter(|element| element.works())
            .collect()
    }

    /// How many windows with a name there are.
    pub(super) fn windows(&self) -> usize {
        self.indices(|element| {
            element.kind == Kind::Window && element.role != "application" && !element.name.is_empty()
        })
        .len()
    }

    /// What stands on the dialog in front, for telling whether it shows something else now.
    pub(super) fn beside(&self) -> Vec<String> {
        let surface = self.surface().filter(|index| self.elements[*index].kind == Kind::Dialog);
        let Some(surface) = surface else { return Vec::new() };
        let tells = |element: &&Element| {
            matches!(element.kind, Kind::Words | Kind::Switch | Kind::Radio | Kind::Button | Kind::Field)
                && !element.name.is_empty()
        };
        self.below(Some(surface)).into_iter().filter(tells).map(|element| element.name.clone()).collect()
    }

    /// Whether the dialog in front shows what a thing is like.
    pub(super) fn shows_properties(&self) -> bool {
        self.surface()
            .is_some_and(|index| plain(&self.elements[index].name).iter().any(|word| word == "properties"))
    }

    /// Whether a button of one of these labels stands in front and takes no input.
    pub(super) fn has_barred(&self, labels: &[&str]) -> bool {
        let Some(surface) = self.surface() else { return false };
        self.elements.iter().enumerate().any(|(index, element)| {
            element.kind == Kind::Button
                && element.is(State::Disabled)
                && self.is_within(index, surface)
                && labels.iter().any(|label| same_label(&element.name, label))
        })
    }

    /// Whether the dialog in front asks for a file or a folder.
    pub(super) fn asks_for_file(&self) -> bool {
        let Some(surface) = self.surface() else { return false };
        self.elements.iter().enumerate().any(|(index, element)| {
            let says = element.role.replace('_', "") == "filechooser"
                || element.kind == Kind::Dialog
                    && plain(&element.name).starts_with(&["file".into(), "chooser".into()]);
            says && self.is_within(index, surface)
        })
    }

    /// Whether a thing of one of these names is in sight.
    pub(super) fn names_any(&self, names: &[&str]) -> bool {
        self.elements.iter().any(|element| {
            matches!(element.kind, Kind::Thing | Kind::Other) && names.contains(&element.name.as_str())
        })
    }

    /// The title in front, for telling programs apart.
    pub(super) fn title(&self) -> &str {
        let windows = self.indices(|element| {
            matches!(element.kind, Kind::Window) && element.role != "application" && !element.name.is_empty()
        });
        let active = windows.iter().find(|index| self.elements[**index].is(State::Active));
        active.or_else(|| windows.first()).map_or("", |index| self.elements[*index].name.as_str())
    }

    /// Names of programs and windows, for choosing a domain.
    pub(super) fn places(&self) -> Vec<String> {
        let named = self.indices(|element| matches!(element.kind, Kind::Window | Kind::Dialog));
        named
            .into_iter()
            .map(|index| self.elements[index].name.clone())
            .filter(|name| !name.is_empty())
            .collect()
    }

    /// The words beside or above an element without a name of its own; else its name.
    pub(super) fn label_of(&self, element: &Element) -> String {
        let own = element.name.clone();
        let is_combo = element.kind == Kind::Combo;
        if !own.is_empty() && !is_combo {
            return own;
        }
        let Some(at) = element.at else { return own };
        let mut best: Option<(f64, &str)> = None;
        for words in self.elements.iter().filter(|other| {
            matches!(other.kind, Kind::Words | Kind::Switch)
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

    /// The large text field of a window: the one without a label beside it that is no dialog's.
    pub(super) fn document(&self) -> Option<&Element> {
        let surface = self.surface();
        if surface.is_some_and(|index| self.elements[index].kind == Kind::Dialog) {
            return None;
        }
        let fields: Vec<&Element> =
            self.below(surface).into_iter().filter(|element| element.kind == Kind::Field).collect();
        fields
            .iter()
            .copied()
            .find(|field| field.role == "terminal")
            .or_else(|| fields.iter().copied().find(|field| field.is(State::Focused)))
            .or_else(|| fields.first().copied().filter(|_| fields.len() == 1))
    }
}
