//! Metrics of accessibility trees: XML documents that are queried with XPath or CSS selectors.

use serde_json::Value;
use sxd_xpath::nodeset::Node;
use sxd_xpath::{Context, Factory};

use crate::comparison::difflib;
use crate::readers::{selector, xml};
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error, upstream_error};

/// An attribute, name and value, that marks trees serialized by this program for machines without a tree document of
/// their own. They hold less than the trees of desktops and of OSWorld's machines.
pub const SYNTHETIC_TREE: (&str, &str) = ("source", "cell");
/// Maximum length of a query in bytes, and a quarter of the maximum number of its descendant steps. The costs of the
/// steps multiply.
const QUERY_LIMIT: usize = 4_000;
const QUARTER_STEP_LIMIT: usize = 6;
/// Maximum number of ancestor-descendant pairs of a tree times the descendant steps of a query.
const PAIR_LIMIT: usize = 40_000_000;

/// Namespace prefixes in queries, with the last part of their namespace URL.
const PREFIXES: &[(&str, &str)] = &[
    ("st", "state"),
    ("attr", "attributes"),
    ("cp", "component"),
    ("doc", "document"),
    ("docattr", "document/attributes"),
    ("txt", "text"),
    ("val", "value"),
    ("act", "action"),
    ("class", "class"),
    ("role", "role"),
];

/// Namespaces missing from trees that this harness serializes itself. A query for one has no meaningful result.
const MISSING_NAMESPACES: &[(&str, &str)] = &[
    ("attr:", "attributes"),
    ("doc:", "documents' facts"),
    ("txt:", "texts' facts"),
    ("act:", "actions"),
    ("val:", "values"),
];

pub(super) fn accessibility_tree(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?;
    let rules = rules.as_array().ok_or_else(|| task_error("`expected` must be a list of rules"))?;
    let system = case.options.get("osname").and_then(Value::as_str).unwrap_or("ubuntu");
    if !matches!(system, "ubuntu" | "windows" | "macos") {
        return Err(task_error(format!("unknown system {system:?}")));
    }
    let text = case.require_str()?;
    // The bounded parser runs first, because the XPath engine's parser has no limits.
    let pairs = pairs(&xml::read(text).map_err(upstream_error)?);
    let package = sxd_document::parser::parse(text)
        .map_err(|error| upstream_error(format!("the tree cannot be parsed: {error}")))?;
    let document = package.as_document();
    let mut context = Context::new();
    for (prefix, part) in PREFIXES {
        context.set_namespace(prefix, &format!("https://accessibility.{system}.example.org/ns/{part}"));
    }
    let root = document.root().children().into_iter().find_map(|child| child.element());
    let root = root.ok_or_else(|| upstream_error("the tree is empty"))?;
    let ours = root.attribute(SYNTHETIC_TREE.0).is_some_and(|source| source.value() == SYNTHETIC_TREE.1);
    let (mut score, mut told) = (1.0, Vec::new());
    for rule in rules {
        let query = query(rule)?;
        if pairs.saturating_mul(1 + descendant_steps(&query)) > PAIR_LIMIT {
            return Err(upstream_error("the tree is too large and too deep to search"));
        }
        if let Some((_, part)) = MISSING_NAMESPACES.iter().find(|(prefix, _)| ours && query.contains(prefix))
        {
            return Err(task_error(format!(
                "this world's tree has no {part}, which {query} needs: use a desktop or a virtual machine (--world vm)"
            )));
        }
        let nodes = select(&query, &context, Node::Element(root))?;
        if nodes.is_empty() {
            return Ok(Score::none(format!("no element matches {query}")));
        }
        let Some(wanted) = rule.get("text").and_then(Value::as_str) else { continue };
        let exact = rule.get("exact").is_none_or(crate::scoring::is_truthy);
        let texts: Vec<String> = nodes.iter().map(own_text).collect();
        let like = |text: &String| match exact {
            true => f64::from(u8::from(text == wanted && !text.is_empty())),
            false if text.is_empty() => 0.0,
            false => difflib::edit_similarity(wanted, text) / 100.0,
        };
        let best = texts.iter().map(like).fold(0.0, f64::max);
        if best < 1.0 {
            told.push(format!(
                "{query} has the text {}, expected {}",
                quote(&texts.join(", ")),
                quote(wanted)
            ));
        }
        score *= best;
    }
    let explanation = if told.is_empty() { "every query matches".into() } else { told.join("; ") };
    Ok(Score { score, explanation })
}

