//! Values and calls of a Python function, as values and calls of this language.

use std::collections::BTreeMap;

use super::syntax::{Call, Comparison, Expression, Part};
use super::text::{is_plain, quoted};
use super::{Untranslated, selector};
use apprentice_protocol::Chord;

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
    pub(super) base: Option<&'a str>,
    pub(super) names: BTreeMap<String, Kind>,
    pub(super) problems: Vec<Untranslated>,
}

impl Call {
    fn named(&self, name: &str) -> Option<&Expression> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the name of a setting that changes what the call does, beside the expected ones.
    fn other_than(&self, expected: &[&str]) -> Option<&str> {
        let has_effect = |name: &&str| !expected.contains(name) && !WITHOUT_EFFECT.contains(name);
        self.named.iter().map(|(name, _)| name.as_str()).find(has_effect)
    }
}

impl<'a> Values<'a> {
    pub(super) fn new(base: Option<&'a str>) -> Self {
        Self { base, names: BTreeMap::new(), problems: Vec::new() }
    }

    /// Notes what cannot be translated. The rest is read on, so that all of a function is told at once.
    pub(super) fn lacks(&mut self, line: usize, reason: impl Into<String>) -> String {
        self.problems.push(Untranslated { line, reason: reason.into() });
        String::new()
    }

    pub(super) fn value(&mut self, of: &Expression) -> String {
        match of {
            Expression::Name { name, .. } => name.clone(),
            Expression::Number { digits, .. } => digits.clone(),
            Expression::YesNo { holds, .. } => holds.to_string(),
            Expression::Text { parts, .. } => string(parts),
            Expression::Call(call) => self.call(call),
            Expression::Comparison(_) => format!("({})", self.condition(of)),
            Expression::Logic { .. } | Expression::Not { .. } => self.condition(of),
            Expression::List { items, .. } if items.iter().all(Expression::is_text) => {
                let texts: Vec<String> = items.iter().map(|one| self.value(one)).collect();
                format!("[{}]", texts.join(", "))
            }
            Expression::List { line, .. } => self.lacks(*line, "list is not translated"),
            Expression::None { line } => self.lacks(*line, "none is not translated"),
            Expression::Attribute { line, .. } => self.lacks(*line, "attribute is not translated"),
            Expression::Other(lacking) => self.lacks(lacking.line, lacking.reason.as_str()),
        }
    }

    /// Returns what a value is, as far as its form shows.
    pub(super) fn kind(&self, of: &Expression) -> Kind {
        match of {
            Expression::Name { name, .. } => self.names.get(name).copied().unwrap_or(Kind::Unknown),
            Expression::Number { .. } => Kind::Number,
            Expression::YesNo { .. }
            | Expression::Comparison(_)
            | Expression::Logic { .. }
            | Expression::Not { .. } => Kind::YesNo,
            Expression::Text { .. } => Kind::Text,
            Expression::List { .. } => Kind::Texts,
            Expression::Call(call) => kind_of_call(call),
            Expression::None { .. } | Expression::Attribute { .. } | Expression::Other(_) => Kind::Unknown,
        }
    }

    /// A value that is asked whether it holds. What counts as true differs between the languages, so it is spelled out.
    pub(super) fn condition(&mut self, of: &Expression) -> String {
        match of {
            Expression::Not { value, .. } => format!("!({})", self.condition(value)),
            Expression::Logic { sign, sides, .. } => {
                let sides: Vec<String> = sides.iter().map(|side| self.condition(side)).collect();
                format!("({})", sides.join(&format!(" {sign} ")))
            }
            Expression::Comparison(comparison) => self.comparison(comparison),
            _ => self.truth(of),
        }
    }

