//! Metrics of web pages.

use std::collections::{BTreeMap, HashMap};

use ego_tree::{NodeId, NodeRef};
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use scraper::{Html, HtmlTreeSink, Node};

use crate::evidence::FileRef;
use crate::python;
use crate::scoring::{MetricError, MetricInput, Score, quote, upstream_error};

/// Maximum size of a page in bytes.
pub(super) const PAGE_LIMIT: usize = 16 << 20;
/// Maximum number of nodes of a page, and maximum nesting depth.
const NODES: usize = 500_000;
const DEPTH: usize = 2_000;
/// Number of bytes parsed between two checks of the limits. The parser reopens unclosed tags in every paragraph, so
/// that few bytes can create many nodes.
const PIECE: usize = 1 << 10;
/// Maximum number of characters compared, each counted once per enclosing element.
const TEXT_BUDGET: usize = 200_000_000;
/// Attributes whose value is a list of words.
const WORD_LISTS: &[&str] = &[
    "class",
    "accesskey",
    "dropzone",
    "rel",
    "rev",
    "accept-charset",
    "headers",
    "archive",
    "sizes",
    "sandbox",
];

pub(super) fn background_image(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = format!("background-image: url('{}')", case.rule_str("value")?);
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let page = read(file)?;
    let is_style =
        |node: &NodeRef<'_, Node>| node.value().as_element().is_some_and(|one| one.name() == "style");
    let holds = page.tree.nodes().filter(is_style).any(|style| inner_text(style).contains(&wanted));
    Ok(Score::of(holds, format!("a style contains {wanted:?}: {holds}")))
}

pub(super) fn read(file: &FileRef) -> Result<Html, MetricError> {
    if file.bytes.len() > PAGE_LIMIT {
        return Err(upstream_error(format!(
            "{} has {} bytes, more than the page size limit",
            file.name,
            file.bytes.len()
        )));
    }
    parse(&python::text(file)?).map_err(|why| upstream_error(format!("{}: {why}", file.name)))
}

/// Parses a page in pieces and stops as soon as it grows too large or too deep. The parser has no limits of its own,
/// and scans all open elements for every start tag.
pub(super) fn parse(text: &str) -> Result<Html, String> {
    crate::readers::attribute_limit::bounded(text.as_bytes())?;
    let mut parser = parse_document(HtmlTreeSink::new(Html::new_document()), ParseOpts::default());
    let (mut rest, mut seen, mut depths) = (text, 0, HashMap::new());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE).max(1));
        parser.process(StrTendril::from(piece));
        rest = after;
        let page = parser.tokenizer.sink.sink.0.borrow();
        let nodes = page.tree.nodes();
        let count = nodes.len();
        if count > NODES {
            return Err(format!("the page unfolds to more than {NODES} nodes"));
        }
        // Iterating from the end avoids walking through all earlier nodes.
        let mut fresh: Vec<_> = nodes.rev().take(count - seen).collect();
        fresh.reverse();
        if fresh.into_iter().any(|node| depth(node, &mut depths) > DEPTH) {
            return Err(format!("the page is nested more than {DEPTH} deep"));
        }
        seen = count;
    }
    Ok(parser.finish())
}

/// Returns the depth of a node when it was first visited. Its parent was visited before, or is visited now.
fn depth(node: NodeRef<'_, Node>, depths: &mut HashMap<NodeId, usize>) -> usize {
    let existing = node.parent().and_then(|parent| depths.get(&parent.id()).copied());
    let depth = existing.map_or_else(|| node.ancestors().take(DEPTH + 1).count(), |above| above + 1);
    depths.insert(node.id(), depth);
    depth
}

fn inner_text(node: NodeRef<'_, Node>) -> String {
    node.descendants().filter_map(|node| node.value().as_text().map(|text| &**text)).collect()
}

