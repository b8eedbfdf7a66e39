//! Carries out an instruction on the surface in front: presses matching controls, fills fields, writes text, saves, and
//! finishes. It uses general keyboard shortcuts and no knowledge of any program.

use apprentice_protocol::{Action, Button, Finish, NodeRef};

use super::actions::{carry_through, click, clicks, dismiss, fill, key, keys, quoted, wait};
use super::goal::{Goal, ValueKind};
use super::page;
use super::policy::Move;
use super::scene::{Element, ElementKind, Scene};
use super::words::{Fit, content, holds, plain, same_label};

/// The largest number of pressable controls in a dialog that still counts as small. In a larger dialog a field needs a
/// matching label.
const SMALL_DIALOG: usize = 9;
/// How often it waits for a confirmed dialog to close.
const MAX_CLOSE_WAITS: u32 = 2;

/// How closely a label must match before the control is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Every word of the label is requested.
    Exact,
    /// Any shared word is enough: among the entries of a list that guidance led to.
    Any,
}

/// Counts of open surfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surfaces {
    pub(super) menus: usize,
    pub(super) dialogs: usize,
    pub(super) windows: usize,
    pub(super) title: String,
}

impl Surfaces {
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

/// A press whose effect has not been observed yet.
#[derive(Clone, Debug)]
pub(super) struct Press {
    pub(super) label: String,
    pub(super) kind: ElementKind,
    before: Surfaces,
    /// Whether it confirms a dialog.
    confirms: bool,
}

/// The state of one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Hands {
    pub(super) goal: Goal,
    /// Whether what was asked for is done, but for saving.
    pub(super) done: bool,
    /// The object of the task, once it is selected.
    pub(super) object: Option<NodeRef>,
    /// The last press, until its effect is observed.
    pub(super) last: Option<Press>,
    /// The text for a table cell that was opened.
    pub(super) cell: Option<String>,
    used: Vec<bool>,
    pressed: Vec<String>,
    filled: Vec<NodeRef>,
    started: bool,
    /// Whether the front dialog has changes that were not confirmed.
    dirty: bool,
    prepared: bool,
    close_waits: u32,
    saving: u32,
    closing: u32,
    home: usize,
}

impl Hands {
    /// Starts on an instruction.
    pub(super) fn new(goal: Goal) -> Self {
        Self { used: vec![false; goal.values.len()], goal, ..Self::default() }
    }

    /// Judges the last press from the current scene.
    pub(super) fn observe(&mut self, scene: &Scene) {
        if !std::mem::replace(&mut self.started, true) {
            self.home = scene.dialogs().len();
            let title = scene.title().to_owned();
            self.mark(|text| title.contains(text));
            self.goal.forget(title.rsplit(['-', '–', '—']).next().unwrap_or(&title));
            if page::address_field(scene).is_some() {
                self.goal.forget("browser page");
            }
        }
        let Some(last) = self.last.take() else { return };
        let now = Surfaces::of(scene);
        let closed = now.dialogs < last.before.dialogs;
        let opened = now.menus > last.before.menus
            || now.dialogs > last.before.dialogs
            || now.windows > last.before.windows;
        self.dirty &= !closed;
        // What a switch asks back is confirmed.
        self.dirty |= last.kind == ElementKind::Switch && now.dialogs > last.before.dialogs;
        if last.confirms {
            if closed {
                self.close_waits = 0;
                self.done |= !self.waits_for_values();
            } else if now == last.before && self.close_waits < MAX_CLOSE_WAITS {
                self.close_waits += 1;
                self.last = Some(last);
            }
            return;
        }
        let elsewhere = last.kind == ElementKind::Link && now.title != last.before.title;
        if !opened
            && !elsewhere
            && !matches!(last.kind, ElementKind::Menu | ElementKind::Tab | ElementKind::Combo)
        {
            self.dirty |= now.dialogs > 0 && now.dialogs == last.before.dialogs;
            self.done |= !self.waits_for_values();
        }
    }

    /// Returns whether a confirmed dialog has yet to close.
    pub(super) fn awaits_close(&self) -> bool {
        self.close_waits > 0 && self.last.is_some()
    }

    fn mark(&mut self, is_used: impl Fn(&str) -> bool) {
        for (used, value) in self.used.iter_mut().zip(&self.goal.values) {
            *used |= is_used(&value.text);
        }
    }

    /// Returns the unused values of these kinds.
    fn unused(&self, kinds: &[ValueKind]) -> Vec<String> {
        let all = self.goal.values.iter().zip(&self.used);
        let kept = all.filter(|(value, used)| !**used && kinds.contains(&value.kind));
        kept.map(|(value, _)| value.text.clone()).collect()
    }

