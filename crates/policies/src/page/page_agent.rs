//! The `explorer` policy on web pages, turn by turn: it acts on visible controls that match first, then searches, then
//! commits the changes. A change counts as done only after it was observed.

use std::ops::Range;

use apprentice_protocol::{Action, Button, Finish, ImagePoint, NodeRef};

use super::super::actions::{click, fill, key, quoted, wait};
use super::super::policy::Move;
use super::super::scene::Scene;
use super::super::text_match::{KeyTerms, holds, same_label};
use super::super::transcript::{Transcript, Turn};
use super::button;
use super::control_action::{self, ControlAction, ControlOp};
use super::date::date_actions;
use super::explore::{ExploreContext, PageExplorer, fingerprint};
use super::instruction::{Intent, ParsedInstruction};
use super::list_order::{self, ListOrdering};
use super::matching::hints;
use super::page_view::{FrontSurface, PageControl, PageControlKind, PageView, address_field, is_blank};

mod closing;

/// Number of world actions after which it stops searching and finishes with what it has.
const MAX_ACTIONS: u32 = 37;
/// The largest number of times an action is tried on the same control.
const MAX_TRIES: usize = 2;

/// The expected follow-up of the last text input.
#[derive(Clone, Debug, PartialEq)]
enum PendingInput {
    /// A cell was opened for editing and expects its text.
    Cell { clause: usize, text: String },
    /// A text was typed into a field that accepts several entries, one after the other.
    Entry { field: NodeRef, text: String, tries: u32 },
}

/// The state of the `explorer` policy on web pages in one attempt.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct PageAgent {
    parsed: ParsedInstruction,
    hints: Vec<String>,
    done: Vec<bool>,
    used: Vec<Range<usize>>,
    tried: Vec<(String, NodeRef)>,
    typed: Option<PendingInput>,
    roam: PageExplorer,
    search_clause: Option<usize>,
    ordering: ListOrdering,
    changed: bool,
    committed: bool,
    unfolded: Option<(usize, String)>,
    waited: u32,
    /// The key of the page on which it last checked for more content.
    seen: String,
    print: String,
    growing: u32,
    /// The clause on which it last acted.
    last: Option<usize>,
    given_up: Vec<usize>,
    worked: Vec<usize>,
    acted: u32,
}

impl PageAgent {
    /// Creates an agent for this instruction and these skills.
    pub(in super::super) fn new(instruction: &str, notes: &[&str]) -> Self {
        let parsed = ParsedInstruction::read(instruction);
        Self { done: vec![false; parsed.clauses.len()], hints: hints(notes), parsed, ..Self::default() }
    }

    /// Returns whether a scene shows a page in a browser.
    pub(in super::super) fn handles(transcript: &Transcript, scene: &Scene) -> bool {
        (transcript.browser || address_field(scene).is_some()) && PageView::read(scene).is_some()
    }

    /// Returns whether a page is still loading.
    pub(in super::super) fn is_page_loading(scene: &Scene) -> bool {
        scene.is_loading() && !is_blank(scene)
    }

    /// Returns its decision for one turn; `None` if the scene contains no page.
    pub(in super::super) fn turn(
        &mut self,
        transcript: &Transcript,
        turn: &Turn,
        acted: u32,
    ) -> Option<Move> {
        let (scene, browser) = (&turn.scene, transcript.browser);
        let page = PageView::read(scene)?;
        self.acted = acted;
        if let Some(last) = self.last.take().filter(|_| !turn.problems.is_empty()) {
            self.done[last] = false;
        }
        if let Some(found) = self.typed(&page) {
            return Some(found);
        }
        let open = self.open();
        let spent = |what: &ControlOp, id: &NodeRef| self.is_spent(what, id);
        let candidates = control_action::candidates(&page, &self.parsed, &open, &self.used, &|what, id| {
            !matches!(what, ControlOp::Edit(_) | ControlOp::Unfold(_)) || !spent(what, id)
        });
        self.mark_done(&page, &candidates);
        if let Some(found) = self.answer(&page, &candidates) {
            return Some(found);
        }
        if page.front == FrontSurface::Dialog
            && let Some(found) = self.dialog(&page)
        {
            return Some(found);
        }
        loop {
            let wishes: Vec<usize> = self.open().into_iter().filter(|at| self.is_wish(*at)).collect();
            let first =
                wishes.iter().copied().find(|at| !control_action::is_commit(&self.parsed.clauses[*at]));
            let wish = first.or_else(|| wishes.first().copied());
            if first.is_none()
                && let Some(found) = self.commit(&page, wish)
            {
                return Some(found);
            }
            let Some(wish) = wish.filter(|wish| self.acted < MAX_ACTIONS && !self.done[*wish]) else {
                return Some(self.finish(&page));
            };
            if let Some(found) = self.search(&page, wish, browser) {
                return Some(found);
            }
            self.given_up.push(wish);
        }
    }

