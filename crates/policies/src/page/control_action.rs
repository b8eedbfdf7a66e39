//! Matches visible controls to the clauses of an instruction and decides what to do with each control.

use std::ops::Range;

use apprentice_protocol::NodeRef;

use super::super::control_match::MatchThreshold;
use super::super::text_match::{MatchScore, content, holds, plain, same_label};
use super::button::{REFUSING_WORDS, first};
use super::date::date;
use super::instruction::{AssignedValue, InstructionClause, Intent, ParsedInstruction, is_commit_verb};
use super::list_order;
use super::page_view::{FrontSurface, PageControl, PageControlKind, PageView};
use super::token::FieldType;

/// Verbs that add an entry to a collection.
const ADDING: &[&str] = &["add", "put", "append", "insert", "include", "enter", "list"];
/// Verbs that open what they name.
const OPENING: &[&str] =
    &["open", "go", "show", "visit", "click", "press", "choose", "select", "pick", "use"];
/// The largest number of controls on a page where a partial label match is trusted.
const SMALL_PAGE: usize = 12;
/// The score from which a value is taken to belong to a label.
const MIN_VALUE_SCORE: f32 = 0.55;

/// The action for a control.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ControlOp {
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
pub(super) struct ControlAction {
    /// The index of the clause.
    pub(super) clause: usize,
    /// The index of the control in the page view.
    pub(super) control: usize,
    pub(super) what: ControlOp,
    /// The tokens of the value in the instruction, if one is used.
    pub(super) span: Option<Range<usize>>,
    /// The match score; higher is better.
    pub(super) score: f32,
}

/// Returns whether a clause asks to commit changes.
pub(super) fn is_commit(clause: &InstructionClause) -> bool {
    is_commit_verb(&clause.verb) && clause.commands && clause.ask == Intent::Request
}

/// Returns whether a clause adds an entry to a collection.
pub(super) fn is_adding(clause: &InstructionClause) -> bool {
    ADDING.contains(&clause.verb.as_str())
}

/// Returns how well a control matches a clause; `None` if it does not. A quoted text must occur in the label as a
/// whole.
fn answers(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    clause: &InstructionClause,
    control: &PageControl<'_>,
) -> Option<f32> {
    let quotes = parsed.quotes(clause);
    let spelled = quotes.is_empty() || quotes.iter().any(|quote| holds(&control.label, quote));
    let words =
        if spelled { clause.words.clone() } else { clause.words.without(&content(&quotes.join(" "))) };
    let own = words.fit(&control.label);
    let place = words.without(&content(&control.label)).fit(&control.place);
    let helped = own.matched >= 0.9 && place.share >= 0.6 && place.matched >= 0.9;
    let alone = page.controls.len() <= SMALL_PAGE
        && control.sort == PageControlKind::Switch
        && own.share >= 0.5
        && own.matched >= 0.9;
    let well =
        MatchThreshold::Partial.accepts(own) || helped || alone || own.share >= 0.5 && own.matched >= 1.6;
    well.then(|| own.score() + 0.4 * place.score())
}

/// The relation of a control's row to the instruction.
enum RowMatch {
    /// The control is in no row, or its label is unique.
    Unrelated,
    /// The instruction names this row.
    This,
    /// The instruction means another row.
    Other,
}

fn row_says(page: &PageView<'_>, parsed: &ParsedInstruction, control: &PageControl<'_>) -> RowMatch {
    let Some(row) = control.row else { return RowMatch::Unrelated };
    let named = page
        .texts_of(row)
        .iter()
        .any(|text| text.chars().count() > 1 && parsed.names(text) && !same_label(text, &control.label));
    match (named, page.same_label_count(control) > 1) {
        (true, _) => RowMatch::This,
        (false, true) => RowMatch::Other,
        (false, false) => RowMatch::Unrelated,
    }
}

