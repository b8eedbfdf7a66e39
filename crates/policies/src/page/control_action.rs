//! Matches visible controls to the clauses of an instruction and decides what to do with each control.

use std::ops::Range;

use apprentice_protocol::NodeRef;

use super::super::control_match::Care;
use super::super::text_match::{Fit, content, plain, same_label};
use super::date::date;
use super::explore::holds;
use super::instruction::{Ask, Clause, Given, Told, is_commit_verb};
use super::list_order;
use super::page_view::{Control, Front, Sheet, Sort};
use super::token::Holds;

/// First words of labels that commit changes.
const COMMITTING: &[&str] = &[
    "save", "store", "apply", "submit", "update", "confirm", "done", "send", "publish", "keep", "ok",
    "finish", "register", "vote", "place", "reserve",
];
/// Verbs that add an entry to a collection.
const ADDING: &[&str] = &["add", "put", "append", "insert", "include", "enter", "list"];
/// First words of buttons that accept typed text.
const TAKING: &[&str] = &["add", "insert", "create", "plus", "append", "enter"];
/// Verbs that open what they name.
const OPENING: &[&str] =
    &["open", "go", "show", "visit", "click", "press", "choose", "select", "pick", "use"];
/// First words of dialog buttons that confirm, in order of preference.
const YES: &[&str] = &[
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
const NO: &[&str] = &["cancel", "no", "close", "dismiss", "keep", "back", "not", "later", "abort"];
/// The largest number of controls on a page where a partial label match is trusted.
const SMALL: usize = 12;
/// The score from which a value is taken to belong to a label.
const SURE: f32 = 0.55;

/// The action for a control.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// None: the control already has the wanted state.
    Fine,
    /// Type this text.
    Fill(String),
    /// Enter this date: year, month, day.
    Date([u32; 3]),
    /// Click it.
    Click,
    /// Open its list to choose this entry.
    Unfold(String),
    /// Open it for editing and type this text.
    Edit(String),
}

/// A control that matches a clause, with the action for it.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    /// The index of the clause.
    pub(super) clause: usize,
    /// The index of the control in the page view.
    pub(super) control: usize,
    pub(super) what: What,
    /// The tokens of the value in the instruction, if one is used.
    pub(super) span: Option<Range<usize>>,
    /// The match score; higher is better.
    pub(super) score: f32,
}

/// Returns the first word of a label.
fn first(label: &str) -> String {
    plain(label).into_iter().next().unwrap_or_default()
}

/// Returns whether a clause asks to commit changes.
pub(super) fn is_commit(clause: &Clause) -> bool {
    is_commit_verb(&clause.verb) && clause.commands && clause.ask == Ask::Wish
}

/// Returns whether a clause adds an entry to a collection.
pub(super) fn is_adding(clause: &Clause) -> bool {
    ADDING.contains(&clause.verb.as_str())
}

/// Returns whether a control with this label commits changes.
pub(super) fn commits(label: &str) -> bool {
    COMMITTING.contains(&first(label).as_str()) && plain(label).len() <= 4
}

/// Returns how well a control matches a clause; `None` if it does not. A quoted text must occur in the label as a
/// whole.
fn answers(sheet: &Sheet<'_>, told: &Told, clause: &Clause, control: &Control<'_>) -> Option<f32> {
    let quotes = told.quotes(clause);
    let spelled = quotes.is_empty() || quotes.iter().any(|quote| holds(&control.label, quote));
    let words =
        if spelled { clause.words.clone() } else { clause.words.without(&content(&quotes.join(" "))) };
    let own = words.fit(&control.label);
    let place = words.without(&content(&control.label)).fit(&control.place);
    let helped = own.matched >= 0.9 && place.share >= 0.6 && place.matched >= 0.9;
    let alone = sheet.controls.len() <= SMALL
        && control.sort == Sort::Switch
        && own.share >= 0.5
        && own.matched >= 0.9;
    let well = Care::Loose.accepts(own) || helped || alone || own.share >= 0.5 && own.matched >= 1.6;
    well.then(|| own.score() + 0.4 * place.score())
}

