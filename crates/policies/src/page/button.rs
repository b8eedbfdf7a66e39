//! The buttons of a page by their labels: those that commit, accept, confirm or refuse.

use super::super::text_match::plain;
use super::instruction::InstructionClause;
use super::page_view::{PageControl, PageControlKind, PageView};

/// First words of labels that commit changes.
const COMMITTING: &[&str] = &[
    "save", "store", "apply", "submit", "update", "confirm", "done", "send", "publish", "keep", "ok",
    "finish", "register", "vote", "place", "reserve",
];
/// First words of buttons that accept typed text.
const ACCEPTING: &[&str] = &["add", "insert", "create", "plus", "append", "enter"];
/// First words of dialog buttons that confirm, in order of preference.
const CONFIRMING_WORDS: &[&str] = &[
    "yes",
    "confirm",
    "ok",
    "continue",
    "accept",
    "agree",
    "allow",
    "turn",
    "proceed",
    "apply",
    "save",
    "delete",
    "remove",
    "done",
    "add",
    "set",
    "send",
    "understood",
    "got",
];
/// First words of labels that leave things unchanged.
pub(super) const REFUSING_WORDS: &[&str] =
    &["cancel", "no", "close", "dismiss", "keep", "back", "not", "later", "abort"];

/// Returns the first word of a label.
pub(super) fn first(label: &str) -> String {
    plain(label).into_iter().next().unwrap_or_default()
}

/// Returns whether a control with this label commits changes.
pub(super) fn commits(label: &str) -> bool {
    COMMITTING.contains(&first(label).as_str()) && plain(label).len() <= 4
}

/// Returns the button near a field that accepts the typed text.
pub(super) fn taking<'a, 's>(page: &'a PageView<'s>, field: &PageControl<'_>) -> Option<&'a PageControl<'s>> {
    let at = field.element.at?;
    page.controls.iter().find(|control| {
        control.sort == PageControlKind::Button
            && (ACCEPTING.contains(&first(&control.label).as_str()) || control.label.trim() == "+")
            && control.element.at.is_some_and(|place| (place.y - at.y).abs() <= 60.0)
    })
}

/// Returns the control that commits changes: the one that the clause names, else one with a usual label.
pub(super) fn committing<'a, 's>(
    page: &'a PageView<'s>,
    clause: Option<&InstructionClause>,
) -> Option<&'a PageControl<'s>> {
    let pressable =
        |control: &&PageControl<'_>| matches!(control.sort, PageControlKind::Button | PageControlKind::Item);
    let usual = || page.controls.iter().filter(pressable).filter(|control| commits(&control.label));
    let score =
        |control: &&PageControl<'_>| clause.map_or(0.0, |clause| clause.words.fit(&control.label).score());
    let rank = |control: &&PageControl<'_>| COMMITTING.iter().position(|word| *word == first(&control.label));
    let best =
        usual().max_by(|one, other| score(one).total_cmp(&score(other)).then(rank(other).cmp(&rank(one))));
    let named = clause.and_then(|clause| {
        let fits = |control: &&PageControl<'_>| {
            clause.words.fit(&control.label).share >= 0.99 && clause.words.fit(&control.label).matched > 0.3
        };
        page.controls.iter().filter(pressable).find(fits)
    });
    named.or(best)
}

/// Returns the button that confirms a dialog.
pub(super) fn confirm_button<'a, 's>(
    page: &'a PageView<'s>,
    clause: Option<&InstructionClause>,
) -> Option<&'a PageControl<'s>> {
    let buttons = || {
        page.controls
            .iter()
            .filter(|control| control.sort == PageControlKind::Button && !control.label.is_empty())
    };
    let refuses = |control: &&PageControl<'_>| REFUSING_WORDS.contains(&first(&control.label).as_str());
    let asked = clause.and_then(|clause| {
        let score = |control: &PageControl<'_>| clause.words.fit(&control.label).matched;
        buttons()
            .filter(|control| !refuses(control) && score(control) > 0.3)
            .max_by(|one, other| score(one).total_cmp(&score(other)))
    });
    let usual =
        CONFIRMING_WORDS.iter().find_map(|word| buttons().find(|control| first(&control.label) == *word));
    usual
        .or(asked)
        .or_else(|| buttons().rfind(|control| !refuses(control) && control.label.chars().count() > 1))
}

/// Returns the button that leaves a dialog without changes.
pub(super) fn cancel_button<'a, 's>(page: &'a PageView<'s>) -> Option<&'a PageControl<'s>> {
    REFUSING_WORDS.iter().find_map(|word| {
        page.controls
            .iter()
            .find(|control| control.sort == PageControlKind::Button && first(&control.label) == *word)
    })
}
