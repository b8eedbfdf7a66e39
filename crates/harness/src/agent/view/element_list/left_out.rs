//! What a list leaves out, and what it says of it.

use std::collections::HashSet;

use apprentice_protocol::UiTree;

/// A sentence below an element about what is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::agent) struct Note {
    pub(in crate::agent) text: String,
    /// What of it is told again when it changes: the number of empty cells is not.
    pub(in crate::agent) lasting: String,
}

impl Note {
    /// A sentence that is told again whenever it changes.
    pub(super) fn lasting(text: String) -> Self {
        Self { lasting: text.clone(), text }
    }
}

/// Nodes that were left out although they are on the screen.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Those behind something or far from the cursor, of which a sentence tells the number or the place.
    pub(super) held_back: HashSet<usize>,
    /// Cells without content.
    pub(super) empty: HashSet<usize>,
}

/// The nearest listed node that holds a node.
pub(super) fn nearest(parents: &[Option<usize>], index: usize, listed: &[bool]) -> Option<usize> {
    std::iter::successors(parents[index], |at| parents[*at]).find(|at| listed[*at])
}

/// Whether a tree is that of a page, and not of a desktop.
pub(super) fn is_page(tree: &UiTree) -> bool {
    tree.nodes.first().is_some_and(|node| node.role.as_str() == "document")
}