/// Returns the actions for all visible controls that match an open clause, including those that already have the
/// wanted state.
pub(super) fn candidates(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    open: &[usize],
    used: &[Range<usize>],
    may: &dyn Fn(&ControlOp, &NodeRef) -> bool,
) -> Vec<ControlAction> {
    let mut found = Vec::new();
    for (at, control) in page.controls.iter().enumerate() {
        let candidate = match control.sort {
            PageControlKind::Field | PageControlKind::Number | PageControlKind::Date => {
                fill(page, parsed, control, open, used)
            }
            PageControlKind::Combo => unfold(parsed, control, open),
            PageControlKind::Button
                if control.element.is(apprentice_protocol::State::Collapsed)
                    && !control.caption.is_empty() =>
            {
                unfold_captioned(parsed, control, open)
            }
            PageControlKind::Switch
            | PageControlKind::Radio
            | PageControlKind::Item
            | PageControlKind::Button
            | PageControlKind::Tab
            | PageControlKind::Link
            | PageControlKind::Entry => {
                let orders =
                    |at: &usize| list_order::is_in_order(page, parsed, &parsed.clauses[*at]).is_some();
                let open: Vec<usize> = open.iter().copied().filter(|at| !orders(at)).collect();
                click(page, parsed, control, &open)
            }
            PageControlKind::Cell => edit(page, parsed, control, open),
        };
        let candidate = candidate.filter(|candidate| may(&candidate.what, &control.element.id));
        found.extend(candidate.map(|candidate| ControlAction { control: at, ..candidate }));
    }
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    keep_best(page, parsed, found)
}

/// Keeps the best action of those that would use the same value or match the same clause less well.
fn keep_best(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    found: Vec<ControlAction>,
) -> Vec<ControlAction> {
    let mut kept: Vec<ControlAction> = Vec::new();
    let states = |candidate: &ControlAction| candidate.span.is_none();
    for candidate in found {
        let control = &page.controls[candidate.control];
        let whole = parsed.clauses[candidate.clause].words.fit(&control.label).share >= 0.99;
        let weaker = states(&candidate)
            && kept.iter().any(|better| {
                states(better) && better.clause == candidate.clause && better.score > candidate.score + 0.001
            });
        let beside = match control.sort {
            PageControlKind::Switch => page.same_label_count(control) == 1,
            PageControlKind::Button => true,
            _ => false,
        };
        if weaker && !(whole && beside) {
            continue;
        }
        let overlaps =
            |span: &Range<usize>, other: &Range<usize>| span.start < other.end && other.start < span.end;
        let taken = candidate.span.as_ref().is_some_and(|span| {
            kept.iter().filter_map(|candidate| candidate.span.as_ref()).any(|other| overlaps(span, other))
        });
        if !taken {
            kept.push(candidate);
        }
    }
    kept
}

/// Returns the open clause that uses a value of this clause: the clause itself, or a later one.
fn asking(parsed: &ParsedInstruction, open: &[usize], clause: usize) -> Option<usize> {
    let later = |at: &usize| *at > clause && !is_commit(&parsed.clauses[*at]);
    if open.contains(&clause) { Some(clause) } else { open.iter().copied().find(later) }
}

fn candidate(clause: usize, what: ControlOp, span: Option<Range<usize>>, score: f32) -> ControlAction {
    ControlAction { clause, control: 0, what, span, score }
}

fn kind_of(control: &PageControl<'_>) -> FieldType {
    match control.sort {
        PageControlKind::Number => FieldType::Number,
        PageControlKind::Date => FieldType::Date,
        _ => FieldType::Text,
    }
}

/// Returns whether a field is for searching rather than for data.
pub(super) fn looks_up(control: &PageControl<'_>) -> bool {
    control.element.role == "searchbox"
        || plain(&control.label).iter().any(|word| matches!(word.as_str(), "search" | "find" | "filter"))
}

fn fill(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    control: &PageControl<'_>,
    open: &[usize],
    used: &[Range<usize>],
) -> Option<ControlAction> {
    let given = value_for(page, parsed, control)?;
    let clause = parsed.clause_at(given.span.start)?;
    let asked = asking(parsed, open, clause);
    let held = control.element.value.as_deref().unwrap_or_default().trim();
    let what = match (control.sort, date(&given.value)) {
        _ if held == given.value => ControlOp::Fine,
        (PageControlKind::Date, Some(parts)) => ControlOp::Date(parts),
        (PageControlKind::Date, None) => return None,
        _ => ControlOp::Fill(given.value.clone()),
    };
    let free = !used.iter().any(|span| span.start < given.span.end && given.span.start < span.end);
    let looked_up = looks_up(control) && !matches!(parsed.clauses[clause].verb.as_str(), "search" | "find");
    let is_label = page.controls.iter().any(|other| same_label(&other.label, &given.value));
    (given.score >= MIN_VALUE_SCORE && (free || what == ControlOp::Fine) && !looked_up && !is_label)
        .then(|| asked.map(|clause| candidate(clause, what, Some(given.span), given.score + 1.0)))?
}

