//! What the interface tree in the XML format of OSWorld's machines says of an element. Pure.

use roxmltree::{Document, Node, ParsingOptions};

/// Common prefix of the format's XML namespaces; the rest differs between systems.
const FAMILY: &str = "https://accessibility.";
/// Most elements of a document that are visited.
const NODES: u32 = 400_000;
/// Most levels of a document that are visited.
pub(super) const LEVELS: u32 = 400;

/// Parses a document.
pub(super) fn parse(xml: &str) -> Result<Document<'_>, String> {
    let options = ParsingOptions { nodes_limit: NODES, ..ParsingOptions::default() };
    Document::parse_with_options(xml, options).map_err(|error| error.to_string())
}

/// An attribute, by namespace family and name.
pub(super) fn of<'a>(node: Node<'a, '_>, family: &str, name: &str) -> Option<&'a str> {
    let named =
        node.attributes().find(|attribute| attribute.name() == name && is_of(attribute.namespace(), family));
    named.map(|attribute| attribute.value())
}

fn is_of(namespace: Option<&str>, family: &str) -> bool {
    namespace.is_some_and(|space| space.starts_with(FAMILY) && space.rsplit("/ns/").next() == Some(family))
}

/// The names of the states that hold.
pub(super) fn states<'a>(node: Node<'a, '_>) -> impl Iterator<Item = &'a str> {
    let hold = node
        .attributes()
        .filter(|attribute| attribute.value() == "true" && is_of(attribute.namespace(), "state"));
    hold.map(|attribute| attribute.name())
}

pub(super) fn is(node: Node<'_, '_>, state: &str) -> bool {
    of(node, "state", state) == Some("true")
}

/// Whether any descendant shows: some programs report that a container does not show although its content does.
pub(super) fn shows_below(node: Node<'_, '_>, depth: u32) -> bool {
    depth < LEVELS
        && node
            .children()
            .filter(Node::is_element)
            .any(|child| is(child, "showing") || shows_below(child, depth + 1))
}
