//! Parses a page into its controls with the text around them, the popup or dialog in front of it, and the browser's
//! own controls.

use apprentice_protocol::State;

use super::super::scene::{Element, ElementKind, Scene};
use super::super::text_match::{plain, same_label};

/// The interaction category of a page control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageControlKind {
    /// Accepts text.
    Field,
    /// Accepts numbers.
    Number,
    /// Accepts a date.
    Date,
    /// A toggle that is on or off.
    Switch,
    /// One of several exclusive choices.
    Radio,
    /// Opens a list of options.
    Combo,
    /// An entry of an open list.
    Item,
    /// Performs an action when pressed.
    Button,
    /// Shows another part of the page.
    Tab,
    /// Navigates to another page.
    Link,
    /// A table cell.
    Cell,
    /// An entry of a list that is part of the page.
    Entry,
}

/// A page control.
#[derive(Clone, Debug)]
pub(super) struct PageControl<'s> {
    pub(super) element: &'s Element,
    /// The index of the element in the scene.
    pub(super) index: usize,
    pub(super) sort: PageControlKind,
    /// Its own name, or the text beside it.
    pub(super) label: String,
    /// The text to the left of it that is not its name.
    pub(super) caption: String,
    /// The heading and the named group above it.
    pub(super) place: String,
    /// The index of the row or list entry that contains it.
    pub(super) row: Option<usize>,
    /// Its column in that row, from 0.
    pub(super) column: usize,
    /// Whether the text before it states a number of search results.
    pub(super) results: bool,
}

/// The surface in front of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrontSurface {
    /// No other surface: the page itself.
    Page,
    /// An open menu or option list.
    Popup,
    /// A dialog.
    Dialog,
}

/// A parsed page.
#[derive(Clone, Debug)]
pub(super) struct PageView<'s> {
    /// The scene from which it was parsed.
    pub(super) scene: &'s Scene,
    /// The surface in front.
    pub(super) front: FrontSurface,
    /// The index of the root element of the surface in front.
    pub(super) root: usize,
    /// The index of the page's document, even when another surface is in front.
    pub(super) document: usize,
    /// The controls of the surface in front, in order.
    pub(super) controls: Vec<PageControl<'s>>,
    /// The document's name and address, which distinguish pages.
    pub(super) key: String,
}

fn is_document(element: &Element) -> bool {
    matches!(element.role.as_str(), "document" | "rootwebarea" | "document_web" | "documentweb")
}

/// Returns the outermost document with the most elements.
fn main_document(scene: &Scene) -> Option<usize> {
    let outer = |index: &usize| {
        let mut above = scene.elements[*index].parent;
        while let Some(at) = above {
            if is_document(&scene.elements[at]) {
                return false;
            }
            above = scene.elements[at].parent;
        }
        true
    };
    let size = |index: usize| (0..scene.elements.len()).filter(|at| scene.is_within(*at, index)).count();
    let found = (0..scene.elements.len()).filter(|index| is_document(&scene.elements[*index]));
    found.filter(outer).max_by(|one, other| size(*one).cmp(&size(*other)).then(other.cmp(one)))
}

/// Returns the browser's address field.
pub(super) fn address_field(scene: &Scene) -> Option<&Element> {
    scene.elements.iter().find(|element| {
        element.kind == ElementKind::Field
            && plain(&element.name).iter().any(|word| word == "address" || word == "location")
            && !above(scene, element).any(is_document)
    })
}

/// Returns whether a browser with an address field is in front.
pub(in super::super) fn is_of_browser(scene: &Scene) -> bool {
    address_field(scene).is_some()
}

fn above<'s>(scene: &'s Scene, element: &'s Element) -> impl Iterator<Item = &'s Element> {
    let mut at = element.parent;
    std::iter::from_fn(move || {
        let element = at.and_then(|index| scene.elements.get(index))?;
        at = element.parent;
        Some(element)
    })
}