/// Compares two pages node by node. Upstream stops silently at the end of the shorter page.
pub(super) fn compare(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (found, wanted) = (case.require_file()?, case.expected_file()?);
    let blank = |file: &FileRef| file.bytes.iter().all(u8::is_ascii_whitespace);
    if case.reproduces_bugs() && (blank(found) || blank(wanted)) {
        return Ok(Score::full("one of the pages is empty, so no node is compared"));
    }
    let (found, wanted) = (read(found)?, read(wanted)?);
    let skip = case.option("ignore_sdnum", false);
    let mut budget = TEXT_BUDGET;
    let nodes = |page: &'_ Html| page.tree.root().descendants().skip(1).count();
    let counts = (nodes(&found), nodes(&wanted));
    for (a, b) in found.tree.root().descendants().skip(1).zip(wanted.tree.root().descendants().skip(1)) {
        if let Some(told) = differs(a, b, skip, &mut budget)? {
            return Ok(Score::none(told));
        }
    }
    if counts.0 != counts.1 && !case.reproduces_bugs() {
        return Ok(Score::none(format!("the page has {} nodes, expected {}", counts.0, counts.1)));
    }
    Ok(Score::full("the pages are equal"))
}

fn differs(
    a: NodeRef<'_, Node>,
    b: NodeRef<'_, Node>,
    skip_number: bool,
    budget: &mut usize,
) -> Result<Option<String>, MetricError> {
    let (Some(x), Some(y)) = (a.value().as_element(), b.value().as_element()) else {
        return Ok(match (a.value(), b.value()) {
            (Node::Text(x), Node::Text(y)) if **x != **y => {
                Some(format!("text {} instead of {}", quote(x), quote(y)))
            }
            (x, y) if std::mem::discriminant(x) != std::mem::discriminant(y) => {
                Some("the pages have different structures".to_owned())
            }
            (Node::Comment(x), Node::Comment(y)) if **x != **y => Some("a comment differs".to_owned()),
            (Node::Doctype(x), Node::Doctype(y)) if x != y => Some("the document types differ".to_owned()),
            _ => None,
        });
    };
    if x.name() != y.name() {
        return Ok(Some(format!("element {} instead of {}", x.name(), y.name())));
    }
    let (text, other) = (inner_text(a), inner_text(b));
    *budget = budget
        .checked_sub(text.len() + other.len())
        .ok_or_else(|| upstream_error("the page is nested too deep to compare"))?;
    if text.trim() != other.trim() {
        return Ok(Some(format!(
            "element {}: {} instead of {}",
            x.name(),
            quote(text.trim()),
            quote(other.trim())
        )));
    }
    let (have, want) = (attributes(x, skip_number), attributes(y, skip_number));
    Ok((have != want).then(|| format!("element {} has {have:?} instead of {want:?}", x.name())))
}

fn attributes(element: &scraper::node::Element, skip_number: bool) -> BTreeMap<String, String> {
    element
        .attrs()
        .filter(|(name, _)| !(skip_number && *name == "sdnum"))
        .map(|(name, value)| {
            if WORD_LISTS.contains(&name) {
                (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" "))
            } else {
                (name.to_owned(), value.to_owned())
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scraper::Html;

    use super::parse;

    #[test]
    fn pages_that_unfold_or_go_deep_are_given_up() {
        let open: String = (0..600).map(|at| format!("<b id={at}>")).collect();
        let unfolds = format!("<p>{open}{}", "<p>x".repeat(100_000));
        assert!(parse(&unfolds).is_err_and(|why| why.contains("unfolds")));
        assert!(parse(&"<div>".repeat(200_000)).is_err_and(|why| why.contains("nested")));
        assert!(parse(&"<div>x</div>".repeat(50_000)).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// The piece boundaries do not change the parsed page.
        #[test]
        fn a_page_in_pieces_is_the_page(
            parts in proptest::collection::vec("(<(/?(b|i|p|a|table|tr|td|script|style|!--|svg)( x=['\"]?[a-z&;]{0,3}['\"]?)?)?/?(--)?>|&[a-z]{1,4};?|[a-z\u{e9}\u{1f600} \n]{1,9})", 0..600),
        ) {
            let text = parts.concat();
            let read = parse(&text).map(|page| page.html());
            prop_assert_eq!(read, Ok(Html::parse_document(&text).html()));
        }
    }
}