    /// Returns the next text to type into a field that guidance names.
    pub(super) fn next_text(&self) -> Option<String> {
        let texts = self.unused(&[ValueKind::Quoted, ValueKind::File]);
        texts.into_iter().chain(self.unused(&[ValueKind::Number])).next()
    }

    /// Returns whether texts remain to be used. Numbers and names may only be mentioned.
    fn waits_for_values(&self) -> bool {
        !self.unused(&[ValueKind::Quoted, ValueKind::File]).is_empty()
    }

    /// Returns whether the instruction names an object that has not been found yet.
    pub(super) fn lacks_object(&self) -> bool {
        let names = self.unused(&[ValueKind::Quoted, ValueKind::File]);
        self.object.is_none() && names.iter().any(|name| name.starts_with('.'))
    }

    /// Returns whether this label was pressed.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }

    /// Makes the best move on the surface in front; `None` if nothing there is asked for.
    pub(super) fn act(&mut self, scene: &Scene, care: Care, is_thorough: bool) -> Option<Move> {
        let no_menu = scene.open_menus().is_empty();
        if no_menu {
            let own =
                if scene.is_page() { self.fill_page(scene, is_thorough) } else { self.fill_dialog(scene) };
            let found = own.or_else(|| self.write(scene)).or_else(|| self.pick_object(scene));
            if found.is_some() {
                return found;
            }
        }
        if let Some((element, label)) = self.best(scene, care) {
            return self.select_whole(scene).or_else(|| self.press(scene, element, &label));
        }
        let in_dialog = scene.dialogs().len() > self.home;
        if in_dialog && no_menu && std::mem::take(&mut self.dirty) { Some(self.confirm(scene)) } else { None }
    }

