//! How far the wants of an instruction have come, judged by what could be seen after each action.

use apprentice_protocol::NodeRef;

use super::goal::{Goal, Value, ValueKind, Want, WantKind};
use super::perceive::{Kind, Scene};
use super::words::{Wanted, content, plain, same_label};

/// One want on its way.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// What is wanted.
    pub(super) want: Want,
    /// Its words without those that only say where.
    pub(super) wanted: Wanted,
    /// Whether it is believed to be done.
    pub(super) done: bool,
    /// Which of its values have been used.
    pub(super) used: Vec<bool>,
    /// Labels already pressed for it.
    pub(super) pressed: Vec<String>,
    /// Whether a field took one of its values because guidance said so.
    pub(super) given: bool,
    /// Whether everything has been selected for it.
    pub(super) prepared: bool,
    /// Surfaces and labels whose press turned out to be no answer.
    rejected: Vec<(String, String)>,
}

impl Open {
    /// The first values that were not used yet, with their places.
    pub(super) fn left(&self) -> impl Iterator<Item = (usize, &Value)> {
        self.want
            .values
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.used.get(*index).copied().unwrap_or(true))
    }

    /// Whether this label was pressed for this want before.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }

    /// The texts of its values that name things.
    pub(super) fn names(&self) -> Vec<&str> {
        self.left().filter(|(_, value)| value.is_name()).map(|(_, value)| value.text.trim()).collect()
    }

    /// Whether a label of this surface was pressed before and was no answer.
    pub(super) fn is_rejected(&self, surface: &str, label: &str) -> bool {
        self.rejected.iter().any(|(known, rejected)| known == surface && same_label(rejected, label))
    }

    /// Takes a press back: what it led to was no answer.
    fn reject(&mut self, surface: &str, label: &str) {
        self.pressed.retain(|pressed| !same_label(pressed, label));
        self.rejected.push((surface.to_owned(), label.to_owned()));
        for (used, value) in self.used.iter_mut().zip(&self.want.values) {
            *used &= !same_label(&value.text, label);
        }
    }

    /// Marks a value as used.
    pub(super) fn use_value(&mut self, index: usize) {
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
    }

    /// Marks the values that stand in a label as used.
    pub(super) fn use_values_of(&mut self, label: &str) {
        for (index, value) in self.want.values.iter().enumerate() {
            if !value.text.trim().is_empty() && label.contains(value.text.trim()) {
                self.used[index] = true;
            }
        }
    }

    /// Values that must still be put somewhere: numbers in passing do not hold a want open.
    pub(super) fn waits_for_values(&self) -> bool {
        self.left().any(|(_, value)| value.kind != ValueKind::Number)
    }

    /// Whether a want makes something that is not there yet.
    pub(super) fn makes_new(&self) -> bool {
        matches!(self.want.verb.as_str(), "create" | "make" | "add" | "start")
    }

    /// Whether a want has to do with a file that it names, or with storing something.
    pub(super) fn names_file(&self) -> bool {
        let verbs = [
            "save", "store", "export", "write", "open", "import", "load", "insert", "attach", "choose",
            "select", "print", "keep", "add",
        ];
        self.want.kind == WantKind::Save
            || verbs.contains(&self.want.verb.as_str()) && !self.want.lasting
            || self.left().any(|(_, value)| value.kind == ValueKind::File)
    }
}

/// What the last action was meant to bring about.
#[derive(Clone, Debug)]
pub(super) struct Pressed {
    /// The want it was for.
    pub(super) want: usize,
    /// The label pressed.
    pub(super) label: String,
    /// What was pressed.
    pub(super) kind: Kind,
    /// The state wanted of a switch.
    pub(super) state: Option<bool>,
    /// Open menus, dialogs and the title before.
    pub(super) surfaces: Surfaces,
    /// What stood on the dialog in front, its lists left aside.
    pub(super) beside: Vec<String>,
    /// Whether the press confirms a dialog.
    pub(super) confirms: bool,
}

/// How many surfaces lie above each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surfaces {
    /// Open menus.
    pub(super) menus: usize,
    /// Dialogs.
    pub(super) dialogs: usize,
    /// Windows with a name.
    pub(super) windows: usize,
    /// The title in front.
    pub(super) title: String,
}

impl Surfaces {
    /// Counts them in a scene.
    pub(super) fn of(scene: &Scene) -> Self {
        let front = scene.dialogs().last().map(|index| scene.elements[*index].name.clone());
        Self {
            menus: scene.open_menus().len(),
            dialogs: scene.dialogs().len(),
            windows: scene.windows(),
            title: front.unwrap_or_else(|| scene.title().to_owned()),
        }
    }
}

/// Whether another choice only made a dialog show other controls: then it says what is shown, and sets
/// nothing.
pub(super) fn turns_page(before: &[String], now: &[String]) -> bool {
    let new = now.iter().filter(|name| !before.contains(name)).count();
    let gone = before.iter().filter(|name| !now.contains(name)).count();
    new >= 2 && gone >= 2
}

/// All wants of an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The wants, in order.
    pub(super) wants: Vec<Open>,
    /// What was done last, until its effect is seen.
    pub(super) last: Option<Pressed>,
    /// Whether something was changed in the dialog in front.
    pub(super) touched: bool,
    /// How often a dialog that stayed was confirmed again.
    retried: u32,
    /// How often a confirmed dialog was waited for.
    lingered: u32,
    /// Labels of fields that were filled.
    pub(super) filled: Vec<String>,
    /// The number typed last, and into what: it is read again before anything else is done.
    pub(super) typed: Option<(NodeRef, String)>,
}