    fn comparison(&mut self, of: &Comparison) -> String {
        let (left, right) = (&*of.left, &*of.right);
        match of.sign.as_str() {
            sign if COMPARISONS.contains(&sign) && !right.is_none() => {
                format!("{} {sign} {}", self.value(left), self.value(right))
            }
            "in" | "not in" if self.kind(right) == Kind::Text => {
                let holds = format!("{}.contains({})", self.value(right), self.value(left));
                if of.sign == "in" { holds } else { format!("!({holds})") }
            }
            // What is not given is an empty text here.
            "is" | "is not" | "==" | "!=" if right.is_none() => {
                let holds = self.truth(left);
                if matches!(of.sign.as_str(), "is not" | "!=") { holds } else { format!("!({holds})") }
            }
            other => self.lacks(of.line, format!("the comparison `{other}`")),
        }
    }

    fn truth(&mut self, of: &Expression) -> String {
        let value = self.value(of);
        match self.kind(of) {
            Kind::YesNo => value,
            Kind::Text => format!("{value} != \"\""),
            Kind::Number => format!("{value} != 0"),
            Kind::Texts => format!("{value}.len() > 0"),
            Kind::Element => format!("{value}.count() > 0"),
            Kind::Unknown => self.lacks(of.line(), "a condition whose kind of value is not known"),
        }
    }

    pub(super) fn call(&mut self, call: &Call) -> String {
        let Some((object, name)) = call.method() else {
            return self.lacks(call.line, format!("the call of {}", call.written));
        };
        // `page.keyboard.press(…)` is `page.press(…)` here.
        let object = match object {
            Expression::Attribute { object, name, .. } if name == "keyboard" => object,
            _ => object,
        };
        if let Expression::Attribute { line, name, .. } = object {
            return self.lacks(*line, format!("`.{name}`"));
        }
        let owner = match self.value(object) {
            sum if sum.contains(" + ") && object.is_text() => format!("({sum})"),
            owner => owner,
        };
        if name == "wait_for" {
            return self.wait(call, &owner);
        }
        format!("{owner}.{}", self.method(call, name))
    }

    fn method(&mut self, call: &Call, name: &str) -> String {
        let expected: &[&str] = match name {
            "get_by_role" => &["name"],
            "select_option" => &["label", "value"],
            "locator" => &["has_text"],
            "click" => &["button"],
            _ => &[],
        };
        if let Some(other) = call.other_than(expected) {
            return self.lacks(call.line, format!("`{name}` with `{other}`"));
        }
        if let Some((_, own, count)) = CALLS.iter().find(|(theirs, ..)| *theirs == name) {
            if call.plain.len() != *count {
                return self.lacks(call.line, format!("`{name}` with other arguments"));
            }
            let values: Vec<String> = call.plain.iter().map(|one| self.value(one)).collect();
            return format!("{own}({})", values.join(", "));
        }
        match (name, call.plain.as_slice()) {
            ("get_by_role", [role]) => {
                let role = self.value(role);
                match call.named("name") {
                    Some(name) => format!("get_by_role({role}, {})", self.pattern(name, call)),
                    None => format!("get_by_role({role})"),
                }
            }
            ("get_by_label" | "get_by_text", [text]) => format!("{name}({})", self.pattern(text, call)),
            ("locator" | "query_selector", [selector]) => self.selector(selector, call),
            ("click", []) => self.click(call),
            // A click, a fill or a choice by a selector of the page.
            ("click", [selector]) => format!("{}.click()", self.selector(selector, call)),
            ("fill", [selector, text]) => {
                format!("{}.fill({})", self.selector(selector, call), self.value(text))
            }
            ("press", [keys]) => self.press(keys),
            ("select_option", [value]) => format!("select_option({})", self.value(value)),
            ("select_option", []) => match call.named("label").or_else(|| call.named("value")) {
                Some(value) => format!("select_option({})", self.value(value)),
                None => self.lacks(call.line, "`select_option` without a value"),
            },
            ("goto", [address]) => self.goto(address),
            _ => self.lacks(call.line, format!("`{name}` is not translated")),
        }
    }

