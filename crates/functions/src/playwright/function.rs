//! One Python function: its parameters, its comment and its statements.

use std::fmt::Write as _;

use tree_sitter::Node;

use super::docs::Docs;
use super::text::quoted;
use super::values::{Kind, Values, children};
use super::{PlaywrightFunction, Untranslated};
use crate::source::Source;

/// Waits that every call here does by itself, and output that nobody reads.
const DROPPED: [&str; 4] = ["wait_for_load_state", "wait_for_timeout", "sleep", "print"];

/// A parameter of the Python function.
struct Parameter {
    name: String,
    kind: &'static str,
    /// Whether it may be left out in Python. Here every argument is given, and an empty text stands for none.
    is_optional: bool,
}

/// Translates one function.
struct Translation<'a> {
    values: Values<'a>,
    /// The lines of the body.
    body: String,
}

/// Translates a function of a file. `base` is the address of the site that relative addresses begin with.
pub(super) fn translated(text: &str, base: Option<&str>, node: Node<'_>) -> PlaywrightFunction {
    let mut translation = Translation { values: Values::new(text, base), body: String::new() };
    let name = node.child_by_field_name("name").map(|name| translation.values.of(name)).unwrap_or_default();
    let statements = node.child_by_field_name("body").map(children).unwrap_or_default();
    let comment = statements.first().and_then(|first| docstring(*first));
    let docs = Docs::read(comment.map(|comment| translation.values.of(comment)).unwrap_or_default());
    let parameters = translation.parameters(node, &docs);
    translation.block(&statements[usize::from(comment.is_some())..], 1);
    let source = assembled(name, &docs, &parameters, &translation.body);
    let mut problems = translation.values.problems;
    if problems.is_empty()
        && let Err(violations) = Source::read(&source, &[])
    {
        let line = node.start_position().row + 1;
        let reason = |one: &crate::check::Violation| format!("{}; {}", one.problem, one.remedy);
        problems.extend(violations.iter().map(|one| Untranslated { line, reason: reason(one) }));
    }
    let translated = if problems.is_empty() { Ok(source) } else { Err(problems) };
    PlaywrightFunction { name: name.to_owned(), about: docs.about, translated }
}

fn assembled(name: &str, docs: &Docs, parameters: &[Parameter], body: &str) -> String {
    let mut source = format!("/// {}\n", docs.about);
    for one in parameters {
        let about = docs.arguments.get(&one.name).filter(|about| !about.is_empty()).cloned();
        let about = about.unwrap_or_else(|| one.name.replace('_', " "));
        let empty = if one.is_optional { " (an empty text for none)" } else { "" };
        let _ = writeln!(source, "/// - {} ({}): {about}{empty}", one.name, one.kind);
    }
    let example: Vec<String> = parameters.iter().map(|one| example(one.kind)).collect();
    let names: String = parameters.iter().map(|one| format!(", {}", one.name)).collect();
    let _ =
        writeln!(source, "/// Example: {name}({})\nfn {name}(page{names}) {{\n{body}}}", example.join(", "));
    source
}

