//! Matches visible controls to sub-goals and values to fields.

use super::progress::{Open, SurfaceCounts};
use super::scene::{Element, ElementKind, Scene};
use super::text_match::{KeyTerms, MatchScore, content, plain, same_label, telling_words};
use super::value::{Value, ValueKind};

/// How closely a label must match before a policy presses the control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchThreshold {
    /// Every word of the label is requested, and together they are specific.
    Strict,
    /// Every word of the label is requested.
    Exact,
    /// Most of the label is requested.
    Partial,
    /// Any shared word is enough. Used inside a menu that already matched.
    Any,
}

impl MatchThreshold {
    pub(super) fn accepts(self, fit: MatchScore) -> bool {
        match self {
            Self::Strict => fit.share >= 0.99 && fit.matched >= 0.9,
            Self::Exact => fit.share >= 0.99 && fit.matched >= 0.7,
            Self::Partial => {
                fit.share >= 0.6 && fit.matched >= 0.9 || fit.share >= 0.99 && fit.matched >= 0.6
            }
            Self::Any => fit.matched > 0.0,
        }
    }
}

/// A control that matches a sub-goal.
#[derive(Clone, Debug)]
pub(super) struct ControlMatch<'s> {
    pub(super) element: &'s Element,
    pub(super) label: String,
    /// The index of the value that the label spells out, if any.
    pub(super) value: Option<usize>,
    /// The match score; higher is better.
    pub(super) score: f32,
}

fn can_be_pressed(kind: ElementKind) -> bool {
    match kind {
        ElementKind::Menu
        | ElementKind::Item
        | ElementKind::Switch
        | ElementKind::Radio
        | ElementKind::Button
        | ElementKind::Combo
        | ElementKind::Tab
        | ElementKind::Link => true,
        ElementKind::Field
        | ElementKind::Object
        | ElementKind::Window
        | ElementKind::Dialog
        | ElementKind::StaticText
        | ElementKind::Other => false,
    }
}

/// Returns whether a label negates: turning `Hide …` on turns the thing off.
fn negates(label: &str) -> bool {
    plain(label)
        .iter()
        .any(|word| matches!(word.as_str(), "hide" | "disable" | "never" | "no" | "don" | "not"))
}

/// Returns the state that a switch with this label must have to satisfy a sub-goal.
pub(super) fn target_state(open: &Open, label: &str) -> bool {
    let on = open.want.switch.unwrap_or(true);
    let said = negates(&open.want.clause);
    if negates(label) && (!said || open.want.switch == Some(false)) { !on } else { on }
}

/// Returns whether a combo box is editable, in which case its text field is used instead.
fn is_entry(scene: &Scene, element: &Element) -> bool {
    let within = |other: &Element| {
        other.kind == ElementKind::Field
            && other.parent.is_some_and(|parent| scene.elements[parent].id == element.id)
    };
    element.kind == ElementKind::Combo && scene.elements.iter().any(within)
}

/// Returns whether a command or switch does not mention the target state that the sub-goal names.
pub(super) fn omits_target(open: &Open, element: &Element, label: &str) -> bool {
    let ends = matches!(element.kind, ElementKind::Item | ElementKind::Switch | ElementKind::Radio)
        && !element.promises();
    let words = content(label);
    ends && !open.want.target.is_empty() && !open.want.target.iter().any(|word| words.contains(word))
}

/// Returns the control below `root` that best matches a sub-goal, if it passes the threshold `care`.
pub(super) fn control<'s>(
    scene: &'s Scene,
    root: Option<usize>,
    open: &Open,
    care: MatchThreshold,
) -> Option<ControlMatch<'s>> {
    let mut best: Option<ControlMatch<'s>> = None;
    for element in scene.below(root).into_iter().filter(|element| can_be_pressed(element.kind)) {
        let label = scene.label_of(element);
        if open.has_pressed(&label) && element.kind != ElementKind::Item || is_entry(scene, element) {
            continue;
        }
        if open.is_rejected(&SurfaceCounts::of(scene).title, &label) {
            continue;
        }
        let value =
            open.unused_values().find(|(_, value)| same_label(&value.text, &label)).map(|(index, _)| index);
        let fit = open.wanted.fit(&label);
        if value.is_none() && omits_target(open, element, &label) {
            continue;
        }
        let score = if value.is_some() { 3.0 } else { fit.score() };
        let fits = value.is_some() || care.accepts(fit);
        if fits && best.as_ref().is_none_or(|best| score > best.score + 0.001) {
            best = Some(ControlMatch { element, label, value, score });
        }
    }
    best
}

