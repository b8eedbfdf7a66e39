//! Executes sub-goals on the interface, shared by all acting policies: presses matching controls, fills fields, writes
//! text, saves, and finishes. It uses general keyboard shortcuts and no knowledge of any program.

use apprentice_protocol::{Action, Button, Finish, ImagePoint, NodeRef, Target};

use super::actions::{click, clicks, dismiss, fill, key, keys, quoted, wait};
use super::control_match::{
    CONFIRMING, ControlMatch, FieldFill, MatchThreshold, confirm_button, control, filling, key_of, mentioned,
    object, target_state,
};
use super::goal::{Goal, SubGoalKind};
use super::policy::Move;
use super::progress::{Open, PendingPress, Progress, SurfaceCounts};
use super::scene::{Element, ElementKind, Scene};
use super::text_match::plain;
use super::value::ValueKind;

/// The state of saving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Saving {
    #[default]
    NotYet,
    KeyPressed,
    Answered,
}

/// Horizontal offset, in pixels, of the retry click on a number field whose center holds buttons.
const BESIDE_BUTTONS: f64 = 24.0;

/// The executor's state in one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Executor {
    /// Progress of the sub-goals.
    pub(super) progress: Progress,
    /// The object of the task, once it is selected.
    pub(super) object: Option<NodeRef>,
    told: String,
    saving: Saving,
    confirmed: u32,
    closed: u32,
    leaving: u32,
    /// Number of dialogs that were open at the start.
    home: usize,
}

impl Executor {
    /// Starts on a goal with the first scene.
    pub(super) fn start(goal: &Goal, scene: &Scene) -> Self {
        Self {
            progress: Progress::start(goal, scene),
            told: goal.text.clone(),
            home: scene.dialogs().len(),
            ..Self::default()
        }
    }

    /// Returns the instruction as written.
    pub(super) fn told(&self) -> &str {
        &self.told
    }

    /// Presses the best match for the current sub-goal on the surface in front; `None` if there is no match.
    pub(super) fn press_best(&mut self, scene: &Scene, care: MatchThreshold) -> Option<Move> {
        if let Some(found) = self.retype_number(scene) {
            return Some(found);
        }
        let in_dialog =
            scene.surface().is_some_and(|index| scene.elements[index].kind == ElementKind::Dialog);
        let opened = in_dialog || !scene.open_menus().is_empty();
        let considered = if opened { self.progress.unfinished() } else { self.progress.pending() };
        let most = if opened { considered.len() } else { 1 };
        for want in considered.into_iter().take(most) {
            if let Some(found) = self.press_best_for(scene, want, care) {
                return Some(found);
            }
        }
        let menus = scene.open_menus();
        if in_dialog && menus.is_empty() && self.progress.has_unconfirmed_changes {
            self.confirm(scene)
        } else {
            None
        }
    }

    /// Retypes a number that did not arrive, clicking beside the buttons inside its field.
    fn retype_number(&mut self, scene: &Scene) -> Option<Move> {
        let (id, text) = self.progress.typed.take()?;
        let field = scene.elements.iter().find(|element| element.id == id)?;
        let held = field.value.as_deref()?.trim();
        let same = held == text
            || held.parse::<f64>().ok().zip(text.parse::<f64>().ok()).is_some_and(|(a, b)| a == b);
        let at = field.at.filter(|_| !same)?;
        let mut actions = fill(field, &text);
        let beside = ImagePoint { x: (at.x - BESIDE_BUTTONS).max(0.0), ..at };
        actions[0] = Action::Click { at: Target::Point(beside), button: Button::Left, count: 1, hold: None };
        Some(Move::Act { say: format!("{} is not there yet.", quoted(&text)), actions })
    }

    fn press_best_for(&mut self, scene: &Scene, want: usize, care: MatchThreshold) -> Option<Move> {
        let no_menu = scene.open_menus().is_empty();
        let open = self.progress.wants.get(want)?;
        let lacks = self.lacks_object(open) && !scene.has_object_named(&open.names());
        if no_menu
            && !lacks
            && let Some(found) = self.fill_next(scene, want)
        {
            return Some(found);
        }
        let open = self.progress.wants.get(want)?;
        if open.want.kind == SubGoalKind::Write && no_menu {
            return self.write(scene, want);
        }
        if no_menu && let Some(found) = self.pick_object(scene, want) {
            return Some(found);
        }
        let open = self.progress.wants.get(want)?;
        let care = if self.is_inside_answer(scene, want) { MatchThreshold::Any } else { care };
        let choice = control(scene, scene.front(), open, care)?;
        if self.lacks_object(open) && choice.value.is_none() && !leads_on(choice.element) {
            return None;
        }
        if open.want.in_settings
            && scene.dialogs().is_empty()
            && !scene.is_page()
            && !leads_on(choice.element)
        {
            return None;
        }
        if !open.prepared
            && no_menu
            && let Some(prepared) = self.select_whole(scene, want)
        {
            return Some(prepared);
        }
        let choice = ControlMatch { label: choice.label.clone(), ..choice };
        self.press(scene, want, &choice)
    }