/// The relation of a control's row to the instruction.
enum RowSays {
    /// The control is in no row, or its label is unique.
    Nothing,
    /// The instruction names this row.
    This,
    /// The instruction means another row.
    Other,
}

fn row_says(sheet: &Sheet<'_>, told: &Told, control: &Control<'_>) -> RowSays {
    let Some(row) = control.row else { return RowSays::Nothing };
    let named = sheet
        .texts_of(row)
        .iter()
        .any(|text| text.chars().count() > 1 && told.names(text) && !same_label(text, &control.label));
    match (named, sheet.twins(control) > 1) {
        (true, _) => RowSays::This,
        (false, true) => RowSays::Other,
        (false, false) => RowSays::Nothing,
    }
}

/// Returns the actions for all visible controls that match an open clause, including those that already have the
/// wanted state.
pub(super) fn deeds(
    sheet: &Sheet<'_>,
    told: &Told,
    open: &[usize],
    used: &[Range<usize>],
    may: &dyn Fn(&What, &NodeRef) -> bool,
) -> Vec<Deed> {
    let mut found = Vec::new();
    for (at, control) in sheet.controls.iter().enumerate() {
        let deed = match control.sort {
            Sort::Field | Sort::Number | Sort::Date => fill(sheet, told, control, open, used),
            Sort::Combo => unfold(told, control, open),
            Sort::Button
                if control.element.is(apprentice_protocol::State::Collapsed)
                    && !control.caption.is_empty() =>
            {
                unfold_captioned(told, control, open)
            }
            Sort::Switch | Sort::Radio | Sort::Item | Sort::Button | Sort::Tab | Sort::Link | Sort::Entry => {
                let orders = |at: &usize| list_order::is_in_order(sheet, told, &told.clauses[*at]).is_some();
                let open: Vec<usize> = open.iter().copied().filter(|at| !orders(at)).collect();
                click(sheet, told, control, &open)
            }
            Sort::Cell => edit(sheet, told, control, open),
        };
        let deed = deed.filter(|deed| may(&deed.what, &control.element.id));
        found.extend(deed.map(|deed| Deed { control: at, ..deed }));
    }
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    keep_best(sheet, told, found)
}

/// Keeps the best action of those that would use the same value or match the same clause less well.
fn keep_best(sheet: &Sheet<'_>, told: &Told, found: Vec<Deed>) -> Vec<Deed> {
    let mut kept: Vec<Deed> = Vec::new();
    let states = |deed: &Deed| deed.span.is_none();
    for deed in found {
        let control = &sheet.controls[deed.control];
        let whole = told.clauses[deed.clause].words.fit(&control.label).share >= 0.99;
        let weaker = states(&deed)
            && kept.iter().any(|better| {
                states(better) && better.clause == deed.clause && better.score > deed.score + 0.001
            });
        let beside = match control.sort {
            Sort::Switch => sheet.twins(control) == 1,
            Sort::Button => true,
            _ => false,
        };
        if weaker && !(whole && beside) {
            continue;
        }
        let overlaps =
            |span: &Range<usize>, other: &Range<usize>| span.start < other.end && other.start < span.end;
        let taken = deed.span.as_ref().is_some_and(|span| {
            kept.iter().filter_map(|deed| deed.span.as_ref()).any(|other| overlaps(span, other))
        });
        if !taken {
            kept.push(deed);
        }
    }
    kept
}

/// Returns the open clause that uses a value of this clause: the clause itself, or a later one.
fn asking(told: &Told, open: &[usize], clause: usize) -> Option<usize> {
    let later = |at: &usize| *at > clause && !is_commit(&told.clauses[*at]);
    if open.contains(&clause) { Some(clause) } else { open.iter().copied().find(later) }
}

fn deed(clause: usize, what: What, span: Option<Range<usize>>, score: f32) -> Deed {
    Deed { clause, control: 0, what, span, score }
}

fn kind_of(control: &Control<'_>) -> Holds {
    match control.sort {
        Sort::Number => Holds::Number,
        Sort::Date => Holds::Date,
        _ => Holds::Text,
    }
}

