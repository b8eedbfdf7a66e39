//! Closes what the `explorer` policy has begun on a page: answers its dialogs and commits its changes.

use apprentice_protocol::Button;

use super::super::super::actions::{click, quoted, wait};
use super::super::super::policy::Move;
use super::super::button;
use super::super::page_view::{FrontSurface, PageView};
use super::{MAX_TRIES, PageAgent};

impl PageAgent {
    /// Handles a dialog without anything left to fill in: confirms it if it results from the agent's own actions, else
    /// closes it.
    pub(super) fn dialog(&mut self, page: &PageView<'_>) -> Option<Move> {
        let ours = self.changed || !self.tried.is_empty();
        let clause = self.tried.last().and_then(|_| self.open().first().copied()).or(self
            .parsed
            .clauses
            .len()
            .checked_sub(1));
        let clause = clause.map(|at| self.parsed.clauses[at].clone());
        let button =
            if ours { button::confirm_button(page, clause.as_ref()) } else { button::cancel_button(page) };
        let button = button.filter(|control| {
            self.tried.iter().filter(|(what, id)| what == "dialog" && *id == control.element.id).count()
                < MAX_TRIES
        })?;
        let (pressed, waited) = (
            ("dialog".to_owned(), button.element.id.clone()),
            ("gone".to_owned(), button.element.id.clone()),
        );
        if self.tried.contains(&pressed) && !self.tried.contains(&waited) {
            self.tried.push(waited);
            return Some(wait("The dialog may be about to close."));
        }
        self.tried.push(pressed);
        Some(Move::Act {
            say: format!("{} answers the question.", quoted(&button.label)),
            actions: vec![click(button.element, Button::Left, 1)],
        })
    }

    /// Commits the changes if that is requested, or if a commit button is visible.
    pub(super) fn commit(&mut self, page: &PageView<'_>, asked: Option<usize>) -> Option<Move> {
        if self.committed || asked.is_none() && (!self.changed || page.front != FrontSurface::Page) {
            if let Some(asked) = asked {
                self.done[asked] = true;
            }
            return None;
        }
        let clause = asked.map(|at| self.parsed.clauses[at].clone());
        let control = button::committing(page, clause.as_ref())?;
        self.committed = true;
        if let Some(asked) = asked {
            self.done[asked] = true;
        }
        Some(Move::Act {
            say: format!("{} carries it through.", quoted(&control.label)),
            actions: vec![click(control.element, Button::Left, 1)],
        })
    }
}
