//! The actions and decisions that the policies build: clicks, keys, texts, waiting, and closing what is in front.

use apprentice_protocol::{Action, Button, Chord, ImagePoint, Target};

use super::policy::Move;
use super::scene::{Element, ElementKind, Scene};
use super::words::{plain, same_label};

/// Labels of buttons that confirm a dialog, in order of preference.
const CONFIRMING: &[&str] = &[
    "ok", "apply", "save", "create", "rename", "add", "confirm", "done", "yes", "continue", "open", "close",
];

/// Returns a click on an element.
pub(super) fn click(element: &Element, button: Button, count: u8) -> Action<ImagePoint> {
    Action::Click { at: Target::Ref(element.id.clone()), button, count, hold: None }
}

/// Returns the key action for a chord, or `None` if the spelling is not a valid chord.
pub(super) fn key(chord: &str) -> Option<Action<ImagePoint>> {
    Chord::parse(chord).ok().map(|chord| Action::Key { chord, hold_ms: None })
}

/// Returns a decision that presses chords in order.
pub(super) fn keys(say: impl Into<String>, chords: &[&str]) -> Move {
    Move::Act { say: say.into(), actions: chords.iter().filter_map(|chord| key(chord)).collect() }
}

/// Returns whether a button with this label only closes a surface.
pub(super) fn dismisses(label: &str) -> bool {
    matches!(plain(label).join(" ").as_str(), "cancel" | "close" | "dismiss" | "back")
}

fn buttons(scene: &Scene) -> Vec<&Element> {
    let below = scene.below(scene.surface()).into_iter();
    below.filter(|element| element.kind == ElementKind::Button).collect()
}

/// Closes the menu or dialog in front without applying anything.
pub(super) fn dismiss(say: impl Into<String>, scene: &Scene) -> Move {
    let in_dialog = scene.open_menus().is_empty() && !scene.dialogs().is_empty();
    match buttons(scene).into_iter().find(|button| in_dialog && dismisses(&button.name)) {
        Some(button) => clicks(say, button),
        None => keys(say, &["escape"]),
    }
}

/// Presses the button that confirms a dialog; without one, Enter if a text was typed, else what closes the dialog.
pub(super) fn carry_through(say: &str, scene: &Scene, has_typed: bool) -> Move {
    let buttons = buttons(scene);
    let named = |word: &&str| buttons.iter().find(|button| same_label(&button.name, word)).copied();
    match CONFIRMING.iter().find_map(named) {
        Some(button) => clicks(say, button),
        None if has_typed => keys(say, &["enter"]),
        None => dismiss(say, scene),
    }
}

/// Returns a decision that waits 500 ms.
pub(super) fn wait(say: &str) -> Move {
    Move::Act { say: say.to_owned(), actions: vec![Action::Wait { ms: 500 }] }
}

/// Returns a decision that clicks one element.
pub(super) fn clicks(say: impl Into<String>, element: &Element) -> Move {
    Move::Act { say: say.into(), actions: vec![click(element, Button::Left, 1)] }
}

/// Returns the actions that replace a field's content with a text.
pub(super) fn fill(field: &Element, text: &str) -> Vec<Action<ImagePoint>> {
    let mut actions = vec![click(field, Button::Left, 1)];
    actions.extend(key("ctrl+a"));
    actions.push(Action::Type { text: text.to_owned() });
    if field.role.contains("spin") {
        actions.extend(key("tab"));
    }
    actions
}

/// Returns a label in quotation marks.
pub(super) fn quoted(label: &str) -> String {
    format!("\"{label}\"")
}
