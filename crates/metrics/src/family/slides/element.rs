//! Elements of presentations: their namespaces, and how they are found.

use roxmltree::Node;

pub(super) const A: &str = "http://schemas.openxmlformats.org/drawingml/2006/main";
pub(super) const P: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";
pub(super) const R: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Returns the first fill among the children of an element.
pub(super) fn fill<'d, 'i>(node: Node<'d, 'i>) -> Option<Node<'d, 'i>> {
    const FILLS: [&str; 6] = ["noFill", "solidFill", "gradFill", "blipFill", "pattFill", "grpFill"];
    node.children()
        .find(|node| node.tag_name().namespace() == Some(A) && FILLS.contains(&node.tag_name().name()))
}

/// Returns the first child of this name.
pub(super) fn child<'d, 'i>(node: Node<'d, 'i>, space: &str, name: &str) -> Option<Node<'d, 'i>> {
    node.children().find(|node| node.has_tag_name((space, name)))
}

/// Returns all children of this name.
pub(super) fn children<'d, 'i, 'n>(
    node: Node<'d, 'i>,
    space: &'n str,
    name: &'n str,
) -> impl Iterator<Item = Node<'d, 'i>> + use<'d, 'i, 'n> {
    node.children().filter(move |node| node.has_tag_name((space, name)))
}
