//! Finds elements by the words of a query. There is no model behind it: a word is looked for in the name, the value, the
//! role, and the names and roles of what holds the element.

use std::fmt::Write as _;

use apprentice_protocol::{State, UiNode, UiTree, View, outline_line};

use crate::agent::view::roles::is_interactive_role;

/// Most elements in one answer, and most names that look alike.
const MOST: usize = 20;
const MOST_ALIKE: usize = 5;
/// How similar a name must be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.7;

/// Words that say nothing about an element.
const FILLERS: &[&str] = &[
    "a", "all", "an", "and", "any", "at", "by", "element", "elements", "for", "in", "is", "of", "on", "or",
    "that", "the", "this", "to", "which", "with",
];

/// Words for roles, beside the roles' own names.
const ROLE_WORDS: &[(&str, &[&str])] = &[
    ("field", &["textbox", "searchbox", "combobox", "spinbutton"]),
    ("input", &["textbox", "searchbox", "combobox", "spinbutton", "checkbox", "radio", "slider"]),
    ("box", &["textbox", "searchbox", "combobox", "checkbox", "listbox"]),
    ("dropdown", &["combobox", "listbox"]),
    ("select", &["combobox", "listbox"]),
    ("list", &["combobox", "listbox", "list"]),
    ("image", &["img"]),
    ("picture", &["img"]),
    ("icon", &["img"]),
    ("logo", &["img"]),
    ("title", &["heading"]),
    ("headline", &["heading"]),
    ("toggle", &["switch", "checkbox", "button"]),
    ("popup", &["dialog", "alertdialog"]),
    ("menu", &["menu", "menuitem", "menubar", "combobox"]),
];

/// What a word found at an element is worth.
const WHOLE_IN_NAME: u32 = 40;
const PART_OF_NAME: u32 = 25;
const IN_VALUE: u32 = 20;
const AS_ROLE: u32 = 20;
const AROUND: u32 = 8;
/// What is added for a name that is the query, for one that holds it in one piece, and for an element that acts.
const IS_NAME: u32 = 60;
const HOLDS_QUERY: u32 = 30;
const ACTS: u32 = 5;

/// An element and how well it fits.
struct Match<'t> {
    node: &'t UiNode,
    index: usize,
    words: usize,
    score: u32,
}

/// Whether an element can be acted on.
pub(crate) fn is_interactive(node: &UiNode) -> bool {
    let role = node.role.as_str();
    // A box without a role of its own stands in the tree because it takes the focus or has a name.
    node.is(State::Editable) || is_interactive_role(role) || (role == "generic" && !node.name.is_empty())
}

/// Finds the elements that a query is about, the best first.
pub(crate) fn find(tree: &UiTree, query: &str, view: &View) -> Result<String, String> {
    let words = wanted(query);
    if words.is_empty() {
        return Err("the query holds no word".into());
    }
    let phrase = normal(query);
    let candidates = tree
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| !node.is(State::Hidden) && node.role.as_str() != "document");
    let mut found: Vec<Match<'_>> =
        candidates.filter_map(|(index, _)| fit(tree, index, &words, &phrase)).collect();
    let whole = found.iter().any(|one| one.words == words.len());
    found.retain(|one| if whole { one.words == words.len() } else { one.words * 2 >= words.len() });
    found.sort_by(|one, other| {
        (other.words, other.score, one.index).cmp(&(one.words, one.score, other.index))
    });
    if found.is_empty() {
        return Ok(nothing(tree, &phrase));
    }
    let mut text = match (whole, found.len()) {
        (true, 1) => "1 element holds these words:\n".to_owned(),
        (true, many) => format!("{many} elements hold these words, the best first:\n"),
        (false, many) => format!("no element holds all of these words; {many} hold some of them:\n"),
    };
    for one in found.iter().take(MOST) {
        let around = holder(tree, one.node).map(|node| format!(" in {} {:?}", node.role.as_str(), node.name));
        let _ = writeln!(text, "{}{}", outline_line(one.node, 0, view), around.unwrap_or_default());
    }
    if found.len() > MOST {
        let _ = writeln!(text, "[{} more: use more words]", found.len() - MOST);
    }
    Ok(text)
}