    /// Returns whether the sub-goal needs a named object that has not been found yet. Commands must wait until it is
    /// found.
    pub(super) fn lacks_object(&self, open: &Open) -> bool {
        let acts = matches!(
            open.want.verb.as_str(),
            "move" | "delete" | "rename" | "remove" | "trash" | "copy" | "duplicate"
        );
        acts && self.object.is_none() && open.unused_values().any(|(_, value)| value.kind == ValueKind::File)
    }

    /// Returns whether the innermost open menu was opened for this sub-goal. Inside it any shared word is a match.
    fn is_inside_answer(&self, scene: &Scene, want: usize) -> bool {
        let Some(open) = self.progress.wants.get(want) else { return false };
        let mut at = scene.open_menus().last().copied();
        while let Some(element) = at.and_then(|index| scene.elements.get(index)) {
            let answers = matches!(element.kind, ElementKind::Menu | ElementKind::Combo);
            if answers && open.has_pressed(&element.name) && open.wanted.fit(&element.name).share >= 0.5 {
                return true;
            }
            if element.kind == ElementKind::Combo && open.has_pressed(&scene.label_of(element)) {
                return true;
            }
            at = element.parent;
        }
        false
    }

    /// Presses a chosen control, or records that it already has the wanted state.
    pub(super) fn press(&mut self, scene: &Scene, want: usize, choice: &ControlMatch<'_>) -> Option<Move> {
        let element = choice.element;
        let open = self.progress.wants.get_mut(want)?;
        if let Some(value) = choice.value {
            open.mark_value(value);
        }
        open.mark_values_in(&choice.label);
        let state = matches!(element.kind, ElementKind::Switch | ElementKind::Radio)
            .then(|| element.kind == ElementKind::Radio || target_state(open, &choice.label));
        if state.is_some() && element.is_on() == state {
            open.pressed.push(choice.label.clone());
            let meant = choice.value.is_some()
                || open.want.switch.is_some()
                || MatchThreshold::Exact.accepts(open.wanted.fit(&choice.label));
            open.done = meant && !open.waits_for_values();
            return self.press_best(scene, MatchThreshold::Exact);
        }
        self.progress.press(PendingPress {
            want,
            label: choice.label.clone(),
            kind: element.kind,
            state,
            surfaces: SurfaceCounts::of(scene),
            beside: scene.beside(),
            confirms: false,
        });
        Some(clicks(format!("{} answers what is asked.", quoted(&choice.label)), element))
    }

    /// Types the next value into the field where it belongs.
    pub(super) fn fill_next(&mut self, scene: &Scene, want: usize) -> Option<Move> {
        let open = self.progress.wants.get(want)?;
        let strange = scene.asks_for_file() && !open.names_file();
        if strange || open.makes_new() && scene.shows_properties() {
            return None;
        }
        let FieldFill { field, label, value, text } =
            filling(scene, scene.surface(), open, &self.progress.filled)?;
        let actions = fill(field, &text);
        let say = format!("{} goes into {}.", quoted(&text), quoted(&label));
        self.progress.filled.push(key_of(field, &label));
        self.progress.typed = field.role.contains("spin").then(|| (field.id.clone(), text.clone()));
        let in_dialog =
            scene.surface().is_some_and(|index| scene.elements[index].kind == ElementKind::Dialog);
        self.progress.has_unconfirmed_changes |= in_dialog;
        let open = self.progress.wants.get_mut(want)?;
        open.mark_value(value);
        open.mark_values_in(&label);
        if !in_dialog || field.role.contains("spin") {
            let done = open.unused_values().next().is_none();
            open.done = done;
        }
        Some(Move::Act { say, actions })
    }

    /// Selects the object that a value names, so that later commands apply to it.
    pub(super) fn pick_object(&mut self, scene: &Scene, want: usize) -> Option<Move> {
        let open = self.progress.wants.get(want)?;
        let Some((element, value)) = object(scene, open) else { return self.pick_mentioned(scene, want) };
        let opens = open.want.verb == "open" && open.unused_values().count() == 1;
        let count = if opens { 2 } else { 1 };
        let actions = vec![click(element, Button::Left, count)];
        let say = format!("{} is what this is about.", quoted(&element.name));
        self.object = Some(element.id.clone());
        let open = self.progress.wants.get_mut(want)?;
        open.mark_value(value);
        let only_picks = matches!(open.want.verb.as_str(), "open" | "select" | "click" | "choose" | "pick");
        open.done = only_picks && open.unused_values().next().is_none();
        Some(Move::Act { say, actions })
    }