/// Returns the button that opens the browser's own menu: its name is the program's name.
pub(super) fn program_button(scene: &Scene) -> Option<&Element> {
    let program = scene.elements.iter().find(|element| element.role == "application")?;
    scene.elements.iter().rfind(|element| {
        element.kind == ElementKind::Button
            && same_label(&element.name, &program.name)
            && !above(scene, element).any(is_document)
    })
}

/// Returns an open list of commands or options: in a window of its own, or below an expanded control.
fn popup(scene: &Scene, document: usize) -> Option<usize> {
    let holds = |root: usize| {
        scene.elements.iter().enumerate().any(|(index, element)| {
            index != root
                && matches!(
                    element.role.as_str(),
                    "menuitem" | "option" | "menuitemcheckbox" | "menuitemradio"
                )
                && scene.is_within(index, root)
                && element.at.is_some()
        })
    };
    let apart = (0..scene.elements.len()).rev().find(|index| {
        let element = &scene.elements[*index];
        element.kind == ElementKind::Window
            && element.role != "application"
            && !scene.is_within(document, *index)
            && !scene.is_within(*index, document)
            && holds(*index)
    });
    apart.or_else(|| {
        (0..scene.elements.len()).rev().find(|index| {
            let element = &scene.elements[*index];
            let is_list = matches!(element.role.as_str(), "menu" | "listbox");
            let unfolded = |at: &usize| {
                let before = &scene.elements[*at];
                before.is(State::Expanded)
                    && matches!(
                        before.role.as_str(),
                        "button" | "combobox" | "menu" | "menuitem" | "textbox" | "searchbox"
                    )
            };
            is_list
                && scene.is_within(*index, document)
                && !scene.is_standing(*index)
                && holds(*index)
                && (index.saturating_sub(4)..*index).any(|at| unfolded(&at))
        })
    })
}

/// Returns whether a button answers a question. Notifications have no such button.
fn answers_question(label: &str) -> bool {
    let first = plain(label).into_iter().next().unwrap_or_default();
    matches!(
        first.as_str(),
        "ok" | "yes" | "no" | "cancel" | "save" | "open" | "continue" | "allow" | "block"
    ) && plain(label).len() < 3
}

/// Returns whether the page is blank, such as `about:blank`.
pub(super) fn is_blank(scene: &Scene) -> bool {
    address_field(scene).is_some_and(|field| field.value.as_deref().unwrap_or_default().starts_with("about:"))
}

fn dialog(scene: &Scene, document: usize) -> Option<usize> {
    let window = |element: &&Element| element.kind == ElementKind::Window && element.role != "application";
    let home = above(scene, &scene.elements[document]).find(window).map(|element| &element.id);
    scene.dialogs().into_iter().rev().find(|index| {
        let element = &scene.elements[*index];
        let small_note = matches!(element.role.as_str(), "alert");
        let own = scene.is_within(*index, document) || Some(&element.id) != home;
        let inside = scene.is_within(*index, document) || element.is(State::Modal);
        let presses = scene.below(Some(*index)).iter().any(|below| {
            matches!(below.kind, ElementKind::Button | ElementKind::Link)
                && (inside || answers_question(&below.name))
        });
        own && !small_note && presses && !scene.is_within(document, *index)
    })
}