/// The words of a text, in lower case.
fn split(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The words of a query without fillers; with them, if it holds nothing else.
fn wanted(query: &str) -> Vec<String> {
    let all = split(query);
    let telling: Vec<String> = all.iter().filter(|word| !FILLERS.contains(&word.as_str())).cloned().collect();
    if telling.is_empty() { all } else { telling }
}

fn normal(text: &str) -> String {
    split(text).join(" ")
}

/// How well an element fits; `None` if no word stands at the element itself.
fn fit<'t>(tree: &'t UiTree, index: usize, words: &[String], phrase: &str) -> Option<Match<'t>> {
    let node = tree.nodes.get(index)?;
    let (name, value) = (split(&node.name), normal(node.value.as_deref().unwrap_or_default()));
    let joined = name.join(" ");
    let around: Vec<(String, &str)> =
        ancestors(tree, node).map(|one| (normal(&one.name), one.role.as_str())).collect();
    let (mut matched, mut own, mut score) = (0, 0, 0);
    for word in words {
        let here = if name.contains(word) {
            WHOLE_IN_NAME
        } else if joined.contains(word.as_str()) {
            PART_OF_NAME
        } else if value.contains(word.as_str()) {
            IN_VALUE
        } else if is_role(word, node.role.as_str()) {
            AS_ROLE
        } else {
            0
        };
        own += usize::from(here > 0);
        let near = around.iter().any(|(name, role)| name.contains(word.as_str()) || is_role(word, role));
        matched += usize::from(here > 0 || near);
        score += if here > 0 { here } else { AROUND * u32::from(near) };
    }
    if own == 0 {
        return None;
    }
    score += match () {
        () if joined == *phrase || joined == words.join(" ") => IS_NAME,
        () if joined.contains(phrase) => HOLDS_QUERY,
        () => 0,
    };
    score += if is_interactive(node) { ACTS } else { 0 };
    // Of two names with the words, the one with fewer others is meant.
    let others = u32::try_from(name.len().saturating_sub(words.len())).unwrap_or(u32::MAX).min(20);
    Some(Match { node, index, words: matched, score: score.saturating_sub(others) })
}

fn is_role(word: &str, role: &str) -> bool {
    let known = ROLE_WORDS.iter().find(|(known, _)| *known == word);
    known.is_some_and(|(_, roles)| roles.contains(&role))
        || role == word
        || role.strip_suffix("box") == Some(word)
}

fn ancestors<'t>(tree: &'t UiTree, node: &UiNode) -> impl Iterator<Item = &'t UiNode> {
    let up = |parent: Option<u32>| parent.and_then(|parent| tree.nodes.get(parent as usize));
    std::iter::successors(up(node.parent), move |node| up(node.parent))
}

/// The nearest element with a name that holds this one.
fn holder<'t>(tree: &'t UiTree, node: &UiNode) -> Option<&'t UiNode> {
    ancestors(tree, node).find(|one| !one.name.is_empty() && one.role.as_str() != "document")
}