    /// Returns the control in front that the instruction asks for.
    fn best<'s>(&self, scene: &'s Scene, care: Care) -> Option<(&'s Element, String)> {
        let mut best: Option<(f32, &Element, String)> = None;
        let quotes = self.unused(&[ValueKind::Quoted]);
        for element in scene.below(scene.front()).into_iter().filter(|element| element.kind.is_pressed()) {
            let label = scene.label_of(element);
            let leads_on = matches!(element.kind, ElementKind::Menu | ElementKind::Tab) || element.promises();
            if self.has_pressed(&label) && element.kind != ElementKind::Item
                || leads_on && care == Care::Exact
            {
                continue;
            }
            let fit = self.goal.fit(&label);
            let quoted = quotes.iter().any(|quote| same_label(quote, &label));
            let fits = quoted || fit.is_exact() || care == Care::Any && fit.matched > 0.0;
            let score = if quoted { 3.0 } else { fit.score() };
            if fits && best.as_ref().is_none_or(|(most, ..)| score > *most + 0.001) {
                best = Some((score, element, label));
            }
        }
        best.map(|(_, element, label)| (element, label))
    }

    /// Presses a control, or records that it has the wanted state already.
    pub(super) fn press(&mut self, scene: &Scene, element: &Element, label: &str) -> Option<Move> {
        self.mark(|text| holds(label, text) || !text.is_empty() && label.contains(text));
        self.pressed.push(label.to_owned());
        if element.is_on() == self.wanted_state(element, label) && element.is_on().is_some() {
            self.done |= !self.waits_for_values();
            return None;
        }
        self.expect(scene, element, label);
        Some(clicks(format!("{} answers what is asked.", quoted(label)), element))
    }

    /// Returns the state that a switch is to have.
    pub(super) fn wanted_state(&self, element: &Element, label: &str) -> Option<bool> {
        match element.kind {
            ElementKind::Switch => Some(!self.goal.is_off(label)),
            ElementKind::Radio => Some(true),
            _ => None,
        }
    }

    /// Expects the effect of a press in the next scene.
    pub(super) fn expect(&mut self, scene: &Scene, element: &Element, label: &str) {
        let (label, kind) = (label.to_owned(), element.kind);
        self.last = Some(Press { label, kind, before: Surfaces::of(scene), confirms: false });
    }

    /// Types the next value into the field of a dialog or of the window where it belongs.
    fn fill_dialog(&mut self, scene: &Scene) -> Option<Move> {
        let document = scene.document().map(|element| element.id.clone());
        let below = scene.below(scene.surface());
        let fields: Vec<&Element> = below
            .iter()
            .copied()
            .filter(|element| element.kind == ElementKind::Field && Some(&element.id) != document.as_ref())
            .filter(|element| !self.filled.contains(&element.id))
            .collect();
        let controls = below.iter().filter(|element| element.kind.is_pressed()).count();
        let is_small = scene.dialogs().len() > self.home && fields.len() <= 2 && controls <= SMALL_DIALOG;
        let texts = self.unused(&[ValueKind::Quoted, ValueKind::File]);
        let texts: Vec<&String> =
            texts.iter().filter(|text| text.chars().any(char::is_alphanumeric)).collect();
        let numbers = self.unused(&[ValueKind::Number]);
        for field in fields {
            let label = scene.label_of(field);
            let is_asked = self.goal.fit(&label).share >= 0.5 && !page::looks_up(field);
            let text =
                if is_asked || is_small || scene.asks_for_file() { texts.first().copied() } else { None };
            let number = numbers.first().filter(|_| is_asked);
            let spins = field.role.contains("spin");
            if let Some(text) = text.filter(|_| !spins).or(number) {
                return Some(self.fill(scene, field, &text.clone()));
            }
        }
        None
    }

    /// Types a text into a field.
    pub(super) fn fill(&mut self, scene: &Scene, field: &Element, text: &str) -> Move {
        self.filled.push(field.id.clone());
        self.mark(|value| value == text);
        let in_dialog = scene.dialogs().len() > self.home;
        self.dirty |= in_dialog;
        self.done |= (!in_dialog || field.role.contains("spin")) && !self.waits_for_values();
        let say = format!("{} goes into {}.", quoted(text), quoted(&scene.label_of(field)));
        Move::Act { say, actions: fill(field, text) }
    }

    /// Fills the field or the table cell of a page. Whoever is thorough opens cells and presses Enter.
    fn fill_page(&mut self, scene: &Scene, is_thorough: bool) -> Option<Move> {
        if is_thorough {
            if let Some(text) = self.cell.take() {
                self.finish_values(&text);
                let mut actions: Vec<Action<_>> = key("ctrl+a").into_iter().collect();
                actions.push(Action::Type { text: text.clone() });
                actions.extend(key("enter"));
                return Some(Move::Act { say: format!("{} goes into the cell.", quoted(&text)), actions });
            }
            if let Some(found) = self.open_cell(scene) {
                return Some(found);
            }
        }
        let (field, text) = self.page_field(scene)?;
        let mut actions = vec![click(field, Button::Left, 1), Action::Type { text: text.clone() }];
        actions.extend(key("enter").filter(|_| is_thorough));
        self.finish_values(&text);
        self.filled.push(field.id.clone());
        Some(Move::Act {
            say: format!("{} goes into {}.", quoted(&text), quoted(&scene.label_of(field))),
            actions,
        })
    }

    /// Returns the field of a page that has yet to be filled, with its text.
    pub(super) fn page_field<'s>(&self, scene: &'s Scene) -> Option<(&'s Element, String)> {
        page::field(scene, &self.goal).filter(|(field, _)| !self.filled.contains(&field.id))
    }

    /// Opens the table cell that the instruction means.
    pub(super) fn open_cell(&mut self, scene: &Scene) -> Option<Move> {
        let (cell, text) =
            page::cell(scene, &self.goal).filter(|(cell, _)| !self.filled.contains(&cell.id))?;
        self.filled.push(cell.id.clone());
        self.cell = Some(text);
        let say = format!("The cell {} is to be changed.", quoted(&cell.name));
        Some(Move::Act { say, actions: vec![click(cell, Button::Left, 2)] })
    }

    /// Records that a text of a page was entered.
    pub(super) fn finish_values(&mut self, text: &str) {
        self.mark(|value| value == text);
        self.done |= !self.waits_for_values();
    }

    /// Selects the object that the instruction names, so that later commands apply to it.
    pub(super) fn pick_object(&mut self, scene: &Scene) -> Option<Move> {
        if self.object.is_some() || self.done || scene.is_page() || !scene.dialogs().is_empty() {
            return None;
        }
        let element = self.find_object(scene)?;
        Some(clicks(format!("{} is what this is about.", quoted(&element.name)), element))
    }

    /// Finds the object of the task: one that a value names, or that the instruction mentions by its whole name.
    pub(super) fn find_object<'s>(&mut self, scene: &'s Scene) -> Option<&'s Element> {
        let known = |element: &&Element| Some(&element.id) == self.object.as_ref();
        if let Some(element) = scene.elements.iter().find(known) {
            return Some(element);
        }
        let is_value =
            |name: &str| self.goal.values.iter().any(|value| value.text.rsplit('/').next() == Some(name));
        let is_mentioned = |name: &str| {
            name.len() > 2 && Fit::of(&content(name), name).matched > 0.5 && spells(&self.goal.text, name)
        };
        let things: Vec<&Element> = scene.below(scene.surface()).into_iter().rev().collect();
        let find = |test: &dyn Fn(&str) -> bool| {
            let fits = |element: &&&Element| {
                element.kind == ElementKind::Object && element.at.is_some() && test(element.name.trim())
            };
            things.iter().find(fits).copied()
        };
        let element = find(&is_value).or_else(|| find(&is_mentioned))?;
        self.object = Some(element.id.clone());
        self.mark(|text| text == element.name);
        Some(element)
    }

    /// Selects the whole text before a command is applied to all of it.
    pub(super) fn select_whole(&mut self, scene: &Scene) -> Option<Move> {
        if !self.goal.whole || self.prepared || !scene.open_menus().is_empty() {
            return None;
        }
        let document = scene.document().filter(|field| field.role != "terminal")?;
        self.prepared = true;
        let mut actions = vec![click(document, Button::Left, 1)];
        actions.extend(key("ctrl+a"));
        Some(Move::Act { say: "First the whole text is selected.".into(), actions })
    }

    /// Types a quoted text as a line of the document.
    fn write(&mut self, scene: &Scene) -> Option<Move> {
        let document = scene.document().filter(|_| self.goal.writes && !scene.is_page())?;
        let text = self.unused(&[ValueKind::Quoted]).into_iter().next()?;
        let mut actions = vec![click(document, Button::Left, 1)];
        actions.extend(key("ctrl+end"));
        let held = document.value.as_deref().unwrap_or_default();
        let line = if held.is_empty() || held.ends_with('\n') { text.clone() } else { format!("\n{text}") };
        actions.push(Action::Type { text: line });
        self.finish_values(&text);
        Some(Move::Act { say: format!("{} is to be written.", quoted(&text)), actions })
    }

    /// Confirms the dialog in front.
    fn confirm(&mut self, scene: &Scene) -> Move {
        let before = Surfaces::of(scene);
        self.last = Some(Press { label: String::new(), kind: ElementKind::Button, before, confirms: true });
        carry_through("The dialog is confirmed.", scene, !self.filled.is_empty())
    }

    /// Finishes the attempt: closes what is open, saves, and ends with `failed` as the reason if given.
    pub(super) fn finish(&mut self, scene: &Scene, failed: Option<String>) -> Move {
        if self.closing < 4 && (!scene.open_menus().is_empty() || scene.dialogs().len() > self.home) {
            self.closing += 1;
            let confirms = std::mem::take(&mut self.dirty) && scene.open_menus().is_empty();
            let say = "What is open is closed.";
            return if confirms {
                carry_through(say, scene, !self.filled.is_empty())
            } else {
                dismiss(say, scene)
            };
        }
        if self.goal.saves && self.done && self.saving == 0 && !scene.is_page() {
            self.saving = 1;
            self.closing = 0;
            return keys("The work is saved.", &["ctrl+s"]);
        }
        match failed {
            None => Move::End { say: "Everything asked for is done.".into(), finish: Finish::Done },
            Some(reason) => Move::End { say: reason.clone(), finish: Finish::GiveUp { reason } },
        }
    }

    /// Returns whether the page in front has yet to be saved.
    pub(super) fn must_save_page(&self, scene: &Scene) -> bool {
        self.goal.saves && self.done && self.saving == 0 && scene.is_page()
    }

    /// Records that the page was saved, or that there is nothing to save it with.
    pub(super) fn stop_saving(&mut self) {
        self.saving = 1;
    }

    /// Returns the visible control that saves a page.
    pub(super) fn saving_control<'s>(&self, scene: &'s Scene) -> Option<&'s Element> {
        let controls = scene.below(scene.front());
        controls.into_iter().find(|element| {
            matches!(element.kind, ElementKind::Button | ElementKind::Item)
                && plain(&element.name).first().is_some_and(|word| word == "save" || word == "store")
        })
    }

    /// Waits for a dialog that was confirmed.
    pub(super) fn wait_for_close(&self) -> Option<Move> {
        self.awaits_close().then(|| wait("The dialog is about to close."))
    }
}

/// Returns whether a text contains a name as it is spelled.
fn spells(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
        ends(text[..at].chars().next_back()) && ends(text[at + name.len()..].chars().next())
    })
}