impl Progress {
    /// Starts on a goal; words that stand in the title say where and not what.
    pub(super) fn start(goal: &Goal, scene: &Scene) -> Self {
        let mut place: Vec<String> = Vec::new();
        for title in scene.places() {
            let program = title.rsplit(['-', '–', '—']).next().unwrap_or(&title);
            place.extend(content(program));
        }
        let titles = scene.places();
        let in_title = |value: &Value| {
            value.kind == ValueKind::File && titles.iter().any(|title| title.contains(value.text.as_str()))
        };
        let open = |want: &Want| {
            let narrowed = want.wanted.without(&place);
            let wanted = if narrowed.stems().is_empty() { want.wanted.clone() } else { narrowed };
            Open {
                wanted,
                used: want.values.iter().map(in_title).collect(),
                want: want.clone(),
                done: false,
                pressed: Vec::new(),
                prepared: false,
                given: false,
                rejected: Vec::new(),
            }
        };
        Self { wants: goal.wants.iter().map(open).collect(), ..Self::default() }
    }

    /// The first want that is not done.
    pub(super) fn current(&self) -> Option<usize> {
        self.wants.iter().position(|open| !open.done)
    }

    /// The wants that are not done and call for the interface, in order.
    pub(super) fn pending(&self) -> Vec<usize> {
        let is_pending = |open: &Open| !open.done && open.want.kind != WantKind::Save;
        (0..self.wants.len()).filter(|index| self.wants.get(*index).is_some_and(is_pending)).collect()
    }

    /// The pending wants, and those that save under a name.
    pub(super) fn unfinished(&self) -> Vec<usize> {
        let names = |open: &Open| open.want.kind != WantKind::Save || open.left().next().is_some();
        (0..self.wants.len()).filter(|index| !self.wants[*index].done && names(&self.wants[*index])).collect()
    }

    /// Whether anything but saving was done.
    pub(super) fn has_done_something(&self) -> bool {
        self.wants.iter().any(|open| open.done && open.want.kind != WantKind::Save)
    }

    /// Whether a field of what is in sight was filled.
    pub(super) fn has_filled(&self, scene: &Scene) -> bool {
        let ids = scene.elements.iter().map(|element| element.id.to_string());
        ids.into_iter().any(|id| self.filled.iter().any(|key| key.rsplit('#').next() == Some(id.as_str())))
    }

    /// Remembers what was pressed, until its effect is seen.
    pub(super) fn press(&mut self, pressed: Pressed) {
        if let Some(open) = self.wants.get_mut(pressed.want)
            && !pressed.confirms
        {
            open.pressed.push(pressed.label.clone());
        }
        self.last = Some(pressed);
    }

    /// A dialog that was confirmed and stays is waited for a little, then confirmed once more: a first press
    /// may only have closed a list of suggestions. A question may come again for each place it is about.
    fn settle_confirmed(&mut self, last: Pressed, now: &Surfaces, closed: bool) {
        let first = plain(&last.label).into_iter().next().unwrap_or_default();
        let closes = matches!(
            first.as_str(),
            "" | "ok" | "save" | "create" | "rename" | "open" | "export" | "close" | "done"
        );
        if closes && !closed && *now == last.surfaces && self.lingered < 2 {
            self.lingered += 1;
            self.last = Some(last);
            return;
        }
        self.lingered = 0;
        let most = if first == "yes" { 5 } else { 1 };
        if !closed && now.dialogs > 0 && self.retried < most {
            self.retried += 1;
            self.touched = true;
        }
    }

    /// Whether a dialog that was confirmed has yet to close.
    pub(super) fn lingers(&self) -> bool {
        self.lingered > 0 && self.last.is_some()
    }

    /// Judges the last action by what can be seen now.
    pub(super) fn settle(&mut self, scene: &Scene) {
        let Some(last) = self.last.take() else { return };
        let now = Surfaces::of(scene);
        let opened = now.menus > last.surfaces.menus
            || now.dialogs > last.surfaces.dialogs
            || now.windows > last.surfaces.windows;
        let closed = now.dialogs < last.surfaces.dialogs;
        if closed || opened && now.dialogs > last.surfaces.dialogs {
            self.touched = false;
            self.filled.clear();
        }
        let Some(open) = self.wants.get_mut(last.want) else { return };
        if last.confirms {
            open.done |= closed && !open.waits_for_values();
            return self.settle_confirmed(last, &now, closed);
        }
        if last.kind == Kind::Item
            && now.menus < last.surfaces.menus
            && turns_page(&last.beside, &scene.beside())
        {
            open.reject(&last.surfaces.title, &last.label);
            return;
        }
        let seen = scene.elements.iter().find(|element| same_label(&element.name, &last.label));
        let state = seen.and_then(super::perceive::Element::is_on);
        match last.kind {
            Kind::Switch | Kind::Radio if !opened => {
                self.touched = now.dialogs > 0;
                let reached = last.state.is_none() || state.is_none() || state == last.state;
                open.done = reached && !open.waits_for_values();
            }
            Kind::Item | Kind::Button | Kind::Link | Kind::Other | Kind::Thing if !opened => {
                let elsewhere = last.kind == Kind::Link && now.title != last.surfaces.title;
                open.done = !elsewhere && !open.waits_for_values();
                self.touched |= now.dialogs > 0;
            }
            Kind::Switch
            | Kind::Radio
            | Kind::Item
            | Kind::Button
            | Kind::Link
            | Kind::Other
            | Kind::Thing
            | Kind::Menu
            | Kind::Field
            | Kind::Combo
            | Kind::Tab
            | Kind::Window
            | Kind::Dialog
            | Kind::Words => {}
        }
    }
}
