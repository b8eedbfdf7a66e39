//! Logs that are trees: entries name the one before them, and a person may go back and take another path.

use std::collections::{BTreeMap, BTreeSet};

/// The ids of a tree's entries, in the order of the log.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    order: Vec<String>,
    parents: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Adds an entry. Returns whether its id is new: another one with the same id is a copy.
    pub(crate) fn add(&mut self, id: &str, parent: Option<&str>) -> bool {
        if self.parents.contains_key(id) {
            return false;
        }
        self.parents.insert(id.to_owned(), parent.map(str::to_owned));
        self.order.push(id.to_owned());
        true
    }

    /// The last entry of the log.
    pub(crate) fn last(&self) -> Option<&str> {
        self.order.last().map(String::as_str)
    }

    /// The entries from the root to one of them, by their places in the log. Whoever names itself as its parent, or is named by
    /// its own child, ends the path.
    pub(crate) fn path(&self, leaf: &str) -> Vec<usize> {
        let places: BTreeMap<&str, usize> =
            self.order.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
        let mut found = BTreeSet::new();
        let mut path = Vec::new();
        let mut next = Some(leaf);
        while let Some(id) = next {
            let Some(place) = places.get(id) else { break };
            if !found.insert(*place) {
                break;
            }
            path.push(*place);
            next = self.parents.get(id).and_then(Option::as_deref);
        }
        path.reverse();
        path
    }

    /// The entries that no other one follows, in the order of the log.
    pub(crate) fn leaves(&self) -> Vec<&str> {
        let parents: BTreeSet<&str> = self.parents.values().flatten().map(String::as_str).collect();
        self.order.iter().map(String::as_str).filter(|id| !parents.contains(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn paths_end_at_roots_and_at_circles() {
        let mut tree = Tree::default();
        for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("a"))] {
            tree.add(id, parent);
        }
        assert_eq!(tree.last(), Some("d"));
        assert_eq!(tree.leaves(), ["c", "d"]);
        assert_eq!(tree.path("c"), [0, 1, 2]);
        assert_eq!(tree.path("d"), [0, 3]);
        let mut circle = Tree::default();
        circle.add("a", Some("b"));
        circle.add("b", Some("a"));
        assert_eq!(circle.path("b"), [0, 1]);
    }
}