fn query(rule: &Value) -> Result<String, MetricError> {
    let query =
        match (rule.get("xpath").and_then(Value::as_str), rule.get("selectors").and_then(Value::as_array)) {
            (Some(path), _) => path.to_owned(),
            (None, Some(list)) => {
                let list: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                selector::to_xpath(&list.join(", ")).map_err(task_error)?
            }
            (None, None) => return Err(task_error("a rule needs \"xpath\" or \"selectors\"")),
        };
    if query.len() > QUERY_LIMIT || descendant_steps(&query) > QUARTER_STEP_LIMIT * 4 {
        return Err(task_error("the query is too long"));
    }
    Ok(query)
}

/// Returns the number of descendant steps in a query.
fn descendant_steps(query: &str) -> usize {
    query.matches("//").count() + query.matches("descendant").count()
}

/// Returns the sum of the depths of all nodes.
fn pairs(document: &roxmltree::Document<'_>) -> usize {
    let (mut depth, mut sum) = (0_usize, 0_usize);
    let mut next = Some(document.root());
    while let Some(node) = next {
        sum += depth;
        if let Some(child) = node.first_child() {
            depth += 1;
            next = Some(child);
            continue;
        }
        let mut up = Some(node);
        next = loop {
            let Some(at) = up else { break None };
            if let Some(sibling) = at.next_sibling() {
                break Some(sibling);
            }
            up = at.parent();
            depth = depth.saturating_sub(1);
        };
    }
    sum
}

/// Returns a prefix of the query that stands for no namespace. The XPath engine panics at one.
fn unknown_prefix(query: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let unquoted = query.split(['"', '\'']).step_by(2);
    unquoted.flat_map(|part| part.match_indices(':').map(move |(at, _)| (part, at))).find_map(|(part, at)| {
        let (before, after) = (&part[..at], &part[at + 1..]);
        let is_axis = after.starts_with(':') || before.ends_with(':');
        let name = &before[before.trim_end_matches(is_name).len()..];
        (!is_axis && !PREFIXES.iter().any(|(prefix, _)| *prefix == name)).then_some(name)
    })
}

fn select<'d>(query: &str, context: &Context<'d>, root: Node<'d>) -> Result<Vec<Node<'d>>, MetricError> {
    let bad = |why: String| task_error(format!("invalid query {query:?}: {why}"));
    if let Some(prefix) = unknown_prefix(query) {
        return Err(bad(format!("the prefix {prefix:?} stands for no namespace")));
    }
    let path = Factory::new().build(query).map_err(|error| bad(error.to_string()))?;
    let path = path.ok_or_else(|| bad("it is empty".into()))?;
    match path.evaluate(context, root).map_err(|error| bad(error.to_string()))? {
        sxd_xpath::Value::Nodeset(nodes) => Ok(nodes.document_order()),
        other => Err(bad(format!("it returns {} instead of elements", other.string()))),
    }
}

/// Returns the text of an element before its first child.
fn own_text(node: &Node<'_>) -> String {
    let Node::Element(element) = node else { return String::new() };
    let first = element.children().into_iter().next().and_then(|child| child.text());
    first.map(|text| text.text().to_owned()).unwrap_or_default()
}

/// Passes if a presentation's slide panel is shown.
pub(super) fn left_panel(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let text = case.require_str()?;
    let document = xml::read(text).map_err(upstream_error)?;
    let shown = document
        .descendants()
        .any(|node| node.has_tag_name("document-frame") && node.attribute("name") == Some("Slides View"));
    Ok(Score::of(
        shown,
        if shown { "the slides are shown" } else { "no document-frame is named \"Slides View\"" },
    ))
}

#[cfg(test)]
mod tests {
    use super::unknown_prefix;

    #[test]
    fn prefixes_are_told_from_axes_and_from_texts() {
        for (query, unknown) in [
            ("//xx:item", Some("xx")),
            ("//item[@st:selected = 'a:b']/ancestor::list", None),
            ("//item[@name=\"x:y\"]//val:value | //self::cp:size", None),
            ("//item[re:test(@name, 'o')]", Some("re")),
            ("//ancestor::yy:list", Some("yy")),
            ("//:item", Some("")),
        ] {
            assert_eq!(unknown_prefix(query), unknown, "{query}");
        }
    }
}
