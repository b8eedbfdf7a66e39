//! XML parsing with limits on size, nodes and depth, and without document types and therefore without entities.

use roxmltree::{Document, Node, ParsingOptions};

/// Maximum size of a document in bytes.
pub(super) const TEXT_LIMIT: usize = 48 << 20;
const NODES: u32 = 2_000_000;
/// Maximum nesting depth, enforced before parsing.
const DEPTH: usize = 2_000;

/// Parses a document.
pub(super) fn read(text: &str) -> Result<Document<'_>, String> {
    if text.len() > TEXT_LIMIT {
        return Err(format!("the XML has {} bytes, more than the limit of {TEXT_LIMIT}", text.len()));
    }
    if is_deep(text.as_bytes()) {
        return Err(format!("the XML is nested more than {DEPTH} deep"));
    }
    super::attribute_limit::bounded(text.as_bytes())
        .map_err(|why| format!("the XML cannot be parsed: {why}"))?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text.trim_start_matches('\u{feff}'), options)
        .map_err(|error| format!("the XML cannot be parsed: {error}"))
}

/// Returns whether tags are nested too deep, counted without parsing. Tags inside comments and CDATA count as well, but
/// real documents seldom have any there.
fn is_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut most) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate() {
        match (byte, bytes.get(at + 1)) {
            (b'<', Some(b'/')) => depth = depth.saturating_sub(1),
            (b'<', Some(b'?' | b'!')) => {}
            (b'<', _) => depth += 1,
            (b'/', Some(b'>')) => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most > DEPTH
}

/// Decodes a document: UTF-16 if it starts with a byte order mark of it, else UTF-8.
pub(super) fn decode(bytes: &[u8]) -> Result<String, String> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| "the XML is not valid UTF-16".to_owned())
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8(bytes.to_vec()).map_err(|_| "the XML is not valid UTF-8".to_owned()),
    }
}

/// Returns the first child element of this local name.
pub(super) fn child<'d, 'i>(node: Node<'d, 'i>, name: &str) -> Option<Node<'d, 'i>> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// Returns all child elements of this local name.
pub(super) fn children<'d, 'i, 'n>(
    node: Node<'d, 'i>,
    name: &'n str,
) -> impl Iterator<Item = Node<'d, 'i>> + use<'d, 'i, 'n> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Returns the text of an element before its first child element.
pub(super) fn text<'d>(node: Node<'d, '_>) -> &'d str {
    node.first_child().filter(Node::is_text).and_then(|text| text.text()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn entities_and_depth_are_refused() {
        assert!(read("<a><b>x</b></a>").is_ok());
        assert!(read("<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>").is_err());
        let deep = "<a>".repeat(200_000);
        assert!(read(&deep).expect_err("is deep").contains("nested"));
    }
}