/// Returns a visible object (file, row, link) that one of the sub-goal's values names, by its full name or by the last
/// component of a path, with the index of that value.
pub(super) fn object<'s>(scene: &'s Scene, open: &Open) -> Option<(&'s Element, usize)> {
    let things = scene.below(scene.surface());
    open.unused_values().filter(|(_, value)| value.kind != ValueKind::Number).find_map(|(index, value)| {
        let text = value.text.trim();
        let end = text.rsplit('/').next().filter(|_| value.kind == ValueKind::File).unwrap_or(text);
        let named = |element: &&&Element| {
            matches!(element.kind, ElementKind::Object | ElementKind::Other)
                && (element.name.trim() == text || element.name.trim() == end)
                && element.at.is_some()
        };
        things.iter().rev().find(named).map(|element| (*element, index))
    })
}

/// Returns a visible object whose exact name occurs anywhere in the instruction.
pub(super) fn mentioned<'s>(scene: &'s Scene, told: &str) -> Option<&'s Element> {
    let inside = |name: &str| {
        told.match_indices(name).any(|(at, _)| {
            let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
            ends(told[..at].chars().next_back()) && ends(told[at + name.len()..].chars().next())
        })
    };
    scene.below(scene.surface()).into_iter().rev().find(|element| {
        let name = element.name.trim();
        element.kind == ElementKind::Object
            && element.at.is_some()
            && name.chars().count() >= 3
            && name.chars().any(char::is_alphabetic)
            && !content(name).is_empty()
            && inside(name)
    })
}

/// The largest number of pressable controls in a dialog that still counts as small. In a larger dialog a field needs a
/// matching label.
const SMALL_DIALOG: usize = 9;

/// A field and the value to type into it.
#[derive(Clone, Debug)]
pub(super) struct FieldFill<'s> {
    pub(super) field: &'s Element,
    pub(super) label: String,
    /// The index of the value in the sub-goal.
    pub(super) value: usize,
    /// The text to type.
    pub(super) text: String,
}

/// Returns how well a field's label matches a value: by the words before the value, then by the whole clause. Words
/// such as `to` count only in a label that has no others: in a sentence they say nothing.
fn affinity(label: &str, value: &Value, open: &Open) -> f32 {
    let near = value.before.join(" ");
    let shared = telling_words(label).iter().filter(|word| value.before.contains(word)).count();
    let shared = f32::from(u8::try_from(shared).unwrap_or(u8::MAX));
    let near = KeyTerms::of(&near).fit(label).matched * 2.0;
    near + open.wanted.fit(label).matched + shared * 0.3 + in_place_of(label, value, open)
}

/// Scores `replace A by B`: A belongs in the search field and B in the replacement field.
fn in_place_of(label: &str, value: &Value, open: &Open) -> f32 {
    let texts: Vec<&Value> = open.want.values.iter().filter(|value| value.is_name()).collect();
    let [first, second] = texts.as_slice() else { return 0.0 };
    if !matches!(open.want.verb.as_str(), "replace" | "change" | "substitute" | "exchange") {
        return 0.0;
    }
    let words = plain(label);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let replaces = has(&["replace", "replacement", "with", "by", "new"]);
    let searches = !replaces && has(&["find", "search", "what", "for", "original"]);
    match (value == *first, value == *second) {
        (true, _) if searches => 3.0,
        (_, true) if replaces => 3.0,
        (true, _) if replaces => -3.0,
        (_, true) if searches => -3.0,
        _ => 0.0,
    }
}