/// Returns whether a field is for searching rather than for data.
pub(super) fn looks_up(control: &Control<'_>) -> bool {
    control.element.role == "searchbox"
        || plain(&control.label).iter().any(|word| matches!(word.as_str(), "search" | "find" | "filter"))
}

fn fill(
    sheet: &Sheet<'_>,
    told: &Told,
    control: &Control<'_>,
    open: &[usize],
    used: &[Range<usize>],
) -> Option<Deed> {
    let given = value_for(sheet, told, control)?;
    let clause = told.clause_at(given.span.start)?;
    let asked = asking(told, open, clause);
    let held = control.element.value.as_deref().unwrap_or_default().trim();
    let what = match (control.sort, date(&given.value)) {
        _ if held == given.value => What::Fine,
        (Sort::Date, Some(parts)) => What::Date(parts),
        (Sort::Date, None) => return None,
        _ => What::Fill(given.value.clone()),
    };
    let free = !used.iter().any(|span| span.start < given.span.end && given.span.start < span.end);
    let looked_up = looks_up(control) && !matches!(told.clauses[clause].verb.as_str(), "search" | "find");
    let is_label = sheet.controls.iter().any(|other| same_label(&other.label, &given.value));
    (given.score >= SURE && (free || what == What::Fine) && !looked_up && !is_label)
        .then(|| asked.map(|clause| deed(clause, what, Some(given.span), given.score + 1.0)))?
}

/// Returns the value that the instruction gives to a field: by its label, its column, or the heading above it.
fn value_for(sheet: &Sheet<'_>, told: &Told, control: &Control<'_>) -> Option<Given> {
    let kind = kind_of(control);
    match row_says(sheet, told, control) {
        RowSays::Other => return None,
        RowSays::This => {
            let head =
                control.row.map(|row| sheet.columns_of(row)).unwrap_or_default().get(control.column).cloned();
            if let Some(given) = head.and_then(|head| told.given(&head, kind)) {
                return Some(given);
            }
        }
        RowSays::Nothing => {}
    }
    let by_label = told.given(&control.label, kind);
    let by_place = || {
        let alone = sheet
            .controls
            .iter()
            .filter(|other| other.sort == control.sort && other.place == control.place)
            .count()
            == 1;
        let spelled = |given: &Given| given.score >= 1.2 && alone && !control.place.trim().is_empty();
        let given = told.given(&control.place, kind).filter(spelled);
        given.map(|given| Given { score: given.score * 0.75, ..given })
    };
    let dated = || {
        (kind == Holds::Date)
            .then(|| told.left(&[]).into_iter().find(|given| date(&given.value).is_some()))?
    };
    by_label.or_else(by_place).or_else(|| dated().map(|given| Given { score: 0.9, ..given }))
}

fn unfold(told: &Told, control: &Control<'_>, open: &[usize]) -> Option<Deed> {
    let given =
        told.given(&control.label, Holds::Text).or_else(|| told.given(&control.place, Holds::Text))?;
    choosing(told, control, open, given)
}

fn unfold_captioned(told: &Told, control: &Control<'_>, open: &[usize]) -> Option<Deed> {
    let given = told.given(&control.caption, Holds::Text).filter(|given| given.score >= 1.2)?;
    choosing(told, control, open, given)
}

fn choosing(told: &Told, control: &Control<'_>, open: &[usize], given: Given) -> Option<Deed> {
    let clause = told.clause_at(given.span.start)?;
    let clause = asking(told, open, clause)?;
    let shown = control.element.value.clone().unwrap_or_default();
    let now = if control.sort == Sort::Combo { shown } else { control.element.name.clone() };
    let what = if same_label(&now, &given.value) { What::Fine } else { What::Unfold(given.value.clone()) };
    (given.score >= SURE).then(|| deed(clause, what, Some(given.span), given.score + 0.6))
}