    /// Selects an object that the instruction only mentions, if the sub-goal can apply to an object.
    fn pick_mentioned(&mut self, scene: &Scene, want: usize) -> Option<Move> {
        let open = self.progress.wants.get(want)?;
        let own = open.want.lasting || open.want.values.iter().any(|value| value.kind == ValueKind::File);
        if self.object.is_some() || own || !scene.dialogs().is_empty() || open.want.kind != SubGoalKind::Do {
            return None;
        }
        let element = mentioned(scene, &self.told)?;
        self.object = Some(element.id.clone());
        let opens = open.want.verb == "open" && self.progress.wants.len() == 1;
        let say = format!("{} is what this is about.", quoted(&element.name));
        if let Some(open) = self.progress.wants.get_mut(want).filter(|_| opens) {
            open.done = true;
        }
        Some(Move::Act { say, actions: vec![click(element, Button::Left, if opens { 2 } else { 1 })] })
    }

    /// Selects the whole text before a command is applied to all of it.
    pub(super) fn select_whole(&mut self, scene: &Scene, want: usize) -> Option<Move> {
        let open = self.progress.wants.get_mut(want)?;
        if !open.want.whole || open.want.switch.is_some() || open.prepared {
            return None;
        }
        open.prepared = true;
        let document = scene.document().filter(|field| field.role != "terminal")?;
        let mut actions = vec![click(document, Button::Left, 1)];
        actions.extend(key("ctrl+a"));
        Some(Move::Act { say: "First the whole text is selected.".into(), actions })
    }

    /// Types a value into the document or at the command line.
    fn write(&mut self, scene: &Scene, want: usize) -> Option<Move> {
        let document = scene.document()?;
        let open = self.progress.wants.get_mut(want)?;
        let (value, text) = open.unused_values().next().map(|(index, value)| (index, value.text.clone()))?;
        let has = |words: &[&str]| plain(&open.want.clause).iter().any(|word| words.contains(&word.as_str()));
        let mut actions = vec![click(document, Button::Left, 1)];
        let runs = document.role == "terminal";
        let held = document.value.as_deref().unwrap_or_default();
        let own_line = has(&["line", "lines", "row"]) && !held.is_empty();
        if runs {
            actions.push(Action::Type { text: format!("{text}\n") });
        } else if has(&["beginning", "start", "top", "first", "before"]) {
            actions.extend(key("ctrl+home"));
            actions.push(Action::Type { text: if own_line { format!("{text}\n") } else { text.clone() } });
        } else {
            actions.extend(key("ctrl+end"));
            let fresh = own_line && !held.ends_with('\n');
            actions.push(Action::Type { text: if fresh { format!("\n{text}") } else { text.clone() } });
        }
        open.mark_value(value);
        let done = open.unused_values().all(|(_, value)| value.kind != ValueKind::Quoted);
        open.done = done;
        Some(Move::Act { say: format!("{} is to be written.", quoted(&text)), actions })
    }

    /// Confirms the dialog in front.
    fn confirm(&mut self, scene: &Scene) -> Option<Move> {
        if self.confirmed > 5 {
            return None;
        }
        self.confirmed += 1;
        if confirm_button(scene, None).is_none()
            && scene.has_disabled_button(CONFIRMING)
            && self.confirmed < 3
        {
            return Some(wait("The button is not ready yet."));
        }
        self.progress.has_unconfirmed_changes = false;
        let want = self.progress.current().unwrap_or(0);
        let button = confirm_button(scene, self.progress.wants.get(want));
        let label = button.map_or_else(String::new, |button| button.name.clone());
        self.progress.press(PendingPress {
            want,
            label: label.clone(),
            kind: ElementKind::Button,
            state: None,
            surfaces: SurfaceCounts::of(scene),
            beside: Vec::new(),
            confirms: true,
        });
        Some(match button {
            Some(button) => clicks(format!("{} carries it through.", quoted(&label)), button),
            None if !self.progress.has_filled(scene) => dismiss("It holds without further ado.", scene),
            None => keys("Enter carries it through.", &["enter"]),
        })
    }