    fn wait(&mut self, call: &Call, owner: &str) -> String {
        if let Some(other) = call.other_than(&["state"]) {
            return self.lacks(call.line, format!("`wait_for` with `{other}`"));
        }
        match call.named("state").map(|state| state.as_text().unwrap_or("a value")) {
            None | Some("visible" | "attached") => format!("{owner}.wait_for()"),
            Some("hidden" | "detached") => format!("expect({owner}).to_be_hidden()"),
            Some(other) => self.lacks(call.line, format!("`wait_for` of {other}")),
        }
    }

    fn click(&mut self, call: &Call) -> String {
        match call.named("button").map(|button| button.as_text().unwrap_or("given")) {
            None | Some("left") => "click()".to_owned(),
            Some("right") => "right_click()".to_owned(),
            Some(other) => self.lacks(call.line, format!("a click of the {other} button")),
        }
    }

    fn selector(&mut self, of: &Expression, call: &Call) -> String {
        let content = of.as_text().unwrap_or_default();
        let found = match call.named("has_text") {
            Some(text) if text.is_text() => {
                let text = self.part(text);
                selector::with_text(content, &text)
            }
            Some(_) => None,
            None => selector::locator(content),
        };
        found.unwrap_or_else(|| self.lacks(of.line(), "a selector of the page's markup"))
    }

    fn press(&mut self, keys: &Expression) -> String {
        match keys.as_text().map(Chord::parse) {
            Some(Ok(chord)) => format!("press({})", quoted(&chord.to_string())),
            Some(Err(_)) | None => self.lacks(keys.line(), "keys that are not known"),
        }
    }

    /// A name that is looked for: any part of it, unless the call asks for the whole; `re.compile("words")` is a part.
    fn pattern(&mut self, of: &Expression, call: &Call) -> String {
        match of {
            Expression::Call(compiled) if compiled.written == "re.compile" => {
                return match compiled.plain.as_slice() {
                    [words] if words.as_text().is_some_and(is_plain) => self.part(words),
                    _ => self.lacks(of.line(), "a pattern that is more than plain words"),
                };
            }
            _ => {}
        }
        match call.named("exact") {
            Some(Expression::YesNo { holds: true, .. }) => self.value(of),
            _ => self.part(of),
        }
    }

    fn part(&mut self, of: &Expression) -> String {
        match of.as_text() {
            Some(text) if !text.contains('"') => quoted(&format!("*{text}*")),
            _ => format!("\"*\" + {} + \"*\"", self.value(of)),
        }
    }

    fn goto(&mut self, address: &Expression) -> String {
        let text = self.value(address);
        let is_relative = text.starts_with("\"/");
        let is_whole = ["\"http:", "\"https:", "\"file:"].iter().any(|start| text.starts_with(start));
        match (is_relative, self.base) {
            (true, Some(base)) => format!("goto({} + {text})", quoted(base.trim_end_matches('/'))),
            (true, None) => {
                self.lacks(address.line(), "an address without its site; name the site with --base")
            }
            (false, _) if is_whole || text.is_empty() => format!("goto({text})"),
            (false, _) => self.lacks(address.line(), "an address that may be relative"),
        }
    }
}

fn kind_of_call(call: &Call) -> Kind {
    match call.method().map(|(_, name)| name).unwrap_or_default() {
        "get_by_role" | "get_by_label" | "get_by_text" | "locator" | "query_selector" => Kind::Element,
        "count" => Kind::Number,
        "is_visible" => Kind::YesNo,
        "inner_text" | "text_content" | "input_value" | "lower" | "upper" | "strip" => Kind::Text,
        _ => Kind::Unknown,
    }
}

/// A text in quotes, or a sum of texts and names.
fn string(parts: &[Part]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => quoted(text),
            Part::Name(name) => name.clone(),
        })
        .collect();
    match parts.as_slice() {
        [] => quoted(""),
        [first, ..] if first.starts_with('"') => parts.join(" + "),
        // A text first, so that numbers are joined as texts.
        _ => format!("\"\" + {}", parts.join(" + ")),
    }
}
