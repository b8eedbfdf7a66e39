//! Which of the controls in sight answers a want, and which field takes which value.

use super::goal::{Value, ValueKind};
use super::perceive::{Element, Kind, Scene};
use super::progress::{Open, Surfaces};
use super::words::{Fit, Wanted, content, plain, same_label};

/// How sure a model must be before it presses something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Every word of the label is asked for, and one of them is telling.
    Sure,
    /// Every word of the label is asked for.
    Exact,
    /// Most of the label is asked for.
    Loose,
    /// Any overlap decides: the place is right already.
    Any,
}

impl Care {
    pub(super) fn accepts(self, fit: Fit) -> bool {
        match self {
            Self::Sure => fit.share >= 0.99 && fit.matched >= 0.9,
            Self::Exact => fit.share >= 0.99 && fit.matched >= 0.7,
            Self::Loose => fit.share >= 0.6 && fit.matched >= 0.9 || fit.share >= 0.99 && fit.matched >= 0.6,
            Self::Any => fit.matched > 0.0,
        }
    }
}

/// A control that answers a want.
#[derive(Clone, Debug)]
pub(super) struct Choice<'s> {
    /// The control.
    pub(super) element: &'s Element,
    /// Its label.
    pub(super) label: String,
    /// The value that the label spells, if it spells one.
    pub(super) value: Option<usize>,
    /// How well it answers.
    pub(super) score: f32,
}

fn can_be_pressed(kind: Kind) -> bool {
    match kind {
        Kind::Menu
        | Kind::Item
        | Kind::Switch
        | Kind::Radio
        | Kind::Button
        | Kind::Combo
        | Kind::Tab
        | Kind::Link => true,
        Kind::Field | Kind::Thing | Kind::Window | Kind::Dialog | Kind::Words | Kind::Other => false,
    }
}

/// The label's own sense: `Hide …` turned on is the thing turned off.
fn negates(label: &str) -> bool {
    plain(label)
        .iter()
        .any(|word| matches!(word.as_str(), "hide" | "disable" | "never" | "no" | "don" | "not"))
}

/// The state that a switch of this label must get for a want.
pub(super) fn wanted_state(open: &Open, label: &str) -> bool {
    let on = open.want.switch.unwrap_or(true);
    let said = negates(&open.want.clause);
    if negates(label) && (!said || open.want.switch == Some(false)) { !on } else { on }
}

/// Whether a list of options is one that can be typed into: then its field is what counts.
fn is_entry(scene: &Scene, element: &Element) -> bool {
    let within = |other: &Element| {
        other.kind == Kind::Field
            && other.parent.is_some_and(|parent| scene.elements[parent].id == element.id)
    };
    element.kind == Kind::Combo && scene.elements.iter().any(within)
}

/// Whether a command or switch says nothing of the state that something is to get.
pub(super) fn misses_target(open: &Open, element: &Element, label: &str) -> bool {
    let ends = matches!(element.kind, Kind::Item | Kind::Switch | Kind::Radio) && !element.promises();
    let words = content(label);
    ends && !open.want.target.is_empty() && !open.want.target.iter().any(|word| words.contains(word))
}

/// The control below `root` that best answers a want, if one does well enough.
pub(super) fn control<'s>(
    scene: &'s Scene,
    root: Option<usize>,
    open: &Open,
    care: Care,
) -> Option<Choice<'s>> {
    let mut best: Option<Choice<'s>> = None;
    for element in scene.below(root).into_iter().filter(|element| can_be_pressed(element.kind)) {
        let label = scene.label_of(element);
        if open.has_pressed(&label) && element.kind != Kind::Item || is_entry(scene, element) {
            continue;
        }
        if open.is_rejected(&Surfaces::of(scene).title, &label) {
            continue;
        }
        let value = open.left().find(|(_, value)| same_label(&value.text, &label)).map(|(index, _)| index);
        let fit = open.wanted.fit(&label);
        if value.is_none() && misses_target(open, element, &label) {
            continue;
        }
        let score = if value.is_some() { 3.0 } else { fit.score() };
        let fits = value.is_some() || care.accepts(fit);
        if fits && best.as_ref().is_none_or(|best| score > best.score + 0.001) {
            best = Some(Choice { element, label, value, score });
        }
    }
    best
}

/// A thing in sight that a value of the want names, by its name or as the end of a path: a file, a row, a
/// link.
pub(super) fn object<'s>(scene: &'s Scene, open: &Open) -> Option<(&'s Element, usize)> {
    let things = scene.below(scene.surface());
    open.left().filter(|(_, value)| value.kind != ValueKind::Number).find_map(|(index, value)| {
        let text = value.text.trim();
        let end = text.rsplit('/').next().filter(|_| value.kind == ValueKind::File).unwrap_or(text);
        let named = |element: &&&Element| {
            matches!(element.kind, Kind::Thing | Kind::Other)
                && (element.name.trim() == text || element.name.trim() == end)
                && element.at.is_some()
        };
        things.iter().rev().find(named).map(|element| (*element, index))
    })
}