/// Returns the next field to fill below `root`. Without a matching label, a value goes into the only field, or into
/// the first field of a small dialog.
pub(super) fn filling<'s>(
    scene: &'s Scene,
    root: Option<usize>,
    open: &Open,
    filled: &[String],
) -> Option<FieldFill<'s>> {
    let document = scene.document().map(|element| &element.id);
    let fields: Vec<(&Element, String)> = scene
        .below(root)
        .into_iter()
        .filter(|element| element.kind == ElementKind::Field && Some(&element.id) != document)
        .map(|element| (element, scene.label_of(element)))
        .filter(|(element, label)| !filled.contains(&key_of(element, label)))
        .collect();
    let is_label = |value: &Value| {
        let labelled = |element: &&Element| {
            matches!(
                element.kind,
                ElementKind::Field | ElementKind::Button | ElementKind::Switch | ElementKind::Combo
            ) && same_label(&scene.label_of(element), &value.text)
        };
        scene.below(root).iter().any(labelled)
    };
    let named: Vec<String> =
        open.want.values.iter().filter(|value| is_label(value)).map(|value| value.text.clone()).collect();
    let mut best: Option<(f32, FieldFill<'s>)> = None;
    for (value_at, value) in open.unused_values().filter(|(_, value)| !is_label(value)) {
        for (field, label) in &fields {
            let spins = field.role.contains("spin");
            let number = value.text.parse::<f64>().is_ok();
            if spins && !number {
                continue;
            }
            let by_name = named.iter().any(|name| same_label(name, label));
            let fit = affinity(label, value, open)
                + if spins && number { 0.2 } else { 0.0 }
                + if by_name { 3.0 } else { 0.0 };
            if best.as_ref().is_none_or(|(most, _)| fit > *most + 0.001) {
                let filling =
                    FieldFill { field, label: label.clone(), value: value_at, text: value.text.clone() };
                best = Some((fit, filling));
            }
        }
    }
    let (fit, filling) = best?;
    let in_dialog = scene.surface().is_some_and(|index| scene.elements[index].kind == ElementKind::Dialog);
    let controls = scene.below(root).into_iter().filter(|element| can_be_pressed(element.kind)).count();
    let few = fields.len() <= 2 && in_dialog && (controls <= SMALL_DIALOG || scene.asks_for_file());
    // Once one of the values has been placed, the last value goes into the last field.
    let begun = |element: &&Element| {
        element.kind == ElementKind::Field && filled.contains(&key_of(element, &scene.label_of(element)))
    };
    let last = in_dialog && fields.len() == 1 && open.unused_values().count() == 1;
    let rest = last && scene.below(root).iter().any(begun);
    (fit >= 0.5 || few || rest).then_some(filling)
}

/// Returns a key that distinguishes a field from the other fields of its surface.
pub(super) fn key_of(element: &Element, label: &str) -> String {
    format!("{label}#{}", element.id)
}

/// Labels of buttons that confirm a dialog, in order of preference.
pub(super) const CONFIRMING: &[&str] = &[
    "ok",
    "apply",
    "save",
    "create",
    "rename",
    "replace all",
    "replace",
    "add",
    "set",
    "insert",
    "go",
    "done",
    "yes",
    "confirm",
    "submit",
    "accept",
    "continue",
    "overwrite",
    "update",
    "open",
    "select",
    "close",
];

/// Returns the button that confirms the dialog in front.
pub(super) fn confirm_button<'s>(scene: &'s Scene, open: Option<&Open>) -> Option<&'s Element> {
    let buttons: Vec<&Element> = scene
        .below(scene.surface())
        .into_iter()
        .filter(|element| element.kind == ElementKind::Button && !element.name.is_empty())
        .collect();
    let asked = open.and_then(|open| {
        let is_asked = |button: &&&Element| {
            let words = plain(&button.name);
            CONFIRMING.contains(&words.join(" ").as_str()) && open.wanted.fit(&button.name).matched > 0.0
        };
        buttons.iter().find(is_asked).copied()
    });
    asked.or_else(|| {
        CONFIRMING
            .iter()
            .find_map(|word| buttons.iter().find(|button| same_label(&button.name, word)).copied())
    })
}
