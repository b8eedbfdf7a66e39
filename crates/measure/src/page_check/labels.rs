//! The labels that a page names, with their steps.

use std::collections::BTreeSet;

use apprentice_learning::adherence::{as_label, quoted_names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A label as a page names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedLabel {
    /// The number of the step, as the page numbers it; `None` outside of the steps.
    pub step: Option<u32>,
    /// The label as the page writes it.
    pub label: String,
    /// Where it begins in the page's guidance, in bytes.
    #[serde(skip)]
    #[schemars(skip)]
    pub at: usize,
}

/// Returns the quoted labels of a page's guidance, each where it is named first.
pub fn labels_of(guidance: &str) -> Vec<NamedLabel> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let (mut step, mut begin) = (None, 0);
    for line in guidance.split_inclusive('\n') {
        // Lines that continue a step are indented; a line at the margin without a number stands outside of the steps.
        if !line.starts_with(char::is_whitespace) {
            step = line.split_once(". ").and_then(|(number, _)| number.parse().ok());
        }
        for (at, name) in quoted_names(line) {
            if seen.insert(as_label(name)) {
                found.push(NamedLabel { step, label: name.to_owned(), at: begin + at });
            }
        }
        begin += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::labels_of;

    #[test]
    fn labels_stand_in_order_with_their_steps() {
        let page = "1. Open \"Edit\" and choose \"Preferences...\".\n   File: \"Session restore:\".\n2. Press Ctrl+S.\n\
                    Verification: \"edit\" and \"Close\" are there.\n";
        let found: Vec<(Option<u32>, String)> =
            labels_of(page).into_iter().map(|one| (one.step, one.label)).collect();
        let expected =
            [(Some(1), "Edit"), (Some(1), "Preferences..."), (Some(1), "Session restore:"), (None, "Close")];
        assert_eq!(found, expected.map(|(step, label)| (step, label.to_owned())));
    }
}
