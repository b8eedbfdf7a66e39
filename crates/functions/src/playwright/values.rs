//! Values and calls of a Python function, as values and calls of this language.

use std::collections::BTreeMap;

use apprentice_protocol::Chord;
use tree_sitter::Node;

use super::text::{is_plain, quoted, unescaped};
use super::{Untranslated, selector};

/// What a name of the Python function holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    YesNo,
    Texts,
    Element,
    /// Not known: such a name can be passed on, and decides nothing.
    Unknown,
}

/// Calls that are the same here but for their name: theirs, ours, the number of arguments.
const CALLS: [(&str, &str, usize); 15] = [
    ("dblclick", "double_click", 0),
    ("hover", "hover", 0),
    ("check", "check", 0),
    ("uncheck", "uncheck", 0),
    ("go_back", "go_back", 0),
    ("fill", "fill", 1),
    ("type", "type", 1),
    ("inner_text", "text", 0),
    ("text_content", "text", 0),
    ("input_value", "value", 0),
    ("count", "count", 0),
    ("is_visible", "is_visible", 0),
    ("lower", "to_lower", 0),
    ("upper", "to_upper", 0),
    ("strip", "trim", 0),
];
/// Settings of a call that make no difference here: each call waits for its element, and no longer than the language does.
const WITHOUT_EFFECT: [&str; 4] = ["timeout", "force", "no_wait_after", "exact"];
/// Comparisons that both languages have.
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

/// Translates the values of one function, and collects what it cannot.
pub(super) struct Values<'a> {
    pub(super) text: &'a str,
    pub(super) base: Option<&'a str>,
    pub(super) names: BTreeMap<String, Kind>,
    pub(super) problems: Vec<Untranslated>,
}

/// The arguments of a call.
struct Arguments<'t> {
    named: Vec<(String, Node<'t>)>,
    plain: Vec<Node<'t>>,
}

impl<'t> Arguments<'t> {
    fn named(&self, name: &str) -> Option<Node<'t>> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Returns the name of a setting that changes what the call does, beside the expected ones.
    fn other_than(&self, expected: &[&str]) -> Option<&str> {
        let has_effect = |name: &&str| !expected.contains(name) && !WITHOUT_EFFECT.contains(name);
        self.named.iter().map(|(name, _)| name.as_str()).find(has_effect)
    }
}

impl<'a> Values<'a> {
    pub(super) fn new(text: &'a str, base: Option<&'a str>) -> Self {
        Self { text, base, names: BTreeMap::new(), problems: Vec::new() }
    }

    pub(super) fn of(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Notes what cannot be translated. The rest is read on, so that all of a function is told at once.
    pub(super) fn lacks(&mut self, node: Node<'_>, reason: impl Into<String>) -> String {
        self.problems.push(Untranslated { line: node.start_position().row + 1, reason: reason.into() });
        String::new()
    }

    pub(super) fn value(&mut self, node: Node<'_>) -> String {
        match node.kind() {
            "await" | "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.value(inner),
                None => self.lacks(node, "nothing is awaited"),
            },
            "identifier" | "integer" => self.of(node).to_owned(),
            "true" => "true".to_owned(),
            "false" => "false".to_owned(),
            "string" => self.string(node),
            "call" => self.call(node),
            "comparison_operator" | "boolean_operator" | "not_operator" => self.condition(node),
            "list" if children(node).iter().all(|one| one.kind() == "string") => {
                let texts: Vec<String> = children(node).into_iter().map(|one| self.string(one)).collect();
                format!("[{}]", texts.join(", "))
            }
            other => self.lacks(node, format!("{} is not translated", other.replace('_', " "))),
        }
    }

    /// Returns what a value is, as far as its form shows.
    pub(super) fn kind(&self, node: Node<'_>) -> Kind {
        match node.kind() {
            "await" | "parenthesized_expression" => {
                node.named_child(0).map_or(Kind::Unknown, |inner| self.kind(inner))
            }
            "identifier" => self.names.get(self.of(node)).copied().unwrap_or(Kind::Unknown),
            "integer" => Kind::Number,
            "true" | "false" | "comparison_operator" | "not_operator" => Kind::YesNo,
            "string" => Kind::Text,
            "list" => Kind::Texts,
            "call" => self.kind_of_call(node),
            _ => Kind::Unknown,
        }
    }

