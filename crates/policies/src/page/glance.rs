//! What a page and an instruction, or a note, say at a glance: which cell, which field, which control. It
//! searches nothing; the students that follow notes use it too.

use apprentice_protocol::NodeRef;

use super::super::guidance::{self, Step};
use super::super::perceive::Scene;
use super::deed::{self, What};
use super::sheet::Sheet;
use super::told::{Ask, Told};

/// Labels and addresses that notes name, in order.
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

/// The cell that an instruction is about, by the names of its row and its column, and its new text.
pub(in super::super) fn cell_for(scene: &Scene, instruction: &str) -> Option<(NodeRef, String)> {
    let (sheet, told) = (Sheet::read(scene)?, Told::read(instruction));
    let open: Vec<usize> = (0..told.clauses.len()).collect();
    deed::deeds(&sheet, &told, &open, &[], &|_, _| true).into_iter().find_map(|deed| match deed.what {
        What::Edit(text) => Some((sheet.controls[deed.control].element.id.clone(), text)),
        What::Fine | What::Fill(_) | What::Date(_) | What::Click | What::Unfold(_) => None,
    })
}

/// The field of a page that an instruction has a value for, and the value.
pub(in super::super) fn field_for(scene: &Scene, instruction: &str) -> Option<(NodeRef, String)> {
    let (sheet, told) = (Sheet::read(scene)?, Told::read(instruction));
    let open: Vec<usize> = (0..told.clauses.len()).collect();
    let alone = || open.iter().find_map(|at| deed::lone_field(&sheet, &told, *at, &[]));
    let mut found = deed::deeds(&sheet, &told, &open, &[], &|_, _| true).into_iter().chain(alone());
    found.find_map(|deed| match deed.what {
        What::Fill(text) => Some((sheet.controls[deed.control].element.id.clone(), text)),
        What::Fine | What::Edit(_) | What::Date(_) | What::Click | What::Unfold(_) => None,
    })
}

/// The control of a page that an instruction asks for, and its label; nothing when it is as it should be.
pub(in super::super) fn choice_for(scene: &Scene, instruction: &str) -> Option<(Option<NodeRef>, String)> {
    let (sheet, told) = (Sheet::read(scene)?, Told::read(instruction));
    let open: Vec<usize> = (0..told.clauses.len()).filter(|at| told.clauses[*at].ask != Ask::Told).collect();
    let deeds = deed::deeds(&sheet, &told, &open, &[], &|_, _| true);
    let best =
        deeds.iter().find(|deed| deed.span.is_none() && matches!(deed.what, What::Click | What::Fine))?;
    let control = &sheet.controls[best.control];
    let press = (best.what == What::Click).then(|| control.element.id.clone());
    Some((press, control.label.clone()))
}