fn click(sheet: &Sheet<'_>, told: &Told, control: &Control<'_>, open: &[usize]) -> Option<Deed> {
    let row = row_says(sheet, told, control);
    if matches!(row, RowSays::Other) {
        return None;
    }
    let in_row = matches!(row, RowSays::This);
    let mut best: Option<Deed> = None;
    for at in open.iter().copied() {
        let clause = &told.clauses[at];
        let sets = matches!(control.sort, Sort::Switch | Sort::Radio);
        if is_commit(clause) && !matches!(control.sort, Sort::Button | Sort::Item)
            || sets && is_adding(clause)
        {
            continue;
        }
        let Some(score) = score_of(sheet, told, clause, control, in_row) else { continue };
        if best.as_ref().is_none_or(|best| score > best.score + 0.001) {
            let fine = is_as_asked(told, clause, control);
            best = Some(deed(at, if fine { What::Fine } else { What::Click }, None, score));
        }
    }
    best
}

fn score_of(
    sheet: &Sheet<'_>,
    told: &Told,
    clause: &Clause,
    control: &Control<'_>,
    in_row: bool,
) -> Option<f32> {
    let own: Fit = clause.words.fit(&control.label);
    let spelled = told.names(&control.label)
        && plain(&clause.text)
            .windows(plain(&control.label).len().max(1))
            .any(|run| run == plain(&control.label));
    let by_row = (in_row && own.matched > 0.3).then_some(own.score() + 1.0);
    let score = answers(sheet, told, clause, control).or(by_row).or(spelled.then_some(1.2))?;
    match control.sort {
        Sort::Switch | Sort::Radio => Some(score + 0.3),
        Sort::Item => (own.share >= 0.99 || spelled).then_some(score + 0.3),
        Sort::Button => {
            let folded =
                control.element.is(apprentice_protocol::State::Collapsed) || control.element.promises();
            let opened = sheet.front == Front::Page && folded;
            let no = NO.contains(&first(&control.label).as_str()) && own.share < 0.99;
            (!opened && !no).then_some(score)
        }
        Sort::Tab | Sort::Link | Sort::Entry => {
            let opens = OPENING.contains(&clause.verb.as_str())
                && (own.share >= 0.99 && own.matched >= 0.6 || spelled);
            (opens && !control.element.is(apprentice_protocol::State::Selected)).then_some(score * 0.8)
        }
        Sort::Field | Sort::Number | Sort::Date | Sort::Combo | Sort::Cell => None,
    }
}

/// Returns whether a toggle already has the state that the clause requests.
fn is_as_asked(told: &Told, clause: &Clause, control: &Control<'_>) -> bool {
    match control.sort {
        Sort::Switch => {
            let reversed = plain(&control.label)
                .iter()
                .any(|word| matches!(word.as_str(), "hide" | "disable" | "never" | "block" | "don" | "mute"));
            let asked_so = clause.words.fit(&first(&control.label)).matched > 0.0;
            let off = told.is_off(clause, &control.label);
            let wanted = if reversed && !asked_so { off } else { !off };
            is_on(control) == Some(wanted)
        }
        Sort::Radio => is_on(control) == Some(true),
        _ => false,
    }
}

fn is_on(control: &Control<'_>) -> Option<bool> {
    let on = control.element.is(apprentice_protocol::State::Checked);
    let off = control.element.is(apprentice_protocol::State::Unchecked);
    (on || off).then_some(on)
}

/// Returns the edit of a cell if the instruction names its row and column.
fn edit(sheet: &Sheet<'_>, told: &Told, control: &Control<'_>, open: &[usize]) -> Option<Deed> {
    let row = control.row?;
    let head = sheet.columns_of(row).get(control.column)?.clone();
    let texts = sheet.texts_of(row);
    let own = control.element.name.trim();
    let named = texts.iter().any(|text| text.chars().count() > 1 && text.trim() != own && told.names(text));
    let given = told.given(&head, Holds::Text).filter(|_| named)?;
    if texts.iter().any(|text| same_label(text, &given.value) && text.trim() != own) {
        return None;
    }
    let clause = told.clause_at(given.span.start)?;
    let clause = asking(told, open, clause)?;
    let what = if own == given.value { What::Fine } else { What::Edit(given.value.clone()) };
    (given.score >= SURE).then(|| deed(clause, what, Some(given.span), given.score + 0.8))
}