    fn kind_of_call(&self, node: Node<'_>) -> Kind {
        let called =
            node.child_by_field_name("function").and_then(|one| one.child_by_field_name("attribute"));
        match called.map(|name| self.of(name)).unwrap_or_default() {
            "get_by_role" | "get_by_label" | "get_by_text" | "locator" | "query_selector" => Kind::Element,
            "count" => Kind::Number,
            "is_visible" => Kind::YesNo,
            "inner_text" | "text_content" | "input_value" | "lower" | "upper" | "strip" => Kind::Text,
            _ => Kind::Unknown,
        }
    }

    /// A value that is asked whether it holds. What counts as true differs between the languages, so it is spelled out.
    pub(super) fn condition(&mut self, node: Node<'_>) -> String {
        match node.kind() {
            "await" | "parenthesized_expression" if node.named_child(0).is_some_and(is_logic) => {
                node.named_child(0).map(|inner| format!("({})", self.condition(inner))).unwrap_or_default()
            }
            "not_operator" => match node.child_by_field_name("argument") {
                Some(inner) => format!("!({})", self.condition(inner)),
                None => self.lacks(node, "nothing is denied"),
            },
            "boolean_operator" => self.both(node),
            "comparison_operator" => self.comparison(node),
            _ => self.truth(node),
        }
    }

    fn both(&mut self, node: Node<'_>) -> String {
        let sides = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let word = node.child_by_field_name("operator").map(|word| self.of(word));
        let ((Some(left), Some(right)), Some(word)) = (sides, word) else {
            return self.lacks(node, "an incomplete condition");
        };
        let sign = if word == "and" { "&&" } else { "||" };
        format!("({} {sign} {})", self.condition(left), self.condition(right))
    }

    fn comparison(&mut self, node: Node<'_>) -> String {
        let sides = children(node);
        let signs = operators(node, self.text);
        let ([left, right], [sign]) = (sides.as_slice(), signs.as_slice()) else {
            return self.lacks(node, "a chain of comparisons");
        };
        match sign.as_str() {
            sign if COMPARISONS.contains(&sign) && right.kind() != "none" => {
                format!("{} {sign} {}", self.value(*left), self.value(*right))
            }
            "in" | "not in" if self.kind(*right) == Kind::Text => {
                let holds = format!("{}.contains({})", self.value(*right), self.value(*left));
                if sign == "in" { holds } else { format!("!({holds})") }
            }
            // What is not given is an empty text here.
            "is" | "is not" | "==" | "!=" if right.kind() == "none" => {
                let holds = self.truth(*left);
                if sign.contains("not") || sign == "!=" { holds } else { format!("!({holds})") }
            }
            other => self.lacks(node, format!("the comparison `{other}`")),
        }
    }

    fn truth(&mut self, node: Node<'_>) -> String {
        let value = self.value(node);
        match self.kind(node) {
            Kind::YesNo => value,
            Kind::Text => format!("{value} != \"\""),
            Kind::Number => format!("{value} != 0"),
            Kind::Texts => format!("{value}.len() > 0"),
            Kind::Element => format!("{value}.count() > 0"),
            Kind::Unknown => self.lacks(node, "a condition whose kind of value is not known"),
        }
    }

    /// A text in quotes, or an f-string of names.
    pub(super) fn string(&mut self, node: Node<'_>) -> String {
        let start = node.child(0).map(|start| self.of(start)).unwrap_or_default().to_lowercase();
        if start.contains('b') || start.contains('r') {
            return self.lacks(node, "a raw text or bytes");
        }
        let mut parts = Vec::new();
        for part in children(node) {
            match part.kind() {
                "string_content" => match unescaped(self.of(part), start.contains('f')) {
                    Some(text) => parts.push(quoted(&text)),
                    None => return self.lacks(part, "an escape in a text"),
                },
                "interpolation" => match part.named_child(0).filter(|_| part.named_child_count() == 1) {
                    Some(inner) if inner.kind() == "identifier" => parts.push(self.of(inner).to_owned()),
                    _ => return self.lacks(part, "only names can stand in a text"),
                },
                _ => {}
            }
        }
        match parts.as_slice() {
            [] => quoted(""),
            [first, ..] if first.starts_with('"') => parts.join(" + "),
            // A text first, so that numbers are joined as texts.
            _ => format!("\"\" + {}", parts.join(" + ")),
        }
    }

