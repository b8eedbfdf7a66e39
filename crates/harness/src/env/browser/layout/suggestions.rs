//! What fields suggest by a `datalist`: the system draws it outside of the page, and no accessibility tree lists it.

use std::collections::HashMap;

use apprentice_cdp::domain::dom::{Snapshot, SnapshotNodes};

/// Most suggestions of a field that are read.
const MOST: usize = 300;

/// The suggestions of each field, by its node: the node of each and what it enters. Where several fields share them, the first has
/// them.
pub(super) fn find(snapshot: &Snapshot, nodes: &SnapshotNodes) -> HashMap<i64, Vec<(i64, String)>> {
    let is = |node: usize, name: &str| {
        nodes.node_name.get(node).and_then(|index| snapshot.text(*index)) == Some(name)
    };
    let count = nodes.backend_node_id.len();
    let mut lists: HashMap<&str, usize> = HashMap::new();
    for node in (0..count).filter(|node| is(*node, "DATALIST")) {
        if let Some(id) = attribute(snapshot, nodes, node, "id") {
            lists.entry(id).or_insert(node);
        }
    }
    let mut found = HashMap::new();
    if lists.is_empty() {
        return found;
    }
    for field in (0..count).filter(|node| is(*node, "INPUT")) {
        let list = attribute(snapshot, nodes, field, "list").and_then(|id| lists.remove(id));
        let (Some(list), Some(id)) = (list, nodes.backend_node_id.get(field)) else { continue };
        let held = below(nodes, list).filter(|node| is(*node, "OPTION"));
        let options = held.filter_map(|node| {
            let own = attribute(snapshot, nodes, node, "value").map(str::to_owned);
            let text =
                || -> String { below(nodes, node).filter_map(|at| value(snapshot, nodes, at)).collect() };
            let entered = own.unwrap_or_else(text).trim().to_owned();
            Some((*nodes.backend_node_id.get(node)?, entered)).filter(|(_, text)| !text.is_empty())
        });
        found.insert(*id, options.take(MOST).collect());
    }
    found
}

/// What a node holds.
fn below(nodes: &SnapshotNodes, holder: usize) -> impl Iterator<Item = usize> {
    let is_held = move |node: &usize| {
        let above = nodes.parent_index.get(*node).and_then(|parent| usize::try_from(*parent).ok());
        above.is_some_and(|above| above >= holder)
    };
    (holder + 1..nodes.backend_node_id.len()).take_while(is_held)
}

fn value<'a>(snapshot: &'a Snapshot, nodes: &SnapshotNodes, node: usize) -> Option<&'a str> {
    nodes.node_value.get(node).and_then(|index| snapshot.text(*index))
}

fn attribute<'a>(snapshot: &'a Snapshot, nodes: &SnapshotNodes, node: usize, name: &str) -> Option<&'a str> {
    let pairs = nodes.attributes.get(node)?.chunks_exact(2);
    let mut texts = pairs.map(|pair| (snapshot.text(pair[0]), snapshot.text(pair[1])));
    texts.find(|(known, _)| *known == Some(name)).and_then(|(_, value)| value)
}