/// Returns the value that the instruction gives to a field: by its label, its column, or the heading above it.
fn value_for(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    control: &PageControl<'_>,
) -> Option<AssignedValue> {
    let kind = kind_of(control);
    match row_says(page, parsed, control) {
        RowMatch::Other => return None,
        RowMatch::This => {
            let head =
                control.row.map(|row| page.columns_of(row)).unwrap_or_default().get(control.column).cloned();
            if let Some(given) = head.and_then(|head| parsed.given(&head, kind)) {
                return Some(given);
            }
        }
        RowMatch::Unrelated => {}
    }
    let by_label = parsed.given(&control.label, kind);
    let by_place = || {
        let alone = page
            .controls
            .iter()
            .filter(|other| other.sort == control.sort && other.place == control.place)
            .count()
            == 1;
        let spelled = |given: &AssignedValue| given.score >= 1.2 && alone && !control.place.trim().is_empty();
        let given = parsed.given(&control.place, kind).filter(spelled);
        given.map(|given| AssignedValue { score: given.score * 0.75, ..given })
    };
    let dated = || {
        (kind == FieldType::Date)
            .then(|| parsed.left(&[]).into_iter().find(|given| date(&given.value).is_some()))?
    };
    by_label.or_else(by_place).or_else(|| dated().map(|given| AssignedValue { score: 0.9, ..given }))
}

fn unfold(parsed: &ParsedInstruction, control: &PageControl<'_>, open: &[usize]) -> Option<ControlAction> {
    let given = parsed
        .given(&control.label, FieldType::Text)
        .or_else(|| parsed.given(&control.place, FieldType::Text))?;
    choosing(parsed, control, open, given)
}

fn unfold_captioned(
    parsed: &ParsedInstruction,
    control: &PageControl<'_>,
    open: &[usize],
) -> Option<ControlAction> {
    let given = parsed.given(&control.caption, FieldType::Text).filter(|given| given.score >= 1.2)?;
    choosing(parsed, control, open, given)
}

fn choosing(
    parsed: &ParsedInstruction,
    control: &PageControl<'_>,
    open: &[usize],
    given: AssignedValue,
) -> Option<ControlAction> {
    let clause = parsed.clause_at(given.span.start)?;
    let clause = asking(parsed, open, clause)?;
    let shown = control.element.value.clone().unwrap_or_default();
    let now = if control.sort == PageControlKind::Combo { shown } else { control.element.name.clone() };
    let what =
        if same_label(&now, &given.value) { ControlOp::Fine } else { ControlOp::Unfold(given.value.clone()) };
    (given.score >= MIN_VALUE_SCORE).then(|| candidate(clause, what, Some(given.span), given.score + 0.6))
}

fn click(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    control: &PageControl<'_>,
    open: &[usize],
) -> Option<ControlAction> {
    let row = row_says(page, parsed, control);
    if matches!(row, RowMatch::Other) {
        return None;
    }
    let in_row = matches!(row, RowMatch::This);
    let mut best: Option<ControlAction> = None;
    for at in open.iter().copied() {
        let clause = &parsed.clauses[at];
        let sets = matches!(control.sort, PageControlKind::Switch | PageControlKind::Radio);
        if is_commit(clause) && !matches!(control.sort, PageControlKind::Button | PageControlKind::Item)
            || sets && is_adding(clause)
        {
            continue;
        }
        let Some(score) = score_of(page, parsed, clause, control, in_row) else { continue };
        if best.as_ref().is_none_or(|best| score > best.score + 0.001) {
            let fine = is_as_asked(parsed, clause, control);
            best = Some(candidate(at, if fine { ControlOp::Fine } else { ControlOp::Click }, None, score));
        }
    }
    best
}

