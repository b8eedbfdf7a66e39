//! XML parsing with limits on size, nodes and depth, and without document types and therefore without entities.

use roxmltree::{Document, Node, ParsingOptions};

/// Maximum size of a document in bytes.
pub(crate) const TEXT_LIMIT: usize = 48 << 20;
const NODES: u32 = 2_000_000;
/// Maximum nesting depth, enforced before parsing.
const DEPTH: usize = 2_000;

/// Parses a document.
pub(crate) fn read(text: &str) -> Result<Document<'_>, String> {
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

/// Returns whether elements are nested too deep, counted without parsing. Comments, CDATA sections, processing
/// instructions and attribute values count as the parser reads them: their tags open and close nothing. In a document
/// that is not well-formed, the count is right up to the place at which the parser stops.
fn is_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut rest) = (0_usize, bytes);
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        let (_, markup) = rest.split_at(at);
        let length = if markup.starts_with(b"<!--") {
            end_of(markup, 4, b"-->")
        } else if markup.starts_with(b"<![CDATA[") {
            end_of(markup, 9, b"]]>")
        } else if markup.starts_with(b"<?") {
            end_of(markup, 2, b"?>")
        } else if markup.starts_with(b"<!") {
            end_of(markup, 2, b">")
        } else if markup.starts_with(b"</") {
            depth = depth.saturating_sub(1);
            end_of(markup, 2, b">")
        } else {
            let length = tag_length(markup);
            depth += 1;
            if depth > DEPTH {
                return true;
            }
            if markup.get(..length).is_some_and(|tag| tag.ends_with(b"/>")) {
                depth -= 1;
            }
            length
        };
        rest = markup.get(length..).unwrap_or_default();
    }
    false
}

/// Returns the offset after the first `mark` at or after `from`, or the length of a text without one.
fn end_of(bytes: &[u8], from: usize, mark: &[u8]) -> usize {
    let inner = bytes.get(from..).unwrap_or_default();
    let found = inner.windows(mark.len()).position(|part| part == mark);
    found.map_or(bytes.len(), |at| from + at + mark.len())
}

/// Returns the length of the opening tag at the start of a text. A `>` within quotes does not end it.
fn tag_length(bytes: &[u8]) -> usize {
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(mark), byte) if mark == *byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'>') => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

/// Decodes a document: UTF-16 if it starts with a byte order mark of it, else UTF-8.
pub(crate) fn decode(bytes: &[u8]) -> Result<String, String> {
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
pub(crate) fn child<'d, 'i>(node: Node<'d, 'i>, name: &str) -> Option<Node<'d, 'i>> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// Returns all child elements of this local name.
pub(crate) fn children<'d, 'i, 'n>(
    node: Node<'d, 'i>,
    name: &'n str,
) -> impl Iterator<Item = Node<'d, 'i>> + use<'d, 'i, 'n> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Parses a boolean attribute.
pub(crate) fn is_on(value: Option<&str>) -> bool {
    matches!(value, Some("1" | "true" | "t" | "on"))
}

/// Returns the text of an element before its first child element.
pub(crate) fn text<'d>(node: Node<'d, '_>) -> &'d str {
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

    #[test]
    fn nothing_but_a_tag_changes_the_depth() {
        let hides =
            ["<!-- </a> -->", "<![CDATA[</a>]]>", "<?x </a>?>", "/>", "<b x='/>'></b>", "<b x=\"'</a>\"/>"];
        for hidden in hides {
            let nested =
                |levels: usize| format!("{}{}", format!("<a>{hidden}").repeat(levels), "</a>".repeat(levels));
            assert!(read(&nested(3_000)).is_err_and(|why| why.contains("nested")), "{hidden} hides depth");
            // These readings are not deep, though many of their tags look open.
            let flat = hidden.replace("</a>", "<a>");
            let wide = format!("<a>{}</a>", flat.repeat(3_000));
            assert!(!read(&wide).is_err_and(|why| why.contains("nested")), "{flat} adds depth");
        }
    }
}