    /// Finishes the attempt: closes open surfaces, saves, and ends with `failed` as the reason if given.
    pub(super) fn finish(&mut self, scene: &Scene, failed: Option<String>) -> Move {
        if !scene.open_menus().is_empty() && self.closed < 2 {
            self.closed += 1;
            return keys("The menu is closed again.", &["escape"]);
        }
        let before = self.progress.pending().len();
        if let Some(found) = self.save(scene) {
            return found;
        }
        if self.progress.pending().len() > before {
            return wait("There is no key for this here: it must be looked for.");
        }
        let in_dialog = scene.dialogs().len() > self.home;
        if in_dialog && self.leaving < 3 {
            self.leaving += 1;
            return if self.progress.has_unconfirmed_changes {
                self.progress.has_unconfirmed_changes = false;
                carry_through("The dialog is closed.", scene)
            } else {
                dismiss("The dialog is closed.", scene)
            };
        }
        match failed {
            None => Move::End { say: "Everything asked for is done.".into(), finish: Finish::Done },
            Some(reason) => Move::End { say: reason.clone(), finish: Finish::GiveUp { reason } },
        }
    }

    fn save(&mut self, scene: &Scene) -> Option<Move> {
        let want =
            self.progress.wants.iter().position(|open| !open.done && open.want.kind == SubGoalKind::Save)?;
        let in_dialog = !scene.dialogs().is_empty();
        let open = self.progress.wants.get_mut(want)?;
        let name = open.want.values.iter().map(|value| value.text.clone()).next();
        let is_new_name = name.as_deref().is_some_and(|name| !scene.title().contains(name));
        match (self.saving, in_dialog) {
            (Saving::NotYet, true) => {
                self.confirmed += 1;
                if self.confirmed > 8 {
                    return None;
                }
                Some(if std::mem::take(&mut self.progress.has_unconfirmed_changes) {
                    carry_through("The dialog is closed before saving.", scene)
                } else {
                    dismiss("The dialog is closed before saving.", scene)
                })
            }
            (Saving::NotYet, false) if open.given => {
                // Guidance already saved the work.
                open.done = true;
                None
            }
            (Saving::NotYet, false) if scene.is_page() => {
                // Web pages have no shortcut for saving: they have a button, which may be visible or behind another
                // one.
                let button = scene
                    .below(scene.surface())
                    .into_iter()
                    .find(|element| element.kind == ElementKind::Button && says_save(&element.name));
                open.done = button.is_some();
                if button.is_none() {
                    open.want.kind = SubGoalKind::Do;
                }
                button.map(|button| clicks("The work is saved.", button))
            }
            (Saving::NotYet, false) => {
                self.saving = Saving::KeyPressed;
                let chord = if is_new_name { "ctrl+shift+s" } else { "ctrl+s" };
                Some(keys("The work is saved.", &[chord]))
            }
            (Saving::KeyPressed, true) => {
                self.saving = Saving::Answered;
                Some(answer_saving(scene, name.as_deref()))
            }
            (Saving::Answered, true) => {
                open.done = true;
                Some(carry_through("The question is answered.", scene))
            }
            (Saving::KeyPressed, false) if is_new_name && open.unused_values().next().is_some() => {
                // The shortcut did not ask for a name, so the command must be searched for.
                open.want.kind = SubGoalKind::Do;
                None
            }
            (Saving::KeyPressed | Saving::Answered, false) => {
                open.done = true;
                None
            }
        }
    }
}

/// Answers a program's prompt during saving: a file name or a question.
fn answer_saving(scene: &Scene, name: Option<&str>) -> Move {
    let fields = scene.below(scene.surface());
    let field = fields.iter().find(|element| element.kind == ElementKind::Field);
    if let (Some(field), Some(name)) = (field, name) {
        let mut actions = fill(field, name);
        actions.extend(key("enter"));
        return Move::Act { say: format!("It is saved as {}.", quoted(name)), actions };
    }
    carry_through("The question is answered.", scene)
}

/// Presses the button that confirms a dialog, or Enter.
fn carry_through(say: &str, scene: &Scene) -> Move {
    match confirm_button(scene, None) {
        Some(button) => clicks(say, button),
        None => keys(say, &["enter"]),
    }
}

/// Returns whether a label is one of saving: `Save`, `Save changes`.
fn says_save(label: &str) -> bool {
    let words = plain(label);
    words.first().is_some_and(|word| word == "save" || word == "store") && words.len() <= 3
}

/// Returns whether an element opens another surface rather than performing an action.
fn leads_on(element: &Element) -> bool {
    matches!(element.kind, ElementKind::Menu | ElementKind::Tab | ElementKind::Combo) || element.promises()
}