/// A thing in sight whose name an instruction mentions in passing, spelled as it stands there.
pub(super) fn mentioned<'s>(scene: &'s Scene, told: &str) -> Option<&'s Element> {
    let inside = |name: &str| {
        told.match_indices(name).any(|(at, _)| {
            let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
            ends(told[..at].chars().next_back()) && ends(told[at + name.len()..].chars().next())
        })
    };
    scene.below(scene.surface()).into_iter().rev().find(|element| {
        let name = element.name.trim();
        element.kind == Kind::Thing
            && element.at.is_some()
            && name.chars().count() >= 3
            && name.chars().any(char::is_alphabetic)
            && !content(name).is_empty()
            && inside(name)
    })
}

/// More controls beside a field, and it is one of many things that can be set.
const SMALL: usize = 9;

/// A field and the value that belongs in it.
#[derive(Clone, Debug)]
pub(super) struct Filling<'s> {
    /// The field.
    pub(super) field: &'s Element,
    /// Its label.
    pub(super) label: String,
    /// The value's place in the want.
    pub(super) value: usize,
    /// The text to put in.
    pub(super) text: String,
}

/// How well a field's label answers a value: by the words before the value, then by the clause.
fn affinity(label: &str, value: &Value, open: &Open) -> f32 {
    let near = value.before.join(" ");
    let shared = plain(label).iter().filter(|word| value.before.contains(word)).count();
    let shared = f32::from(u8::try_from(shared).unwrap_or(u8::MAX));
    let near = Wanted::of(&near).fit(label).matched * 2.0;
    near + open.wanted.fit(label).matched + shared * 0.3 + in_place_of(label, value, open)
}

/// `Replace this by that`: what is looked for goes into the field of searching, the other into that of
/// replacing.
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

/// The next field to fill below `root`. Without a telling label a value goes into a lone field, or into the
/// first of very few.
pub(super) fn filling<'s>(
    scene: &'s Scene,
    root: Option<usize>,
    open: &Open,
    filled: &[String],
) -> Option<Filling<'s>> {
    let document = scene.document().map(|element| &element.id);
    let fields: Vec<(&Element, String)> = scene
        .below(root)
        .into_iter()
        .filter(|element| element.kind == Kind::Field && Some(&element.id) != document)
        .map(|element| (element, scene.label_of(element)))
        .filter(|(element, label)| !filled.contains(&key_of(element, label)))
        .collect();
    let is_label = |value: &Value| {
        let labelled = |element: &&Element| {
            matches!(element.kind, Kind::Field | Kind::Button | Kind::Switch | Kind::Combo)
                && same_label(&scene.label_of(element), &value.text)
        };
        scene.below(root).iter().any(labelled)
    };
    let named: Vec<String> =
        open.want.values.iter().filter(|value| is_label(value)).map(|value| value.text.clone()).collect();
    let mut best: Option<(f32, Filling<'s>)> = None;
    for (value_at, value) in open.left().filter(|(_, value)| !is_label(value)) {
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
                    Filling { field, label: label.clone(), value: value_at, text: value.text.clone() };
                best = Some((fit, filling));
            }
        }
    }
    let (fit, filling) = best?;
    let in_dialog = scene.surface().is_some_and(|index| scene.elements[index].kind == Kind::Dialog);
    let controls = scene.below(root).into_iter().filter(|element| can_be_pressed(element.kind)).count();
    let few = fields.len() <= 2 && in_dialog && (controls <= SMALL || scene.asks_for_file());
    // Where one of the values has found its field, the last one goes into the last field.
    let begun = |element: &&Element| {
        element.kind == Kind::Field && filled.contains(&key_of(element, &scene.label_of(element)))
    };
    let last = in_dialog && fields.len() == 1 && open.left().count() == 1;
    let rest = last && scene.below(root).iter().any(begun);
    (fit >= 0.5 || few || rest).then_some(filling)
}

/// What tells a field from the others of its surface.
pub(super) fn key_of(element: &Element, label: &str) -> String {
    format!("{label}#{}", element.id)
}

/// Labels that carry a dialog's work through, best first.
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

/// The button that carries the front dialog's work through.
pub(super) fn confirming<'s>(scene: &'s Scene, open: Option<&Open>) -> Option<&'s Element> {
    let buttons: Vec<&Element> = scene
        .below(scene.surface())
        .into_iter()
        .filter(|element| element.kind == Kind::Button && !element.name.is_empty())
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