fn sort_of(element: &Element, scene: &Scene, front: FrontSurface) -> Option<PageControlKind> {
    let toggles = element.is(State::Checked) || element.is(State::Unchecked);
    let folds = element.is(State::Collapsed) || element.is(State::Expanded);
    Some(match element.kind {
        ElementKind::Field if element.role.contains("spin") => PageControlKind::Number,
        ElementKind::Field => PageControlKind::Field,
        ElementKind::Switch => PageControlKind::Switch,
        ElementKind::Radio => PageControlKind::Radio,
        ElementKind::Combo => PageControlKind::Combo,
        ElementKind::Button if toggles && !folds => PageControlKind::Switch,
        ElementKind::Button => PageControlKind::Button,
        ElementKind::Tab => PageControlKind::Tab,
        ElementKind::Link => PageControlKind::Link,
        ElementKind::Item | ElementKind::Menu if element.role == "menu" && element.name.is_empty() => {
            return None;
        }
        ElementKind::Item | ElementKind::Menu if front == FrontSurface::Popup => PageControlKind::Item,
        ElementKind::Item | ElementKind::Menu => PageControlKind::Link,
        ElementKind::Object if matches!(element.role.as_str(), "cell" | "gridcell" | "table_cell") => {
            PageControlKind::Cell
        }
        ElementKind::Object if element.role == "option" => PageControlKind::Item,
        ElementKind::Object if matches!(element.role.as_str(), "img" | "image" | "row") => return None,
        ElementKind::Object => PageControlKind::Entry,
        ElementKind::Other if folds || element.is(State::Selected) && !element.name.is_empty() => {
            PageControlKind::Button
        }
        ElementKind::Other
            if scene.elements.iter().any(|own| own.id == element.id) && element.is(State::Editable) =>
        {
            PageControlKind::Field
        }
        ElementKind::Window | ElementKind::Dialog | ElementKind::StaticText | ElementKind::Other => {
            return None;
        }
    })
}

/// Returns whether a text states a number of results: `2 results`.
fn counts_results(text: &str) -> bool {
    let words = plain(text);
    words.len() == 2 && words[0].parse::<u32>().is_ok() && words[1].starts_with("result")
}

impl<'s> PageView<'s> {
    /// Parses the page in a scene; `None` if there is no document.
    pub(super) fn read(scene: &'s Scene) -> Option<Self> {
        let document = main_document(scene)?;
        let (front, root) = match (popup(scene, document), dialog(scene, document)) {
            (Some(popup), _) => (FrontSurface::Popup, popup),
            (None, Some(dialog)) => (FrontSurface::Dialog, dialog),
            (None, None) => (FrontSurface::Page, document),
        };
        let address = address_field(scene).and_then(|field| field.value.clone()).unwrap_or_default();
        let key = format!("{} {address}", scene.elements[document].name);
        let mut page = Self { scene, front, root, document, controls: Vec::new(), key };
        page.collect();
        Some(page)
    }

    fn collect(&mut self) {
        let scene = self.scene;
        let (mut heading, mut words, mut results) = (String::new(), String::new(), false);
        for index in 0..scene.elements.len() {
            let element = &scene.elements[index];
            if index == self.root || !scene.is_within(index, self.root) {
                continue;
            }
            if element.role == "heading" {
                element.name.clone_into(&mut heading);
            }
            if element.kind == ElementKind::StaticText && !element.name.is_empty() {
                results = counts_results(&element.name);
                element.name.clone_into(&mut words);
                continue;
            }
            let in_date = above(scene, element).any(|above| above.kind == ElementKind::Field);
            let Some(sort) = sort_of(element, scene, self.front).filter(|_| element.is_enabled() && !in_date)
            else {
                continue;
            };
            let is_date = sort == PageControlKind::Field
                && scene
                    .elements
                    .iter()
                    .filter(|below| below.parent == Some(index) && below.role.contains("spin"))
                    .count()
                    >= 2;
            let (row, column) = self.row_of(index);
            let caption = self.beside(element);
            let label = if element.name.is_empty() { caption.clone() } else { element.name.clone() };
            let place = format!("{heading} {}", self.group_of(element));
            let sort = if is_date { PageControlKind::Date } else { sort };
            self.controls.push(PageControl {
                element,
                index,
                sort,
                label,
                caption,
                place,
                row,
                column,
                results,
            });
            results = false;
        }
    }

    /// Returns the text to the left of an element on its line.
    fn beside(&self, element: &Element) -> String {
        let Some(at) = element.at else { return String::new() };
        let near = self.scene.elements.iter().filter_map(|words| {
            let place =
                words.at.filter(|_| words.kind == ElementKind::StaticText && !words.name.is_empty())?;
            let (dx, dy) = (at.x - place.x, (at.y - place.y).abs());
            (dx > 0.0 && dx < 420.0 && dy <= 14.0 && words.name != element.name).then_some((dx, &words.name))
        });
        near.min_by(|one, other| one.0.total_cmp(&other.0)).map_or_else(String::new, |(_, name)| name.clone())
    }

