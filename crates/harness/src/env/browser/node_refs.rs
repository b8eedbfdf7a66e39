//! The references given out for nodes, and the identity of the node behind each of them.

use std::collections::HashMap;

use apprentice_cdp::SessionId;
use apprentice_protocol::NodeRef;

/// Identity of a node. Node ids are unique only within a process, so the id alone could denote another node after the
/// frame has loaded another document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeKey {
    pub(super) session: SessionId,
    pub(super) frame: String,
    /// Id of the load that created the document.
    pub(super) loader: String,
    pub(super) node: i64,
}

/// All references given out in this trial. A reference is never reused for another node.
#[derive(Debug, Default)]
pub(super) struct Refs {
    known: HashMap<NodeKey, usize>,
    keys: Vec<NodeKey>,
    /// What each node showed when it was last seen.
    described: Vec<Shown>,
}

/// What a node showed when a model last saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) role: String,
    pub(super) name: String,
    /// Texts of its row, where there are several like it.
    pub(super) row: Vec<String>,
}

impl Refs {
    /// Returns the node's reference, the same one each time, and remembers how the node looked.
    pub(super) fn name(&mut self, key: NodeKey, role: &str, name: &str) -> NodeRef {
        let index = *self.known.entry(key).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            self.described.push(Default::default());
            self.keys.len() - 1
        });
        if let Some(described) = self.described.get_mut(index) {
            role.clone_into(&mut described.role);
            name.clone_into(&mut described.name);
            described.row.clear();
        }
        NodeRef(format!("n{}", index + 1))
    }

    /// Returns the node behind a reference given out earlier.
    pub(super) fn find(&self, node: &NodeRef) -> Option<&NodeKey> {
        self.keys.get(index(node)?)
    }

    /// Returns what a reference's node showed when it was last seen.
    pub(super) fn described(&self, node: &NodeRef) -> Option<&Shown> {
        self.described.get(index(node)?)
    }

    /// Notes the texts of the row that a node stands in.
    pub(super) fn stands_in(&mut self, node: &NodeRef, row: Vec<String>) {
        if let Some(described) = index(node).and_then(|index| self.described.get_mut(index)) {
            described.row = row;
        }
    }

    /// Notes that a model was told what a node shows now.
    pub(super) fn tell(&mut self, node: &NodeRef, role: &str, name: &str) {
        if let Some(described) = index(node).and_then(|index| self.described.get_mut(index)) {
            *described = Shown { role: role.to_owned(), name: name.to_owned(), row: Vec::new() };
        }
    }
}

fn index(node: &NodeRef) -> Option<usize> {
    node.0.strip_prefix('n')?.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::NodeRef;

    use super::{NodeKey, Refs};

    #[test]
    fn a_reference_stays_with_its_node_and_its_document() {
        let key = |loader: &str, node| NodeKey {
            session: serde_json::from_str("\"S\"").expect("a session"),
            frame: "F".into(),
            loader: loader.into(),
            node,
        };
        let mut refs = Refs::default();
        let first = refs.name(key("a", 7), "button", "Go");
        assert_eq!(first, NodeRef("n1".into()));
        assert_eq!(
            refs.name(key("b", 7), "link", "x"),
            NodeRef("n2".into()),
            "the same number in another document"
        );
        assert_eq!(refs.name(key("a", 7), "button", "Gone"), first);
        let shown = refs.described(&first).expect("described");
        assert_eq!((shown.role.as_str(), shown.name.as_str()), ("button", "Gone"), "as it was last seen");
        assert_eq!(refs.find(&NodeRef("n2".into())), Some(&key("b", 7)));
        for unknown in ["n0", "n3", "x1", "", "n"] {
            assert_eq!(refs.find(&NodeRef(unknown.into())), None, "{unknown}");
        }
    }
}