impl Translation<'_> {
    /// The parameters without the page.
    fn parameters(&mut self, node: Node<'_>, docs: &Docs) -> Vec<Parameter> {
        let list = node.child_by_field_name("parameters").map(children).unwrap_or_default();
        let mut found = Vec::new();
        for one in list.into_iter().skip(1) {
            let named = match one.kind() {
                "identifier" => Some(one),
                "typed_parameter" => one.named_child(0),
                "default_parameter" | "typed_default_parameter" => one.child_by_field_name("name"),
                _ => None,
            };
            let Some(named) = named.filter(|named| named.kind() == "identifier") else {
                self.values.lacks(one, "a parameter that collects others");
                continue;
            };
            let name = self.values.of(named).to_owned();
            let default = one.child_by_field_name("value");
            let Some(kind) = self.kind_of(one, default, docs.kinds.get(&name)) else {
                self.values.lacks(
                    one,
                    format!("the kind of {name}: texts, whole numbers, yes or no, lists of texts"),
                );
                continue;
            };
            let is_optional = default.is_some_and(|value| value.kind() == "none");
            if is_optional && kind != Kind::Text && kind != Kind::Unknown {
                self.values.lacks(one, format!("{name}, which may be None and is no text"));
            }
            self.values.names.insert(name.clone(), if is_optional { Kind::Text } else { kind });
            found.push(Parameter { name, kind: word(kind), is_optional });
        }
        found
    }

    /// Returns the kind of a parameter by its type, its default or its comment. A parameter of which none says anything is
    /// passed on as a text, and decides nothing.
    fn kind_of(&self, one: Node<'_>, default: Option<Node<'_>>, said: Option<&String>) -> Option<Kind> {
        let typed = one.child_by_field_name("type").map(|kind| self.values.of(kind).to_owned());
        if let Some(kind) = typed.as_ref().or(said) {
            return by_type(kind);
        }
        Some(default.map_or(Kind::Unknown, |value| self.values.kind(value)))
    }

    fn block(&mut self, statements: &[Node<'_>], depth: usize) {
        for statement in statements {
            let line = self.statement(*statement, depth);
            if !line.is_empty() {
                let _ = writeln!(self.body, "{}{line}", "    ".repeat(depth));
            }
        }
    }

    /// The statements of a block, in brackets. What is first named in it is not known behind it.
    fn braced(&mut self, block: Option<Node<'_>>, depth: usize) -> String {
        let outer = std::mem::take(&mut self.body);
        let known = self.values.names.clone();
        self.block(&block.map(children).unwrap_or_default(), depth + 1);
        self.values.names = known;
        let inner = std::mem::replace(&mut self.body, outer);
        format!("{{\n{inner}{}}}", "    ".repeat(depth))
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) -> String {
        match node.kind() {
            // A module that is used is missed where it is used.
            "import_statement" | "import_from_statement" | "comment" | "pass_statement" => String::new(),
            "return_statement" => match node.named_child(0).filter(|value| value.kind() != "none") {
                Some(value) => format!("return {};", self.values.value(value)),
                None => "return;".to_owned(),
            },
            "break_statement" => "break;".to_owned(),
            "continue_statement" => "continue;".to_owned(),
            "expression_statement" => match node.named_child(0) {
                Some(one) if one.kind() == "assignment" => self.assignment(one),
                Some(one) if one.kind() == "string" || self.is_dropped(one) => String::new(),
                Some(one) => format!("{};", self.values.value(one)),
                None => String::new(),
            },
            "if_statement" => self.condition(node, depth),
            "for_statement" => self.each(node, depth),
            "while_statement" | "try_statement" | "with_statement" => {
                let word = node.kind().trim_end_matches("_statement");
                self.values.lacks(node, format!("`{word}` is not translated"))
            }
            other => self.values.lacks(node, format!("{} is not translated", other.replace('_', " "))),
        }
    }

    fn is_dropped(&self, node: Node<'_>) -> bool {
        let call = if node.kind() == "await" { node.named_child(0).unwrap_or(node) } else { node };
        let called = call.child_by_field_name("function");
        let last = called.map(|one| one.child_by_field_name("attribute").unwrap_or(one));
        call.kind() == "call" && last.is_some_and(|name| DROPPED.contains(&self.values.of(name)))
    }

    fn assignment(&mut self, node: Node<'_>) -> String {
        let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let (Some(left), Some(right)) = (left.filter(|left| left.kind() == "identifier"), right) else {
            return self.values.lacks(node, "only a value for one name can be kept");
        };
        let (name, kind) = (self.values.of(left).to_owned(), self.values.kind(right));
        let value = self.values.value(right);
        match self.values.names.insert(name.clone(), kind) {
            Some(_) => format!("{name} = {value};"),
            None => format!("let {name} = {value};"),
        }
    }

    fn condition(&mut self, node: Node<'_>, depth: usize) -> String {
        let Some(asked) = node.child_by_field_name("condition") else {
            return self.values.lacks(node, "an incomplete condition");
        };
        let others: Vec<Node<'_>> = {
            let mut cursor = node.walk();
            node.children_by_field_name("alternative", &mut cursor).collect()
        };
        let consequence = node.child_by_field_name("consequence");
        if let (Some(missed), true) = (self.missed(asked), others.is_empty() && is_raise(consequence)) {
            return format!("expect({missed}).to_be_visible();");
        }
        let mut line = format!("if {} {}", self.values.condition(asked), self.braced(consequence, depth));
        for other in others {
            match other.child_by_field_name("condition") {
                Some(asked) => {
                    let _ = write!(line, " else if {} ", self.values.condition(asked));
                    line += &self.braced(other.child_by_field_name("consequence"), depth);
                }
                None => {
                    line += " else ";
                    line += &self.braced(other.child_by_field_name("body"), depth);
                }
            }
        }
        line
    }

    /// Returns the element of `element.count() == 0`: what raises an error then expects the element.
    fn missed(&mut self, asked: Node<'_>) -> Option<String> {
        let sides = (asked.kind() == "comparison_operator").then(|| children(asked))?;
        let [left, right] = sides.as_slice() else { return None };
        let is_none = self.values.of(*right) == "0" && self.values.of(asked).contains("==");
        let call = if left.kind() == "await" { left.named_child(0)? } else { *left };
        let called = call.child_by_field_name("function").filter(|_| is_none)?;
        let counts = self.values.of(called.child_by_field_name("attribute")?) == "count";
        let element = called.child_by_field_name("object").filter(|_| counts)?;
        Some(self.values.value(element))
    }

    fn each(&mut self, node: Node<'_>, depth: usize) -> String {
        let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let (Some(left), Some(right)) = (left.filter(|left| left.kind() == "identifier"), right) else {
            return self.values.lacks(node, "`for` over more than one name");
        };
        let (kind, list) = match self.values.kind(right) {
            Kind::Texts => (Kind::Text, self.values.value(right)),
            _ if self.values.of(right).starts_with("range(") => (Kind::Number, self.range(right)),
            _ => (Kind::Unknown, self.values.lacks(node, "`for` over what is no list of texts")),
        };
        let name = match self.values.of(left) {
            "_" => "_turn".to_owned(),
            name => name.to_owned(),
        };
        let shadowed = self.values.names.insert(name.clone(), kind);
        let block = self.braced(node.child_by_field_name("body"), depth);
        match shadowed {
            Some(kind) => self.values.names.insert(name.clone(), kind),
            None => self.values.names.remove(&name),
        };
        format!("for {name} in {list} {block}")
    }

    fn range(&mut self, node: Node<'_>) -> String {
        let ends = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        match ends.as_slice() {
            [end] if self.values.kind(*end) == Kind::Number => format!("0..{}", self.values.value(*end)),
            _ => self.values.lacks(node, "a range of more than an end"),
        }
    }
}