    fn group_of(&self, element: &Element) -> String {
        let named = |above: &&Element| {
            !above.name.is_empty()
                && matches!(
                    above.role.as_str(),
                    "group"
                        | "radiogroup"
                        | "form"
                        | "region"
                        | "list"
                        | "listbox"
                        | "generic"
                        | "panel"
                        | "tabpanel"
                        | "section"
                )
        };
        above(self.scene, element)
            .take_while(|above| !is_document(above))
            .find(named)
            .map_or_else(String::new, |above| above.name.clone())
    }

    /// Returns the row or list entry that contains an element, and the column in it.
    fn row_of(&self, index: usize) -> (Option<usize>, usize) {
        let mut inner = index;
        let mut at = Some(index);
        while let Some(here) = at {
            if here != index
                && matches!(self.scene.elements[here].role.as_str(), "row" | "listitem" | "treeitem")
            {
                let before = |at: &usize| self.scene.elements[*at].parent == Some(here) && *at < inner;
                return (Some(here), (0..self.scene.elements.len()).filter(before).count());
            }
            inner = here;
            at = self.scene.elements[here].parent;
        }
        (None, 0)
    }

    /// Returns the texts of a row or list entry, without buttons, links and switches.
    pub(super) fn texts_of(&self, row: usize) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (index, element) in self.scene.elements.iter().enumerate() {
            let inside = index != row && self.scene.is_within(index, row);
            let pressed =
                matches!(element.kind, ElementKind::Button | ElementKind::Link | ElementKind::Switch);
            let of_control = above(self.scene, element).any(|above| above.kind == ElementKind::Button);
            if inside && !pressed && !of_control && !element.name.is_empty() && !found.contains(&element.name)
            {
                found.push(element.name.clone());
            }
        }
        let own = &self.scene.elements[row].name;
        if !own.is_empty() && found.is_empty() {
            found.push(own.clone());
        }
        found
    }

    /// Returns the column headers of the table that contains a row.
    pub(super) fn columns_of(&self, row: usize) -> Vec<String> {
        let Some(table) = self.scene.elements[row].parent else { return Vec::new() };
        let heads = self.scene.elements.iter().enumerate().filter(|(index, element)| {
            matches!(element.role.as_str(), "columnheader" | "column_header" | "table_column_header")
                && self.scene.is_within(*index, table)
        });
        heads.map(|(_, element)| element.name.clone()).collect()
    }

    /// Returns whether a text is visible on the page outside its fields.
    pub(super) fn shows(&self, text: &str) -> bool {
        self.scene.elements.iter().enumerate().any(|(index, element)| {
            self.scene.is_within(index, self.document)
                && element.kind != ElementKind::Field
                && same_label(&element.name, text)
        })
    }

    /// Returns whether the page shows search results, or says that there are none.
    pub(super) fn has_results(&self) -> bool {
        let says_none = |element: &Element| {
            let words = plain(&element.name);
            element.kind == ElementKind::StaticText
                && words.first().is_some_and(|word| word == "no" || word == "nothing")
                && words
                    .iter()
                    .any(|word| word.starts_with("result") || word == "found" || word.starts_with("match"))
        };
        self.controls.iter().any(|control| control.results) || self.scene.elements.iter().any(says_none)
    }

    /// Returns whether the page has no content yet.
    pub(super) fn is_empty(&self) -> bool {
        !self.scene.elements.iter().any(|element| element.parent == Some(self.document))
    }

    /// Returns the document element, whose position is the middle of the page; `None` if it has no position.
    pub(super) fn middle(&self) -> Option<&'s Element> {
        Some(&self.scene.elements[self.document]).filter(|element| element.at.is_some())
    }

    /// Returns the number of controls with this control's label and category, itself included.
    pub(super) fn same_label_count(&self, control: &PageControl<'_>) -> usize {
        self.controls
            .iter()
            .filter(|other| other.sort == control.sort && same_label(&other.label, &control.label))
            .count()
    }
}
