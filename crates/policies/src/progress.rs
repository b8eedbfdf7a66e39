//! Tracks progress on an instruction's sub-goals, judged from the observation after each action.

use apprentice_protocol::NodeRef;

use super::goal::{Goal, SubGoal, SubGoalKind};
use super::scene::{ElementKind, Scene};
use super::text_match::{KeyTerms, content, plain, same_label};
use super::value::{Value, ValueKind};

/// A sub-goal with its progress.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// The sub-goal.
    pub(super) want: SubGoal,
    /// Its key words, without those that only name the location.
    pub(super) wanted: KeyTerms,
    /// Whether it is considered done.
    pub(super) done: bool,
    /// For each value, whether it has been used.
    pub(super) used: Vec<bool>,
    /// Labels already pressed for it.
    pub(super) pressed: Vec<String>,
    /// Whether guidance already used one of its values.
    pub(super) given: bool,
    /// Whether the whole text has been selected for it.
    pub(super) prepared: bool,
    /// Surface titles and labels whose presses turned out to be wrong.
    rejected: Vec<(String, String)>,
}

impl Open {
    /// Iterates over the unused values with their indices.
    pub(super) fn unused_values(&self) -> impl Iterator<Item = (usize, &Value)> {
        self.want
            .values
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.used.get(*index).copied().unwrap_or(true))
    }

    /// Returns whether this label was pressed for this sub-goal.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }

    /// Returns its unused values that name objects.
    pub(super) fn names(&self) -> Vec<&str> {
        self.unused_values()
            .filter(|(_, value)| value.is_name())
            .map(|(_, value)| value.text.trim())
            .collect()
    }

    /// Returns whether this label was pressed on this surface and turned out to be wrong.
    pub(super) fn is_rejected(&self, surface: &str, label: &str) -> bool {
        self.rejected.iter().any(|(known, rejected)| known == surface && same_label(rejected, label))
    }

    /// Reverts the bookkeeping of a press that turned out to be wrong.
    fn reject(&mut self, surface: &str, label: &str) {
        self.pressed.retain(|pressed| !same_label(pressed, label));
        self.rejected.push((surface.to_owned(), label.to_owned()));
        for (used, value) in self.used.iter_mut().zip(&self.want.values) {
            *used &= !same_label(&value.text, label);
        }
    }

    /// Marks a value as used.
    pub(super) fn mark_value(&mut self, index: usize) {
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
    }

    /// Marks the values that occur in a label as used.
    pub(super) fn mark_values_in(&mut self, label: &str) {
        for (index, value) in self.want.values.iter().enumerate() {
            if !value.text.trim().is_empty() && label.contains(value.text.trim()) {
                self.used[index] = true;
            }
        }
    }

    /// Returns whether values remain to be entered. Unused numbers do not count: they may only be mentioned.
    pub(super) fn waits_for_values(&self) -> bool {
        self.unused_values().any(|(_, value)| value.kind != ValueKind::Number)
    }

    /// Returns whether the sub-goal creates something new.
    pub(super) fn makes_new(&self) -> bool {
        matches!(self.want.verb.as_str(), "create" | "make" | "add" | "start")
    }

    /// Returns whether the sub-goal involves a file or saves something.
    pub(super) fn names_file(&self) -> bool {
        let verbs = [
            "save", "store", "export", "write", "open", "import", "load", "insert", "attach", "choose",
            "select", "print", "keep", "add",
        ];
        self.want.kind == SubGoalKind::Save
            || verbs.contains(&self.want.verb.as_str()) && !self.want.lasting
            || self.unused_values().any(|(_, value)| value.kind == ValueKind::File)
    }
}

/// A press whose effect has not been observed yet.
#[derive(Clone, Debug)]
pub(super) struct PendingPress {
    /// The index of the sub-goal.
    pub(super) want: usize,
    pub(super) label: String,
    /// The kind of the pressed control.
    pub(super) kind: ElementKind,
    /// The wanted state of a switch.
    pub(super) state: Option<bool>,
    /// The surfaces that were open before.
    pub(super) surfaces: SurfaceCounts,
    /// The controls of the front dialog before, as [`Scene::beside`] lists them.
    pub(super) beside: Vec<String>,
    /// Whether the press confirms a dialog.
    pub(super) confirms: bool,
}

/// Counts of open surfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SurfaceCounts {
    /// Number of open menus.
    pub(super) menus: usize,
    /// Number of open dialogs.
    pub(super) dialogs: usize,
    /// Number of named windows.
    pub(super) windows: usize,
    /// The title of the front dialog or window.
    pub(super) title: String,
}

impl SurfaceCounts {
    /// Counts the surfaces of a scene.
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

/// Returns whether a choice replaced the controls of a dialog. Such a choice selects what is shown and changes no
/// setting.
pub(super) fn replaces_content(before: &[String], now: &[String]) -> bool {
    let new = now.iter().filter(|name| !before.contains(name)).count();
    let gone = before.iter().filter(|name| !now.contains(name)).count();
    new >= 2 && gone >= 2
}

/// Progress of all sub-goals of an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The sub-goals, in order.
    pub(super) wants: Vec<Open>,
    /// The last press, until its effect is observed.
    pub(super) last: Option<PendingPress>,
    /// Whether the front dialog has unconfirmed changes.
    pub(super) has_unconfirmed_changes: bool,
    /// How often a dialog that stayed open was confirmed again.
    retried: u32,
    /// How often it waited for a confirmed dialog to close.
    close_waits: u32,
    /// Keys of the fields that were filled.
    pub(super) filled: Vec<String>,
    /// The spin field filled last and its number. The field is checked before the next action.
    pub(super) typed: Option<(NodeRef, String)>,
}