fn score_of(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    clause: &InstructionClause,
    control: &PageControl<'_>,
    in_row: bool,
) -> Option<f32> {
    let own: MatchScore = clause.words.fit(&control.label);
    let spelled = parsed.names(&control.label)
        && plain(&clause.text)
            .windows(plain(&control.label).len().max(1))
            .any(|run| run == plain(&control.label));
    let by_row = (in_row && own.matched > 0.3).then_some(own.score() + 1.0);
    let score = answers(page, parsed, clause, control).or(by_row).or(spelled.then_some(1.2))?;
    match control.sort {
        PageControlKind::Switch | PageControlKind::Radio => Some(score + 0.3),
        PageControlKind::Item => (own.share >= 0.99 || spelled).then_some(score + 0.3),
        PageControlKind::Button => {
            let folded =
                control.element.is(apprentice_protocol::State::Collapsed) || control.element.promises();
            let opened = page.front == FrontSurface::Page && folded;
            let no = REFUSING_WORDS.contains(&first(&control.label).as_str()) && own.share < 0.99;
            (!opened && !no).then_some(score)
        }
        PageControlKind::Tab | PageControlKind::Link | PageControlKind::Entry => {
            let opens = OPENING.contains(&clause.verb.as_str())
                && (own.share >= 0.99 && own.matched >= 0.6 || spelled);
            (opens && !control.element.is(apprentice_protocol::State::Selected)).then_some(score * 0.8)
        }
        PageControlKind::Field
        | PageControlKind::Number
        | PageControlKind::Date
        | PageControlKind::Combo
        | PageControlKind::Cell => None,
    }
}

/// Returns whether a toggle already has the state that the clause requests.
fn is_as_asked(parsed: &ParsedInstruction, clause: &InstructionClause, control: &PageControl<'_>) -> bool {
    match control.sort {
        PageControlKind::Switch => {
            let reversed = plain(&control.label)
                .iter()
                .any(|word| matches!(word.as_str(), "hide" | "disable" | "never" | "block" | "don" | "mute"));
            let asked_so = clause.words.fit(&first(&control.label)).matched > 0.0;
            let off = parsed.is_off(clause, &control.label);
            let wanted = if reversed && !asked_so { off } else { !off };
            is_on(control) == Some(wanted)
        }
        PageControlKind::Radio => is_on(control) == Some(true),
        _ => false,
    }
}

fn is_on(control: &PageControl<'_>) -> Option<bool> {
    let on = control.element.is(apprentice_protocol::State::Checked);
    let off = control.element.is(apprentice_protocol::State::Unchecked);
    (on || off).then_some(on)
}

/// Returns the edit of a cell if the instruction names its row and column.
fn edit(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    control: &PageControl<'_>,
    open: &[usize],
) -> Option<ControlAction> {
    let row = control.row?;
    let head = page.columns_of(row).get(control.column)?.clone();
    let texts = page.texts_of(row);
    let own = control.element.name.trim();
    let named = texts.iter().any(|text| text.chars().count() > 1 && text.trim() != own && parsed.names(text));
    let given = parsed.given(&head, FieldType::Text).filter(|_| named)?;
    if texts.iter().any(|text| same_label(text, &given.value) && text.trim() != own) {
        return None;
    }
    let clause = parsed.clause_at(given.span.start)?;
    let clause = asking(parsed, open, clause)?;
    let what = if own == given.value { ControlOp::Fine } else { ControlOp::Edit(given.value.clone()) };
    (given.score >= MIN_VALUE_SCORE).then(|| candidate(clause, what, Some(given.span), given.score + 0.8))
}

/// Returns the fill action for a value without a matching label: it goes into the only empty field.
pub(super) fn lone_field(
    page: &PageView<'_>,
    parsed: &ParsedInstruction,
    clause: usize,
    used: &[Range<usize>],
) -> Option<ControlAction> {
    let is_free = |control: &&(usize, &PageControl<'_>)| {
        control.1.sort == PageControlKind::Field
            && !looks_up(control.1)
            && control.1.element.value.as_deref().unwrap_or_default().is_empty()
    };
    let controls: Vec<(usize, &PageControl<'_>)> = page.controls.iter().enumerate().collect();
    let free: Vec<_> = controls.iter().filter(is_free).collect();
    let [(at, _)] = free.as_slice() else { return None };
    let given = parsed.object(&parsed.clauses[clause], used)?;
    if page.controls.iter().any(|control| holds(&control.label, &given.value)) {
        return None;
    }
    Some(ControlAction {
        control: *at,
        ..candidate(clause, ControlOp::Fill(given.value), Some(given.span), given.score)
    })
}