fn nothing(tree: &UiTree, phrase: &str) -> String {
    let mut alike: Vec<(f64, &UiNode)> = Vec::new();
    for node in tree.nodes.iter().filter(|node| !node.is(State::Hidden) && !node.name.trim().is_empty()) {
        let name = normal(&node.name);
        let parts = name.split(' ').map(|part| strsim::jaro_winkler(part, phrase));
        let near = parts.fold(strsim::jaro_winkler(&name, phrase), f64::max);
        if near >= ALIKE && !alike.iter().any(|(_, other)| other.name == node.name) {
            alike.push((near, node));
        }
    }
    alike.sort_by(|one, other| other.0.total_cmp(&one.0));
    let names: Vec<String> = alike
        .iter()
        .take(MOST_ALIKE)
        .map(|(_, node)| format!("{} {:?} #{}", node.role.as_str(), node.name, node.id))
        .collect();
    match names.as_slice() {
        [] => "no element holds any of these words\n".to_owned(),
        names => {
            format!("no element holds any of these words; names that look alike: {}\n", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apprentice_protocol::{Size, State, UiNode, UiTree, View};

    use super::{MOST, find};

    fn node(index: usize, parent: Option<u32>, role: &str, name: &str) -> UiNode {
        UiNode::new(format!("n{index}"), parent, role, name)
    }

    fn page() -> UiTree {
        let mut nodes = vec![
            node(0, None, "document", "Garden shop"),
            node(1, Some(0), "navigation", "Main"),
            node(2, Some(1), "link", "Orders"),
            node(3, Some(0), "form", "Delivery address"),
            node(4, Some(3), "textbox", "Street and number"),
            node(5, Some(3), "textbox", "Postcode"),
            node(6, Some(3), "button", "Save"),
            node(7, Some(0), "dialog", "Payment"),
            node(8, Some(7), "button", "Save and pay"),
            node(9, Some(7), "button", "Cancel"),
            node(10, Some(7), "text", "Save takes a moment"),
            node(11, Some(0), "searchbox", "Find a plant"),
            node(12, Some(0), "button", "Secret"),
        ];
        nodes[4].value = Some("Elm Street 4".into());
        nodes[12].states = BTreeSet::from([State::Hidden]);
        UiTree { nodes, truncated: None }
    }

    fn ids(query: &str) -> Vec<String> {
        let text = find(&page(), query, &View::whole(Size::new(800, 600))).expect("words");
        let ids = text.lines().skip(1).filter_map(|line| line.split('#').nth(1));
        ids.map(|rest| rest.split(' ').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn the_element_that_a_query_means_comes_first() {
        let check = |query: &str, expected: &[&str]| assert_eq!(ids(query), expected, "{query}");
        check("Save", &["n6", "n8", "n10"]);
        check("the save button", &["n6", "n8"]);
        check("pay", &["n8", "n7"]);
        check("button in the payment dialog", &["n8", "n9"]);
        check("street field", &["n4"]);
        check("elm", &["n4"]);
        check("postc", &["n5"]);
        check("search box", &["n11"]);
        check("orders link", &["n2"]);
        check("secret", &[]);
    }

    #[test]
    fn of_two_that_hold_the_words_the_better_comes_first() {
        let check = |query: &str, worse: UiNode, better: UiNode| {
            let nodes = vec![worse, better, node(2, None, "form", "Delivery address")];
            let tree = UiTree { nodes, truncated: None };
            let text = find(&tree, query, &View::whole(Size::new(8, 8))).expect("words");
            let first = text.lines().nth(1).unwrap_or_default();
            assert!(text.starts_with("2 elements") && first.ends_with("#n1"), "{query}: {text}");
        };
        let other = |role: &str, name: &str| node(0, None, role, name);
        let best = |role: &str, name: &str| node(1, None, role, name);
        check("settings", other("heading", "Settings"), best("button", "Settings"));
        check("new order", other("link", "Order new plants soon"), best("link", "Start a new order today"));
        check("art", other("link", "Cart"), best("link", "Modern art"));
        check("link", other("link", "Prices"), best("text", "Link to us"));
        check("rake", other("link", "Rakes of all kinds"), best("link", "Rakes"));
        check("delete account", other("link", "Delete account history"), best("link", "Delete account"));
        let holds = UiNode { value: Some("Oslo".into()), ..other("textbox", "City") };
        check("oslo", holds, best("link", "Oslo guide"));
        let holds = UiNode { value: Some("Oslo".into()), ..other("textbox", "Guide") };
        check("guide oslo", holds, best("link", "Oslo hotel guide"));
        check("us link", other("link", "Us"), best("text", "Link for us"));
        check("save address", node(0, Some(2), "button", "Save"), best("button", "Save the address"));
    }

    #[test]
    fn what_fits_in_part_and_what_looks_alike_is_told_as_such() {
        let text = |query: &str| find(&page(), query, &View::whole(Size::new(800, 600)));
        let part = text("cancel subscription").expect("words");
        assert_eq!(
            part,
            "no element holds all of these words; 1 hold some of them:\nbutton \"Cancel\" #n9 in dialog \"Payment\"\n"
        );
        let alike = text("pstcode").expect("words");
        assert!(alike.contains("names that look alike: textbox \"Postcode\" #n5"), "{alike}");
        assert_eq!(text("zzzz").expect("words"), "no element holds any of these words\n");
        assert!(text(" ?! ").is_err());
    }

    #[test]
    fn at_most_twenty_elements_are_told() {
        let nodes = (0..30).map(|index| node(index, None, "button", "Add")).collect();
        let text =
            find(&UiTree { nodes, truncated: None }, "add", &View::whole(Size::new(8, 8))).expect("words");
        assert_eq!(text.lines().count(), 1 + MOST + 1);
        assert!(
            text.starts_with("30 elements hold these words") && text.ends_with("[10 more: use more words]\n")
        );
    }
}