impl Progress {
    /// Starts on a goal. Removes the words of the window titles from the key words: they name the location.
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
        let open = |want: &SubGoal| {
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

    /// Returns the first sub-goal that is not done.
    pub(super) fn current(&self) -> Option<usize> {
        self.wants.iter().position(|open| !open.done)
    }

    /// Returns the sub-goals that are not done and need the interface, in order. Saving is excluded.
    pub(super) fn pending(&self) -> Vec<usize> {
        let is_pending = |open: &Open| !open.done && open.want.kind != SubGoalKind::Save;
        (0..self.wants.len()).filter(|index| self.wants.get(*index).is_some_and(is_pending)).collect()
    }

    /// Returns the pending sub-goals and those that save under a name.
    pub(super) fn unfinished(&self) -> Vec<usize> {
        let names =
            |open: &Open| open.want.kind != SubGoalKind::Save || open.unused_values().next().is_some();
        (0..self.wants.len()).filter(|index| !self.wants[*index].done && names(&self.wants[*index])).collect()
    }

    /// Returns whether anything but saving is done.
    pub(super) fn has_done_something(&self) -> bool {
        self.wants.iter().any(|open| open.done && open.want.kind != SubGoalKind::Save)
    }

    /// Returns whether a visible field was filled.
    pub(super) fn has_filled(&self, scene: &Scene) -> bool {
        let ids = scene.elements.iter().map(|element| element.id.to_string());
        ids.into_iter().any(|id| self.filled.iter().any(|key| key.rsplit('#').next() == Some(id.as_str())))
    }

    /// Records a press until its effect is observed.
    pub(super) fn press(&mut self, pressed: PendingPress) {
        if let Some(open) = self.wants.get_mut(pressed.want)
            && !pressed.confirms
        {
            open.pressed.push(pressed.label.clone());
        }
        self.last = Some(pressed);
    }

    /// Handles a confirmed dialog that stays open: waits briefly, then confirms once more, because the first press may
    /// only have closed a list of suggestions. A yes/no question may repeat for each object.
    fn observe_confirmed(&mut self, last: PendingPress, now: &SurfaceCounts, closed: bool) {
        let first = plain(&last.label).into_iter().next().unwrap_or_default();
        let closes = matches!(
            first.as_str(),
            "" | "ok" | "save" | "create" | "rename" | "open" | "export" | "close" | "done"
        );
        if closes && !closed && *now == last.surfaces && self.close_waits < 2 {
            self.close_waits += 1;
            self.last = Some(last);
            return;
        }
        self.close_waits = 0;
        let most = if first == "yes" { 5 } else { 1 };
        if !closed && now.dialogs > 0 && self.retried < most {
            self.retried += 1;
            self.has_unconfirmed_changes = true;
        }
    }

    /// Returns whether a confirmed dialog has yet to close.
    pub(super) fn awaits_close(&self) -> bool {
        self.close_waits > 0 && self.last.is_some()
    }

    /// Judges the last press from the current scene.
    pub(super) fn observe(&mut self, scene: &Scene) {
        let Some(last) = self.last.take() else { return };
        let now = SurfaceCounts::of(scene);
        let opened = now.menus > last.surfaces.menus
            || now.dialogs > last.surfaces.dialogs
            || now.windows > last.surfaces.windows;
        let closed = now.dialogs < last.surfaces.dialogs;
        if closed || opened && now.dialogs > last.surfaces.dialogs {
            self.has_unconfirmed_changes = false;
            self.filled.clear();
        }
        let Some(open) = self.wants.get_mut(last.want) else { return };
        if last.confirms {
            open.done |= closed && !open.waits_for_values();
            return self.observe_confirmed(last, &now, closed);
        }
        if last.kind == ElementKind::Item
            && now.menus < last.surfaces.menus
            && replaces_content(&last.beside, &scene.beside())
        {
            open.reject(&last.surfaces.title, &last.label);
            return;
        }
        let seen = scene.elements.iter().find(|element| same_label(&element.name, &last.label));
        let state = seen.and_then(super::scene::Element::is_on);
        match last.kind {
            ElementKind::Switch | ElementKind::Radio if !opened => {
                self.has_unconfirmed_changes = now.dialogs > 0;
                let reached = last.state.is_none() || state.is_none() || state == last.state;
                open.done = reached && !open.waits_for_values();
            }
            ElementKind::Item
            | ElementKind::Button
            | ElementKind::Link
            | ElementKind::Other
            | ElementKind::Object
                if !opened =>
            {
                let elsewhere = last.kind == ElementKind::Link && now.title != last.surfaces.title;
                open.done = !elsewhere && !open.waits_for_values();
                self.has_unconfirmed_changes |= now.dialogs > 0;
            }
            ElementKind::Switch
            | ElementKind::Radio
            | ElementKind::Item
            | ElementKind::Button
            | ElementKind::Link
            | ElementKind::Other
            | ElementKind::Object
            | ElementKind::Menu
            | ElementKind::Field
            | ElementKind::Combo
            | ElementKind::Tab
            | ElementKind::Window
            | ElementKind::Dialog
            | ElementKind::StaticText => {}
        }
    }
}
