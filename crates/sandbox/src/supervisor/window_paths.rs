//! What an element is by its place: its window, what holds it, its role and name, and its number among its like. An object
//! that a program makes anew in the same place keeps the reference of the one that is gone. Pure.
//!
//! A window is itself alone: one that opens with the title of an earlier one is another window, and nothing in it stands in
//! the place of what the earlier one held.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use atspi::Role as BusRole;

use super::node::Address;
use super::role;

/// A node, as far as its place is concerned.
pub(super) struct PlacedNode<'a> {
    pub(super) address: &'a Address,
    /// The index of what holds it, which comes before it.
    pub(super) parent: Option<usize>,
    /// Role and name; `None` for a node that did not answer.
    pub(super) read: Option<(BusRole, &'a str)>,
}

/// Returns the path of each node, in the order given.
pub(super) fn paths<'a>(nodes: impl Iterator<Item = PlacedNode<'a>>) -> Vec<u64> {
    let mut paths: Vec<u64> = Vec::new();
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for node in nodes {
        let mut hash = DefaultHasher::new();
        match node.read {
            Some((role, _)) if role::is_window(role) => node.address.hash(&mut hash),
            read => {
                node.parent.and_then(|parent| paths.get(parent).copied()).unwrap_or_default().hash(&mut hash);
                read.map(|(role, name)| (role as u32, name)).hash(&mut hash);
            }
        }
        let count = counts.entry(hash.finish()).or_default();
        count.hash(&mut hash);
        *count += 1;
        paths.push(hash.finish());
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use atspi::Role as BusRole;

    use super::super::bus::Refs;
    use super::super::node::Address;
    use super::{PlacedNode, paths};

    fn address(path: &str) -> Address {
        Address { name: ":1.7".into(), path: path.into() }
    }

    /// The reference of the button in a window of this address.
    fn button(refs: &mut Refs, window: &str, button: &str) -> String {
        let addresses = [address("/app"), address(window), address(button)];
        let read = [(BusRole::Application, "zim"), (BusRole::Dialog, "Properties"), (BusRole::Button, "OK")];
        let node = |at: usize| PlacedNode {
            address: &addresses[at],
            parent: at.checked_sub(1),
            read: Some(read[at]),
        };
        let present: HashSet<&Address> = addresses.iter().collect();
        let paths = paths((0..3).map(node));
        let given = addresses.iter().zip(paths).map(|(address, path)| refs.give_at(address, path, &present));
        given.last().map(|node| node.0).expect("a button")
    }

    #[test]
    fn a_second_window_of_the_same_title_has_references_of_its_own() {
        let mut refs = Refs::default();
        let first = button(&mut refs, "/dialog/1", "/button/1");
        assert_eq!(button(&mut refs, "/dialog/1", "/button/2"), first, "made anew in the same window");
        assert_ne!(button(&mut refs, "/dialog/2", "/button/3"), first, "another window");
    }
}