fn is_raise(block: Option<Node<'_>>) -> bool {
    let statements = block.map(children).unwrap_or_default();
    matches!(statements.as_slice(), [one] if one.kind() == "raise_statement")
}

fn docstring(statement: Node<'_>) -> Option<Node<'_>> {
    let inner = statement.named_child(0).filter(|_| statement.kind() == "expression_statement")?;
    (inner.kind() == "string").then_some(inner)
}

/// Returns the kind that a type names.
fn by_type(kind: &str) -> Option<Kind> {
    let plain = kind.trim().trim_matches(['"', '\'']).to_lowercase();
    let plain = plain.strip_prefix("optional[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(&plain);
    match plain.trim_end_matches("| none").trim() {
        "str" | "string" | "str, optional" => Some(Kind::Text),
        "int" | "integer" => Some(Kind::Number),
        "bool" | "boolean" => Some(Kind::YesNo),
        "list[str]" | "list of str" | "list of strings" => Some(Kind::Texts),
        _ => None,
    }
}

/// Returns the word for a kind in a function's comment.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "number",
        Kind::YesNo => "yes/no",
        Kind::Texts => "texts",
        Kind::Text | Kind::Element | Kind::Unknown => "text",
    }
}

fn example(kind: &str) -> String {
    match kind {
        "number" => "2".to_owned(),
        "yes/no" => "true".to_owned(),
        "texts" => "[\"one\", \"two\"]".to_owned(),
        _ => quoted("some text"),
    }
}
