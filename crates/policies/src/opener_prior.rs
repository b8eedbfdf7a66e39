//! Scores how likely an element opens the surface that contains the target, before its label is matched.

use apprentice_protocol::State;

use super::goal::SubGoal;
use super::progress::Open;
use super::route::Leg;
use super::scene::{Element, ElementKind, Scene};
use super::text_match::plain;

/// Vocabulary of labels of settings surfaces.
const SETTINGS: &[&str] = &[
    "preferences",
    "settings",
    "options",
    "configuration",
    "properties",
    "customize",
    "configure",
    "advanced",
    "more",
];

/// Vocabulary of labels that quit, print, leave or destroy; pressed only when the task mentions them.
const RISKY: &[&str] = &[
    "quit", "exit", "close", "print", "delete", "remove", "about", "help", "contents", "restart", "clear",
    "reset", "logout", "recent", "undo", "redo", "reload", "minimize", "maximize", "restore", "trash",
    "send", "detach", "new", "cancel", "back", "forward", "feedback", "report", "ok", "save",
];

/// Vocabulary of labels of buttons that open a list of commands.
const LISTS: &[&str] = &["menu", "tools", "more", "options"];

/// First words of commands with a specific purpose.
const PURPOSES: &[&str] = &[
    "create",
    "configure",
    "add",
    "open",
    "import",
    "export",
    "find",
    "replace",
    "insert",
    "print",
    "page",
    "edit",
    "rename",
    "load",
    "record",
    "connect",
    "search",
];

/// The largest horizontal distance between the centers of entries in one column.
const MAX_COLUMN_OFFSET: f64 = 8.0;

/// Returns an element's prior score; `None` if it opens nothing or must not be opened.
pub(super) fn promise(
    scene: &Scene,
    element: &Element,
    label: &str,
    open: &Open,
    route: &[Leg],
) -> Option<f32> {
    let words = plain(label);
    let fit = open.wanted.fit(label);
    let asked = fit.share >= 0.5;
    if words.iter().any(|word| RISKY.contains(&word.as_str())) && !asked {
        return None;
    }
    let stores = matches!(open.want.verb.as_str(), "save" | "store" | "export" | "keep" | "write");
    if words.first().is_some_and(|first| first == "save") && (open.want.lasting || !stores) {
        return None;
    }
    let settings = words.len() <= 3 && words.iter().any(|word| SETTINGS.contains(&word.as_str()));
    let lists = words.len() <= 2 && words.iter().any(|word| LISTS.contains(&word.as_str()));
    let closed = element.is(State::Collapsed);
    let depth = route.len();
    match element.kind {
        ElementKind::Menu if settings => Some(0.6),
        ElementKind::Menu if depth == 0 => Some(0.45),
        ElementKind::Menu => Some(0.26 - 0.08 * f32::from(u8::try_from(depth).unwrap_or(u8::MAX))),
        ElementKind::Tab if !element.is(State::Selected) => Some(if open.want.lasting { 0.6 } else { 0.4 }),
        ElementKind::Item | ElementKind::Button if settings => Some(settings_promise(&words, &open.want)),
        ElementKind::Item | ElementKind::Button if element.promises() => {
            Some(if strays(&words, &open.want) { -0.1 } else { 0.1 })
        }
        ElementKind::Button | ElementKind::Switch if lists && depth == 0 => Some(0.4),
        ElementKind::Link => Some(if settings { 0.5 } else { 0.15 }),
        ElementKind::Combo => Some(if fit.matched > 0.0 { 0.2 } else { -0.05 }),
        ElementKind::Other | ElementKind::Object | ElementKind::Button if closed => Some(0.35),
        ElementKind::Object if is_section(scene, element) => Some(if open.want.lasting { 0.5 } else { 0.3 }),
        ElementKind::Item
        | ElementKind::Button
        | ElementKind::Switch
        | ElementKind::Radio
        | ElementKind::Field
        | ElementKind::Tab
        | ElementKind::Object
        | ElementKind::Window
        | ElementKind::Dialog
        | ElementKind::StaticText
        | ElementKind::Other => None,
    }
}

/// Returns the score of a settings command. An object's properties match a change to that object; the program's
/// preferences match a lasting change.
fn settings_promise(words: &[String], want: &SubGoal) -> f32 {
    let own = words.iter().any(|word| word == "properties");
    let about_thing = want.values.iter().any(|value| value.is_name());
    match (own, about_thing, want.lasting) {
        (true, true, _) => 0.44,
        (true, false, _) => 0.15,
        (false, _, true) => 0.75,
        (false, true, false) => 0.1,
        (false, false, false) => 0.15,
    }
}

/// Returns whether a command's first word names a purpose that the sub-goal does not mention.
pub(super) fn strays(words: &[String], want: &SubGoal) -> bool {
    words
        .first()
        .is_some_and(|first| PURPOSES.contains(&first.as_str()) && !plain(&want.clause).contains(first))
}

/// Returns whether an element is an entry of a section list, as settings dialogs have beside their content.
fn is_section(scene: &Scene, element: &Element) -> bool {
    let Some(at) = element.at.filter(|_| !element.is(State::Selected)) else { return false };
    let Some(surface) = scene.surface() else { return false };
    let dialog = &scene.elements[surface];
    let things: Vec<&Element> = scene
        .below(Some(surface))
        .into_iter()
        .filter(|other| other.kind == ElementKind::Object && !other.name.is_empty() && other.at.is_some())
        .collect();
    let in_line =
        things.iter().filter_map(|other| other.at).all(|other| (other.x - at.x).abs() <= MAX_COLUMN_OFFSET);
    dialog.kind == ElementKind::Dialog
        && dialog.role != "file_chooser"
        && (2..=24).contains(&things.len())
        && in_line
}