/// Returns the fill action for a value without a matching label: it goes into the only empty field.
pub(super) fn lone_field(
    sheet: &Sheet<'_>,
    told: &Told,
    clause: usize,
    used: &[Range<usize>],
) -> Option<Deed> {
    let is_free = |control: &&(usize, &Control<'_>)| {
        control.1.sort == Sort::Field
            && !looks_up(control.1)
            && control.1.element.value.as_deref().unwrap_or_default().is_empty()
    };
    let controls: Vec<(usize, &Control<'_>)> = sheet.controls.iter().enumerate().collect();
    let free: Vec<_> = controls.iter().filter(is_free).collect();
    let [(at, _)] = free.as_slice() else { return None };
    let given = told.object(&told.clauses[clause], used)?;
    if sheet.controls.iter().any(|control| super::explore::holds(&control.label, &given.value)) {
        return None;
    }
    Some(Deed { control: *at, ..deed(clause, What::Fill(given.value), Some(given.span), given.score) })
}

/// Returns the button near a field that accepts the typed text.
pub(super) fn taking<'a, 's>(sheet: &'a Sheet<'s>, field: &Control<'_>) -> Option<&'a Control<'s>> {
    let at = field.element.at?;
    sheet.controls.iter().find(|control| {
        control.sort == Sort::Button
            && (TAKING.contains(&first(&control.label).as_str()) || control.label.trim() == "+")
            && control.element.at.is_some_and(|place| (place.y - at.y).abs() <= 60.0)
    })
}

/// Returns the control that commits changes: the one that the clause names, else one with a usual label.
pub(super) fn committing<'a, 's>(sheet: &'a Sheet<'s>, clause: Option<&Clause>) -> Option<&'a Control<'s>> {
    let pressable = |control: &&Control<'_>| matches!(control.sort, Sort::Button | Sort::Item);
    let usual = || sheet.controls.iter().filter(pressable).filter(|control| commits(&control.label));
    let score =
        |control: &&Control<'_>| clause.map_or(0.0, |clause| clause.words.fit(&control.label).score());
    let rank = |control: &&Control<'_>| COMMITTING.iter().position(|word| *word == first(&control.label));
    let best =
        usual().max_by(|one, other| score(one).total_cmp(&score(other)).then(rank(other).cmp(&rank(one))));
    let named = clause.and_then(|clause| {
        let fits = |control: &&Control<'_>| {
            clause.words.fit(&control.label).share >= 0.99 && clause.words.fit(&control.label).matched > 0.3
        };
        sheet.controls.iter().filter(pressable).find(fits)
    });
    named.or(best)
}

/// Returns the button that confirms a dialog.
pub(super) fn assenting<'a, 's>(sheet: &'a Sheet<'s>, clause: Option<&Clause>) -> Option<&'a Control<'s>> {
    let buttons =
        || sheet.controls.iter().filter(|control| control.sort == Sort::Button && !control.label.is_empty());
    let refuses = |control: &&Control<'_>| NO.contains(&first(&control.label).as_str());
    let asked = clause.and_then(|clause| {
        let score = |control: &Control<'_>| clause.words.fit(&control.label).matched;
        buttons()
            .filter(|control| !refuses(control) && score(control) > 0.3)
            .max_by(|one, other| score(one).total_cmp(&score(other)))
    });
    let usual = YES.iter().find_map(|word| buttons().find(|control| first(&control.label) == *word));
    usual
        .or(asked)
        .or_else(|| buttons().rfind(|control| !refuses(control) && control.label.chars().count() > 1))
}

/// Returns the button that leaves a dialog without changes.
pub(super) fn refusing<'a, 's>(sheet: &'a Sheet<'s>) -> Option<&'a Control<'s>> {
    NO.iter().find_map(|word| {
        sheet.controls.iter().find(|control| control.sort == Sort::Button && first(&control.label) == *word)
    })
}