    fn is_wish(&self, clause: usize) -> bool {
        self.parsed.clauses[clause].ask == Intent::Request
    }

    /// Returns the clauses that may still be matched.
    fn open(&self) -> Vec<usize> {
        let is_open = |at: &usize| {
            !self.done[*at]
                && !self.given_up.contains(at)
                && self.parsed.clauses[*at].ask != Intent::Statement
        };
        (0..self.parsed.clauses.len()).filter(is_open).collect()
    }

    /// Marks the clauses that are satisfied.
    fn mark_done(&mut self, page: &PageView<'_>, candidates: &[ControlAction]) {
        for at in self.open() {
            let clause = &self.parsed.clauses[at];
            if list_order::is_in_order(page, &self.parsed, clause) == Some(true) {
                self.done[at] = true;
            }
            let mine = || candidates.iter().filter(|candidate| candidate.clause == at);
            for span in mine()
                .filter(|candidate| candidate.what == ControlOp::Fine)
                .filter_map(|candidate| candidate.span.clone())
            {
                if !self.used.contains(&span) {
                    self.used.push(span);
                }
            }
            let goes_with = clause.refers
                && !control_action::is_commit(clause)
                && at > 0
                && (self.done[at - 1] || self.worked.contains(&(at - 1)));
            let begun = goes_with
                || self.worked.contains(&at)
                || mine().next().is_some_and(|candidate| candidate.what == ControlOp::Fine);
            let more = mine().any(|candidate| {
                candidate.what != ControlOp::Fine && self.may_try(page, candidate) && candidate.score > 0.9
            });
            let spelled = self
                .parsed
                .left(&self.used)
                .into_iter()
                .any(|left| clause.span.contains(&left.span.start) && !self.is_label(page, &left.value));
            let failed = self.tried.iter().any(|(what, id)| {
                what.starts_with("Edit")
                    && page.controls.iter().any(|control| control.element.id == *id)
                    && mine().next().is_none()
            });
            if begun && !more && !spelled && !failed {
                self.done[at] = true;
            }
        }
    }

    /// Returns whether a clause has literal values that no field has taken.
    fn waits_for_values(&self, clause: usize) -> bool {
        let span = &self.parsed.clauses[clause].span;
        self.parsed.left(&self.used).iter().any(|left| span.contains(&left.span.start))
    }

    fn is_label(&self, page: &PageView<'_>, text: &str) -> bool {
        page.controls.iter().any(|control| holds(&control.label, text))
    }

    fn may_try(&self, page: &PageView<'_>, candidate: &ControlAction) -> bool {
        !self.is_spent(&candidate.what, &page.controls[candidate.control].element.id)
    }

    /// Returns whether the same action was tried on the same control often enough.
    fn is_spent(&self, what: &ControlOp, id: &NodeRef) -> bool {
        let key = (format!("{what:?}"), id.clone());
        let most = if matches!(what, ControlOp::Unfold(_)) { 1 } else { MAX_TRIES };
        self.tried.iter().filter(|tried| **tried == key).count() >= most
    }

    /// Performs the best visible action: fields before switches before buttons. Commit buttons are excluded.
    fn answer(&mut self, page: &PageView<'_>, candidates: &[ControlAction]) -> Option<Move> {
        let ready = |candidate: &&ControlAction| {
            let late = control_action::is_commit(&self.parsed.clauses[candidate.clause]);
            candidate.what != ControlOp::Fine && !late && self.may_try(page, candidate)
        };
        let rank = |candidate: &ControlAction| match page.controls[candidate.control].sort {
            PageControlKind::Field
            | PageControlKind::Number
            | PageControlKind::Date
            | PageControlKind::Combo
            | PageControlKind::Cell => 0,
            PageControlKind::Switch | PageControlKind::Radio | PageControlKind::Item => 1,
            PageControlKind::Tab | PageControlKind::Link | PageControlKind::Entry => 2,
            PageControlKind::Button if candidate.what == ControlOp::Click => 3,
            PageControlKind::Button => 0,
        };
        let best = candidates
            .iter()
            .filter(ready)
            .min_by(|one, other| rank(one).cmp(&rank(other)).then(other.score.total_cmp(&one.score)));
        let presses = best.is_none_or(|candidate| rank(candidate) == 3);
        if presses && let Some(found) = self.fill_only_field(page) {
            return Some(found);
        }
        if let Some(candidate) = best.cloned() {
            let key = (format!("{:?}", candidate.what), page.controls[candidate.control].element.id.clone());
            let waited = ("waited".to_owned(), key.1.clone());
            if self.tried.contains(&key) && !self.tried.contains(&waited) {
                self.tried.push(waited);
                return Some(wait("It may not show yet."));
            }
            return Some(self.act(page, &candidate));
        }
        if page.front == FrontSurface::Popup
            && let Some(found) = self.choose_unfolded(page)
        {
            return Some(found);
        }
        for at in self.open() {
            let clause = self.parsed.clauses[at].clone();
            if let Some(found) = self.ordering.next(page, &self.parsed, &clause) {
                self.changed = true;
                self.committed = false;
                return Some(found);
            }
        }
        None
    }

