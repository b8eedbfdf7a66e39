//! The metric of e-books, which compares them member by member and line by line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;

use super::html;
use crate::comparison::difflib;
use crate::evidence::FileRef;
use crate::python;
use crate::readers::zip_reader::Archive;
use crate::scoring::{MetricError, MetricInput, Score, upstream_error};

/// Inline elements.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "applet", "b", "basefont", "bdo", "big", "br", "cite", "code", "del", "dfn",
    "em", "embed", "font", "i", "iframe", "img", "input", "ins", "kbd", "label", "map", "object", "q", "s",
    "samp", "select", "small", "span", "strike", "strong", "sub", "sup", "textarea", "tt", "u", "var",
];
/// Void elements, which have no content.
const EMPTY: &[&str] = &[
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "isindex", "link",
    "meta", "param",
];

pub(super) fn compare(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let (found, wanted) = (members(file)?, members(case.expected_file()?)?);
    let (mut sum, mut told) = (0.0, Vec::new());
    for ((name, found), (other, wanted)) in found.iter().zip(&wanted) {
        let score = difflib::ratio(&python::split_lines(found), &python::split_lines(wanted))?;
        if score < 1.0 {
            told.push(format!("{name} and {other}: similarity {score:.3}"));
        }
        sum += score;
    }
    let score =
        if found.is_empty() { sum } else { sum / f64::from(u32::try_from(found.len()).unwrap_or(u32::MAX)) };
    if found.is_empty() {
        told.push("the book has no pages".into());
    }
    let explanation = if told.is_empty() { "all members are equal".to_owned() } else { told.join("; ") };
    Ok(Score { score, explanation })
}

/// Returns the members to compare, by name, in normalized form.
fn members(file: &FileRef) -> Result<BTreeMap<String, String>, MetricError> {
    let Ok(mut archive) = Archive::open(&file.bytes) else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    for name in archive.names() {
        let skipped = match name.as_str() {
            "toc.ncx" => "navPoint",
            "content.opf" => "dc:identifier",
            page if page.ends_with(".html") => "",
            _ => continue,
        };
        let bytes = archive.read(&name).map_err(upstream_error)?.unwrap_or_default();
        if bytes.len() > html::PAGE_LIMIT {
            return Err(upstream_error(format!("{name} exceeds the page size limit")));
        }
        let text = String::from_utf8(bytes).map_err(|_| upstream_error(format!("{name} is not UTF-8")))?;
        let text = if skipped.is_empty() {
            pretty(&text.replace(['\n', '\r'], "")).map_err(|why| upstream_error(format!("{name}: {why}")))?
        } else {
            let lines = python::split_lines(&text).into_iter().filter(|line| !line.contains(skipped));
            lines.flat_map(|line| [line, "\n"]).collect()
        };
        found.insert(name, text);
    }
    Ok(found)
}

fn is_inline(name: &str) -> bool {
    INLINE.contains(&name)
}

/// Serializes a page with the line breaks that upstream's library inserts between blocks.
fn pretty(text: &str) -> Result<String, String> {
    let mut page = html::parse(text)?;
    // This parser inserts a missing `head`; upstream's does not.
    let is_head =
        |node: &NodeRef<'_, Node>| node.value().as_element().is_some_and(|one| one.name() == "head");
    let head = page.tree.nodes().find(is_head).filter(|head| !head.has_children()).map(|head| head.id());
    if let Some(mut head) =
        head.and_then(|id| page.tree.get_mut(id)).filter(|_| !text.to_lowercase().contains("<head"))
    {
        head.detach();
    }
    let mut out = String::new();
    let Some(root) = page.tree.root().children().find(|node| node.value().is_element()) else {
        return Ok(out);
    };
    for edge in root.traverse() {
        match edge {
            Edge::Open(node) => open(node, &mut out),
            Edge::Close(node) => close(node, &mut out),
        }
    }
    out.push('\n');
    Ok(out)
}

fn open(node: NodeRef<'_, Node>, out: &mut String) {
    match node.value() {
        Node::Element(element) => {
            let _ = write!(out, "<{}", element.name());
            for (name, value) in element.attrs() {
                let _ = write!(out, " {name}=\"{}\"", value.replace('&', "&amp;").replace('"', "&quot;"));
            }
            out.push('>');
            let many =
                node.first_child().map(|child| child.id()) != node.last_child().map(|child| child.id());
            let starts_block = node.first_child().is_some_and(|child| !child.value().is_text());
            if many && starts_block && breaks_inside(element.name()) {
                out.push('\n');
            }
        }
        Node::Text(text) => {
            let raw = node
                .parent()
                .and_then(|parent| parent.value().as_element())
                .is_some_and(|parent| matches!(parent.name(), "script" | "style"));
            let escaped = || text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            out.push_str(&if raw { text.to_string() } else { escaped() });
        }
        Node::Comment(comment) => {
            let _ = write!(out, "<!--{}-->", &**comment);
        }
        Node::Document | Node::Fragment | Node::Doctype(_) | Node::ProcessingInstruction(_) => {}
    }
}

fn close(node: NodeRef<'_, Node>, out: &mut String) {
    let Some(element) = node.value().as_element() else { return };
    let name = element.name();
    if !EMPTY.contains(&name) {
        let many = node.first_child().map(|child| child.id()) != node.last_child().map(|child| child.id());
        if many && node.last_child().is_some_and(|child| !child.value().is_text()) && breaks_inside(name) {
            out.push('\n');
        }
        let _ = write!(out, "</{name}>");
    }
    let above = node.parent().and_then(|parent| parent.value().as_element());
    let follows = node.next_sibling().is_some_and(|next| !next.value().is_text());
    if !is_inline(name) && follows && above.is_some_and(|above| !above.name().starts_with('p')) {
        out.push('\n');
    }
}

fn breaks_inside(name: &str) -> bool {
    !is_inline(name) && !name.starts_with('p')
}
