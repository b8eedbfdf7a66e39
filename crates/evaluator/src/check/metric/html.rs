//! Metrics of web pages.

use std::collections::BTreeMap;

use ego_tree::NodeRef;
use scraper::{Html, Node};

use super::{Case, Fault, FileRef, Mark, python, quote, raised};

/// Bytes of a page that are read.
pub(super) const PAGE_LIMIT: usize = 16 << 20;
/// Characters of text that a comparison may look at, counted once for every element around them.
const TEXT_BUDGET: usize = 200_000_000;
/// Attributes whose value is a set of words.
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

pub(super) fn background_image(case: &Case<'_>) -> Result<Mark, Fault> {
    let wanted = format!("background-image: url('{}')", case.rule_text("value")?);
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let page = read(file)?;
    let is_style =
        |node: &NodeRef<'_, Node>| node.value().as_element().is_some_and(|one| one.name() == "style");
    let holds = page.tree.nodes().filter(is_style).any(|style| inner_text(style).contains(&wanted));
    Ok(Mark::of(holds, format!("no style or a style says {wanted:?}: {holds}")))
}

pub(super) fn read(file: &FileRef) -> Result<Html, Fault> {
    if file.bytes.len() > PAGE_LIMIT {
        return Err(raised(format!("{} has {} bytes, too many for a page", file.name, file.bytes.len())));
    }
    Ok(Html::parse_document(&python::text(file)?))
}

fn inner_text(node: NodeRef<'_, Node>) -> String {
    node.descendants().filter_map(|node| node.value().as_text().map(|text| &**text)).collect()
}

/// Walks both pages side by side. Upstream stops silently where the shorter one ends.
pub(super) fn compare(case: &Case<'_>) -> Result<Mark, Fault> {
    let (found, wanted) = (case.need_file()?, case.expected_file()?);
    let blank = |file: &FileRef| file.bytes.iter().all(u8::is_ascii_whitespace);
    if case.is_exact() && (blank(found) || blank(wanted)) {
        return Ok(Mark::full("one of the pages is empty, and so is the walk over both"));
    }
    let (found, wanted) = (read(found)?, read(wanted)?);
    let skip = case.option("ignore_sdnum", false);
    let mut budget = TEXT_BUDGET;
    let nodes = |page: &'_ Html| page.tree.root().descendants().skip(1).count();
    let counts = (nodes(&found), nodes(&wanted));
    for (a, b) in found.tree.root().descendants().skip(1).zip(wanted.tree.root().descendants().skip(1)) {
        if let Some(told) = differs(a, b, skip, &mut budget)? {
            return Ok(Mark::none(told));
        }
    }
    if counts.0 != counts.1 && !case.is_exact() {
        return Ok(Mark::none(format!("the page has {} nodes, {} are expected", counts.0, counts.1)));
    }
    Ok(Mark::full("the pages are equal"))
}

fn differs(
    a: NodeRef<'_, Node>,
    b: NodeRef<'_, Node>,
    skip_number: bool,
    budget: &mut usize,
) -> Result<Option<String>, Fault> {
    let (Some(x), Some(y)) = (a.value().as_element(), b.value().as_element()) else {
        return Ok(match (a.value(), b.value()) {
            (Node::Text(x), Node::Text(y)) if **x != **y => {
                Some(format!("text {} instead of {}", quote(x), quote(y)))
            }
            (x, y) if std::mem::discriminant(x) != std::mem::discriminant(y) => {
                Some("the pages are built differently".to_owned())
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
        .ok_or_else(|| raised("the page is nested too deep to compare"))?;
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
        .map(|(name, value)| match WORD_LISTS.contains(&name) {
            true => (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")),
            false => (name.to_owned(), value.to_owned()),
        })
        .collect()
}