    /// Types a value without a matching label into the only empty field.
    fn fill_only_field(&mut self, page: &PageView<'_>) -> Option<Move> {
        let lone = |at: usize| control_action::lone_field(page, &self.parsed, at, &self.used);
        let candidate =
            self.open().into_iter().find_map(lone).filter(|candidate| self.may_try(page, candidate))?;
        Some(self.act(page, &candidate))
    }

    /// In a list that was opened for a value, chooses the entry that matches it best.
    fn choose_unfolded(&mut self, page: &PageView<'_>) -> Option<Move> {
        let (clause, value) = self.unfolded.take()?;
        let wanted = KeyTerms::of(&value);
        let score = |control: &PageControl<'_>| {
            let same = same_label(&control.label, &value);
            let named = self.parsed.names(&control.label);
            wanted.fit(&control.label).score() + if same { 3.0 } else { 0.0 } + if named { 0.5 } else { 0.0 }
        };
        let control = page
            .controls
            .iter()
            .filter(|control| control.sort == PageControlKind::Item && score(control) > 0.3)
            .max_by(|one, other| score(one).total_cmp(&score(other)))?;
        self.worked.push(clause);
        self.changed = true;
        self.committed = false;
        Some(Move::Act {
            say: format!("{} is what is asked for.", quoted(&control.label)),
            actions: vec![click(control.element, Button::Left, 1)],
        })
    }

    fn act(&mut self, page: &PageView<'_>, candidate: &ControlAction) -> Move {
        let control = &page.controls[candidate.control];
        self.tried.push((format!("{:?}", candidate.what), control.element.id.clone()));
        self.changed |= !matches!(control.sort, PageControlKind::Link | PageControlKind::Tab);
        self.committed = false;
        if let Some(span) = candidate.span.clone().filter(|_| !matches!(candidate.what, ControlOp::Edit(_))) {
            self.used.push(span);
        }
        let clause = &self.parsed.clauses[candidate.clause];
        // A press that opens another surface does not complete a request for an on/off state.
        let leads = control.sort == PageControlKind::Button
            && candidate.what == ControlOp::Click
            && (self.parsed.is_off(clause, &control.label) || is_state(&clause.verb));
        if !leads {
            self.worked.push(candidate.clause);
        }
        self.last = Some(candidate.clause);
        let spelled =
            self.parsed.left(&self.used).into_iter().filter(|left| holds(&control.label, &left.value));
        let spelled: Vec<Range<usize>> = spelled.map(|left| left.span).collect();
        self.used.extend(spelled);
        let label = quoted(&control.label);
        match &candidate.what {
            ControlOp::Fill(text) => self.fill(page, candidate.clause, control, text),
            ControlOp::Date(parts) => Move::Act {
                say: format!("The date goes into {label}."),
                actions: date_actions(page, control, *parts),
            },
            ControlOp::Unfold(value) => {
                self.unfolded = Some((candidate.clause, value.clone()));
                Move::Act {
                    say: format!("{label} must offer {}.", quoted(value)),
                    actions: vec![click(control.element, Button::Left, 1)],
                }
            }
            ControlOp::Edit(text) => {
                self.typed = Some(PendingInput::Cell { clause: candidate.clause, text: text.clone() });
                Move::Act {
                    say: format!("The cell {label} must hold {}.", quoted(text)),
                    actions: vec![click(control.element, Button::Left, 2)],
                }
            }
            ControlOp::Click | ControlOp::Fine => {
                let committing = control.sort == PageControlKind::Button;
                self.done[candidate.clause] |=
                    committing && !leads && !self.waits_for_values(candidate.clause)
                        || matches!(control.sort, PageControlKind::Link | PageControlKind::Tab);
                self.committed = committing && button::commits(&control.label);
                Move::Act {
                    say: format!("{label} answers what is asked."),
                    actions: vec![click(control.element, Button::Left, 1)],
                }
            }
        }
    }

    fn fill(&mut self, page: &PageView<'_>, clause: usize, control: &PageControl<'_>, text: &str) -> Move {
        let say = format!("{} goes into {}.", quoted(text), quoted(&control.label));
        let empty = control.element.value.as_deref().unwrap_or_default().is_empty();
        let mut actions = fill(control.element, text);
        if empty {
            actions.retain(|action| !matches!(action, Action::Key { .. }));
        }
        let adds = control_action::is_adding(&self.parsed.clauses[clause])
            && control.sort == PageControlKind::Field
            && empty
            && !page.shows(text);
        let alone = page
            .controls
            .iter()
            .filter(|other| other.sort == PageControlKind::Field && !control_action::looks_up(other))
            .count()
            == 1;
        if adds && alone {
            let field = control.element.id.clone();
            self.typed = Some(PendingInput::Entry { field, text: text.to_owned(), tries: 0 });
        }
        Move::Act { say, actions }
    }

    /// Performs the follow-up of the last text input.
    fn typed(&mut self, page: &PageView<'_>) -> Option<Move> {
        match self.typed.take()? {
            PendingInput::Cell { clause, text } => {
                let field = page.controls.iter().find(|control| {
                    control.sort == PageControlKind::Field
                        && control.row.is_some()
                        && !control_action::looks_up(control)
                })?;
                let mut actions: Vec<Action<ImagePoint>> = key("ctrl+a").into_iter().collect();
                if !field.element.is(apprentice_protocol::State::Focused) {
                    actions.insert(0, click(field.element, Button::Left, 1));
                }
                actions.push(Action::Type { text: text.clone() });
                actions.extend(key("enter"));
                self.done[clause] = false;
                Some(Move::Act {
                    say: format!("{} goes into the cell, and Enter keeps it.", quoted(&text)),
                    actions,
                })
            }
            PendingInput::Entry { field, text, tries } => {
                if page.shows(&text) || tries > 1 {
                    return None;
                }
                let control = page.controls.iter().find(|control| control.element.id == field)?;
                if control.element.value.as_deref().unwrap_or_default().trim() != text {
                    return None;
                }
                let taking =
                    button::taking(page, control).filter(|_| tries == 0).map(|button| button.element);
                self.typed = Some(PendingInput::Entry { field, text: text.clone(), tries: tries + 1 });
                Some(match taking {
                    Some(button) => Move::Act {
                        say: format!("{} takes it.", quoted(&button.name)),
                        actions: vec![click(button, Button::Left, 1)],
                    },
                    None => Move::Act {
                        say: "Enter takes it.".into(),
                        actions: key("enter").into_iter().collect(),
                    },
                })
            }
        }
    }

    /// Returns whether a page that was just opened is still changing.
    fn is_growing(&mut self, page: &PageView<'_>) -> bool {
        let print = fingerprint(page);
        if self.seen != page.key && !is_blank(page.scene) && self.acted > 0 {
            self.growing = 3;
        }
        let grows = self.growing > 0 && self.print != print;
        self.growing = if grows { self.growing - 1 } else { 0 };
        self.seen.clone_from(&page.key);
        self.print = print;
        grows
    }

    /// Returns the next step of the search for a clause; `None` when everything reachable was opened.
    fn search(&mut self, page: &PageView<'_>, wish: usize, browser: bool) -> Option<Move> {
        let bare = page.scene.is_loading() || page.controls.is_empty();
        if self.waited < 2 && bare && !is_blank(page.scene) {
            self.waited += 1;
            return Some(wait("The page may still be loading."));
        }
        if self.is_growing(page) {
            return Some(wait("There may be more to this page in a moment."));
        }
        if self.search_clause != Some(wish) {
            self.search_clause = Some(wish);
            self.roam = PageExplorer::default();
        }
        let clause = self.parsed.clauses[wish].clone();
        let context = ExploreContext { parsed: &self.parsed, clause: &clause, hints: &self.hints, browser };
        self.roam.next(page, &context)
    }

    fn finish(&mut self, page: &PageView<'_>) -> Move {
        if page.front == FrontSurface::Popup && self.waited < 8 {
            self.waited += 4;
            return Move::Act {
                say: "The list is closed again.".into(),
                actions: key("escape").into_iter().collect(),
            };
        }
        let missing = (0..self.parsed.clauses.len()).find(|at| self.is_wish(*at) && !self.done[*at]);
        match missing.filter(|_| !self.changed && !self.done.contains(&true)) {
            None => Move::End { say: "Everything asked for is done.".into(), finish: Finish::Done },
            Some(clause) => {
                let reason = format!("Nothing in reach answers this: {}.", self.parsed.clauses[clause].text);
                Move::End { say: reason.clone(), finish: Finish::GiveUp { reason } }
            }
        }
    }
}

/// Returns whether a verb requests a state rather than an action.
fn is_state(verb: &str) -> bool {
    matches!(
        verb,
        "turn" | "switch" | "enable" | "disable" | "stop" | "hide" | "activate" | "deactivate" | "let"
    )
}
