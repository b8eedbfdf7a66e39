//! Matches a page against an instruction or a skill: the cell, the field or the control that is meant. It does not
//! search; the policies that follow skills use it too.

use apprentice_protocol::NodeRef;

use super::super::guidance::{self, Step};
use super::super::scene::Scene;
use super::control_action::{self, ControlOp};
use super::instruction::{Intent, ParsedInstruction};
use super::page_view::PageView;

/// Returns the labels and addresses that skills name, in order.
pub(super) fn hints(notes: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for step in notes.iter().flat_map(|note| guidance::read_all(note)) {
        match step {
            Step::Path(labels) | Step::Labels(labels) => {
                found.extend(labels.into_iter().map(|label| label.text));
            }
            Step::Visit(address) => found.push(address),
            Step::Fill(_) | Step::Context(_) | Step::Keys(_) | Step::Pick | Step::Cell | Step::Maybe(_) => {}
        }
    }
    found
}

/// Returns the cell that an instruction means, by the names of its row and column, with its new text.
pub(in super::super) fn cell_for(scene: &Scene, instruction: &str) -> Option<(NodeRef, String)> {
    let (page, parsed) = (PageView::read(scene)?, ParsedInstruction::read(instruction));
    let open: Vec<usize> = (0..parsed.clauses.len()).collect();
    control_action::candidates(&page, &parsed, &open, &[], &|_, _| true).into_iter().find_map(|candidate| {
        match candidate.what {
            ControlOp::Edit(text) => Some((page.controls[candidate.control].element.id.clone(), text)),
            ControlOp::Fine
            | ControlOp::Fill(_)
            | ControlOp::Date(_)
            | ControlOp::Click
            | ControlOp::Unfold(_) => None,
        }
    })
}

/// Returns the field that an instruction has a value for, with the value.
pub(in super::super) fn field_for(scene: &Scene, instruction: &str) -> Option<(NodeRef, String)> {
    let (page, parsed) = (PageView::read(scene)?, ParsedInstruction::read(instruction));
    let open: Vec<usize> = (0..parsed.clauses.len()).collect();
    let alone = || open.iter().find_map(|at| control_action::lone_field(&page, &parsed, *at, &[]));
    let mut found =
        control_action::candidates(&page, &parsed, &open, &[], &|_, _| true).into_iter().chain(alone());
    found.find_map(|candidate| match candidate.what {
        ControlOp::Fill(text) => Some((page.controls[candidate.control].element.id.clone(), text)),
        ControlOp::Fine
        | ControlOp::Edit(_)
        | ControlOp::Date(_)
        | ControlOp::Click
        | ControlOp::Unfold(_) => None,
    })
}

/// Returns the control that an instruction asks for, with its label. The reference is `None` if the control already
/// has the wanted state.
pub(in super::super) fn choice_for(scene: &Scene, instruction: &str) -> Option<(Option<NodeRef>, String)> {
    let (page, parsed) = (PageView::read(scene)?, ParsedInstruction::read(instruction));
    let open: Vec<usize> =
        (0..parsed.clauses.len()).filter(|at| parsed.clauses[*at].ask != Intent::Statement).collect();
    let candidates = control_action::candidates(&page, &parsed, &open, &[], &|_, _| true);
    let best = candidates.iter().find(|candidate| {
        candidate.span.is_none() && matches!(candidate.what, ControlOp::Click | ControlOp::Fine)
    })?;
    let control = &page.controls[best.control];
    let press = (best.what == ControlOp::Click).then(|| control.element.id.clone());
    Some((press, control.label.clone()))
}
