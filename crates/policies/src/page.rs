//! Reads a page in a browser: the cell and the field that an instruction means, the texts for them, and the address field.

use super::goal::Goal;
use super::scene::{Element, ElementKind, Scene};
use super::words::{holds, plain, same_label};

/// Returns the browser's address field.
pub(super) fn address_field(scene: &Scene) -> Option<&Element> {
    let is_address = |element: &&Element| {
        element.kind == ElementKind::Field
            && plain(&element.name).iter().any(|word| word == "address" || word == "location")
    };
    scene.elements.iter().find(is_address)
}

/// Returns whether a field looks for something instead of holding data.
pub(super) fn looks_up(element: &Element) -> bool {
    let words = plain(&element.name);
    let has = |known: &str| words.iter().any(|word| word == known);
    (element.role == "searchbox" || has("search") || has("find")) && !has("address")
}

/// Returns whether a text is the label of a control.
pub(super) fn is_label(scene: &Scene, text: &str) -> bool {
    scene.elements.iter().any(|element| {
        !matches!(element.kind, ElementKind::StaticText | ElementKind::Object | ElementKind::Other)
            && same_label(&scene.label_of(element), text)
    })
}

/// Returns the cell that an instruction means, by a text of its row and the head of its column, with its new text.
pub(super) fn cell<'s>(scene: &'s Scene, goal: &Goal) -> Option<(&'s Element, String)> {
    let is_cell = |element: &Element| matches!(element.role.as_str(), "cell" | "gridcell" | "table_cell");
    let below = |parent: usize, test: &dyn Fn(&Element) -> bool| -> Vec<&'s Element> {
        let inside = |(index, element): &(usize, &Element)| {
            *index != parent && scene.is_within(*index, parent) && test(element)
        };
        scene.elements.iter().enumerate().filter(inside).map(|(_, element)| element).collect()
    };
    let rows = (0..scene.elements.len()).filter(|index| scene.elements[*index].role == "row");
    rows.into_iter().find_map(|row| {
        let cells = below(row, &is_cell);
        let named = cells.iter().position(|cell| cell.name.len() > 1 && holds(&goal.text, &cell.name))?;
        let table = scene.elements[row].parent?;
        let heads = below(table, &|element: &Element| element.role.replace('_', "").contains("columnheader"));
        let (at, head) =
            heads.iter().enumerate().find(|(at, head)| *at != named && goal.fit(&head.name).matched > 0.0)?;
        let text =
            goal.value_for(&head.name, |text| cells.iter().any(|cell| same_label(&cell.name, text)))?;
        let cell = cells.get(at).filter(|cell| cell.name != text)?;
        Some((*cell, text))
    })
}

/// Returns the field of a page that an instruction has a text for, with the text.
pub(super) fn field<'s>(scene: &'s Scene, goal: &Goal) -> Option<(&'s Element, String)> {
    let inside = |index: usize| {
        let documents = (0..scene.elements.len()).filter(|at| scene.elements[*at].is_document());
        documents.into_iter().any(|document| scene.is_within(index, document))
    };
    let fields = scene.elements.iter().enumerate().filter(|(index, element)| {
        element.kind == ElementKind::Field && element.is_enabled() && !looks_up(element) && inside(*index)
    });
    fields.into_iter().find_map(|(_, field)| {
        let label = scene.label_of(field);
        let asked = goal.fit(&label).share >= 0.5;
        let text = goal.value_for(&label, |text| is_label(scene, text)).filter(|_| asked)?;
        (field.value.as_deref().unwrap_or_default() != text).then_some((field, text))
    })
}