    pub(super) fn call(&mut self, node: Node<'_>) -> String {
        let called = node.child_by_field_name("function").filter(|one| one.kind() == "attribute");
        let parts =
            called.map(|one| (one.child_by_field_name("object"), one.child_by_field_name("attribute")));
        let Some((Some(object), Some(name))) = parts else {
            let what = self.of(node).split('(').next().unwrap_or_default();
            return self.lacks(node, format!("the call of {what}"));
        };
        let given = self.arguments(node);
        // `page.keyboard.press(…)` is `page.press(…)` here.
        let object = match object.child_by_field_name("attribute").map(|last| self.of(last)) {
            Some("keyboard") => object.child_by_field_name("object").unwrap_or(object),
            _ => object,
        };
        if object.kind() == "attribute" {
            let what = self.of(object).rsplit('.').next().unwrap_or_default();
            return self.lacks(object, format!("`.{what}`"));
        }
        let name = self.of(name);
        let owner = match self.value(object) {
            sum if sum.contains(" + ") && object.kind() == "string" => format!("({sum})"),
            owner => owner,
        };
        if name == "wait_for" {
            return self.wait(node, &owner, &given);
        }
        format!("{owner}.{}", self.method(node, name, &given))
    }

    fn arguments<'t>(&self, node: Node<'t>) -> Arguments<'t> {
        let mut given = Arguments { named: Vec::new(), plain: Vec::new() };
        for one in node.child_by_field_name("arguments").map(children).unwrap_or_default() {
            match (one.child_by_field_name("name"), one.child_by_field_name("value")) {
                (Some(name), Some(value)) if one.kind() == "keyword_argument" => {
                    given.named.push((self.of(name).to_owned(), value));
                }
                _ => given.plain.push(one),
            }
        }
        given
    }

    fn method(&mut self, node: Node<'_>, name: &str, given: &Arguments<'_>) -> String {
        let expected: &[&str] = match name {
            "get_by_role" => &["name"],
            "select_option" => &["label", "value"],
            "locator" => &["has_text"],
            "click" => &["button"],
            _ => &[],
        };
        if let Some(other) = given.other_than(expected) {
            return self.lacks(node, format!("`{name}` with `{other}`"));
        }
        if let Some((_, own, count)) = CALLS.iter().find(|(theirs, ..)| *theirs == name) {
            if given.plain.len() != *count {
                return self.lacks(node, format!("`{name}` with other arguments"));
            }
            let values: Vec<String> = given.plain.iter().map(|one| self.value(*one)).collect();
            return format!("{own}({})", values.join(", "));
        }
        match (name, given.plain.as_slice()) {
            ("get_by_role", [role]) => {
                let role = self.value(*role);
                match given.named("name") {
                    Some(name) => format!("get_by_role({role}, {})", self.pattern(name, given)),
                    None => format!("get_by_role({role})"),
                }
            }
            ("get_by_label" | "get_by_text", [text]) => format!("{name}({})", self.pattern(*text, given)),
            ("locator" | "query_selector", [selector]) => self.selector(*selector, given),
            ("click", []) => self.click(node, given),
            // A click, a fill or a choice by a selector of the page.
            ("click", [selector]) => format!("{}.click()", self.selector(*selector, given)),
            ("fill", [selector, text]) => {
                format!("{}.fill({})", self.selector(*selector, given), self.value(*text))
            }
            ("press", [keys]) => self.press(*keys),
            ("select_option", [value]) => format!("select_option({})", self.value(*value)),
            ("select_option", []) => match given.named("label").or_else(|| given.named("value")) {
                Some(value) => format!("select_option({})", self.value(value)),
                None => self.lacks(node, "`select_option` without a value"),
            },
            ("goto", [address]) => self.goto(*address),
            _ => self.lacks(node, format!("`{name}` is not translated")),
        }
    }

    fn wait(&mut self, node: Node<'_>, owner: &str, given: &Arguments<'_>) -> String {
        if let Some(other) = given.other_than(&["state"]) {
            return self.lacks(node, format!("`wait_for` with `{other}`"));
        }
        match given.named("state").map(|state| self.string(state)).as_deref() {
            None | Some("\"visible\"" | "\"attached\"") => format!("{owner}.wait_for()"),
            Some("\"hidden\"" | "\"detached\"") => format!("expect({owner}).to_be_hidden()"),
            Some(other) => self.lacks(node, format!("`wait_for` of {other}")),
        }
    }

    fn click(&mut self, node: Node<'_>, given: &Arguments<'_>) -> String {
        match given.named("button").map(|button| self.of(button).trim_matches(['"', '\''])) {
            None | Some("left") => "click()".to_owned(),
            Some("right") => "right_click()".to_owned(),
            Some(other) => self.lacks(node, format!("a click of the {other} button")),
        }
    }

    fn selector(&mut self, node: Node<'_>, given: &Arguments<'_>) -> String {
        let text = children(node);
        let content = match text.as_slice() {
            [_, content, _] if node.kind() == "string" && content.kind() == "string_content" => {
                self.of(*content)
            }
            _ => "",
        };
        let found = match given.named("has_text") {
            Some(text) if text.kind() == "string" => {
                let text = self.part(text);
                selector::with_text(content, &text)
            }
            Some(_) => None,
            None => selector::locator(content),
        };
        found.unwrap_or_else(|| self.lacks(node, "a selector of the page's markup"))
    }

    fn press(&mut self, keys: Node<'_>) -> String {
        let content = self.of(keys).trim_matches(['"', '\'']);
        match Chord::parse(content) {
            Ok(chord) if keys.kind() == "string" => format!("press({})", quoted(&chord.to_string())),
            _ => self.lacks(keys, "keys that are not known"),
        }
    }

    /// A name that is looked for: any part of it, unless the call asks for the whole; `re.compile("words")` is a part.
    fn pattern(&mut self, node: Node<'_>, given: &Arguments<'_>) -> String {
        if node.kind() == "call" && self.of(node).starts_with("re.compile(") {
            let words = self.arguments(node);
            return match words.plain.as_slice() {
                [one] if one.kind() == "string" && is_plain(self.of(*one)) => self.part(*one),
                _ => self.lacks(node, "a pattern that is more than plain words"),
            };
        }
        match given.named("exact").map(|exact| exact.kind()) {
            Some("true") => self.value(node),
            _ => self.part(node),
        }
    }

    fn part(&mut self, node: Node<'_>) -> String {
        let value = self.value(node);
        match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) if node.kind() == "string" && !inner.contains('"') => format!("\"*{inner}*\""),
            _ => format!("\"*\" + {value} + \"*\""),
        }
    }

    fn goto(&mut self, address: Node<'_>) -> String {
        let text = self.value(address);
        let is_relative = text.starts_with("\"/");
        let is_whole = ["\"http:", "\"https:", "\"file:"].iter().any(|start| text.starts_with(start));
        match (is_relative, self.base) {
            (true, Some(base)) => format!("goto({} + {text})", quoted(base.trim_end_matches('/'))),
            (true, None) => self.lacks(address, "an address without its site; name the site with --base"),
            (false, _) if is_whole || text.is_empty() => format!("goto({text})"),
            (false, _) => self.lacks(address, "an address that may be relative"),
        }
    }
}

fn is_logic(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "boolean_operator" | "comparison_operator" | "not_operator" | "parenthesized_expression"
    )
}

/// Returns the signs between the sides of a comparison.
fn operators(node: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = node.walk();
    let signs = node.children_by_field_name("operators", &mut cursor);
    signs.map(|sign| text.get(sign.byte_range()).unwrap_or_default().to_owned()).collect()
}

/// The named children of a node, without comments.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|one| one.kind() != "comment").collect()
}
