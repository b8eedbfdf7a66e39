//! One Python function: its parameters, its comment and its statements.

use std::fmt::Write as _;

use super::docs::Docs;
use super::syntax::{self, Call, Comparison, Condition, Expression, Function, Loop, Statement};
use super::text::quoted;
use super::values::{Kind, Values};
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
pub(super) fn translated(function: &Function, base: Option<&str>) -> PlaywrightFunction {
    let mut translation = Translation { values: Values::new(base), body: String::new() };
    let docs = Docs::read(function.comment.as_deref().unwrap_or_default());
    let parameters = translation.parameters(function, &docs);
    translation.block(&function.body, 1);
    let source = assembled(&function.name, &docs, &parameters, &translation.body);
    let mut problems = translation.values.problems;
    if problems.is_empty()
        && let Err(violations) = Source::read(&source, &[])
    {
        let line = function.line;
        let reason = |one: &crate::check::Violation| format!("{}; {}", one.problem, one.remedy);
        problems.extend(violations.iter().map(|one| Untranslated { line, reason: reason(one) }));
    }
    let translated = if problems.is_empty() { Ok(source) } else { Err(problems) };
    PlaywrightFunction { name: function.name.clone(), about: docs.about, translated }
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
    fn parameters(&mut self, function: &Function, docs: &Docs) -> Vec<Parameter> {
        let mut found = Vec::new();
        for one in function.parameters.iter().skip(1) {
            let name = one.name.clone();
            let Some(kind) = self.kind_of(one, docs.kinds.get(&name)) else {
                self.values.lacks(
                    one.line,
                    format!("the kind of {name}: texts, whole numbers, yes or no, lists of texts"),
                );
                continue;
            };
            let is_optional = one.default.as_ref().is_some_and(Expression::is_none);
            if is_optional && kind != Kind::Text && kind != Kind::Unknown {
                self.values.lacks(one.line, format!("{name}, which may be None and is no text"));
            }
            self.values.names.insert(name.clone(), if is_optional { Kind::Text } else { kind });
            found.push(Parameter { name, kind: word(kind), is_optional });
        }
        for line in &function.others {
            self.values.lacks(*line, "a parameter that collects others, or is given by its name alone");
        }
        found
    }

    /// Returns the kind of a parameter by its type, its default or its comment. A parameter of which none says anything is
    /// passed on as a text, and decides nothing.
    fn kind_of(&self, one: &syntax::Parameter, said: Option<&String>) -> Option<Kind> {
        if let Some(kind) = one.annotation.as_ref().or(said) {
            return by_type(kind);
        }
        Some(one.default.as_ref().map_or(Kind::Unknown, |value| self.values.kind(value)))
    }

    fn block(&mut self, statements: &[Statement], depth: usize) {
        for statement in statements {
            let line = self.statement(statement, depth);
            if !line.is_empty() {
                let _ = writeln!(self.body, "{}{line}", "    ".repeat(depth));
            }
        }
    }

    /// The statements of a block, in brackets. What is first named in it is not known behind it.
    fn braced(&mut self, block: &[Statement], depth: usize) -> String {
        let outer = std::mem::take(&mut self.body);
        let known = self.values.names.clone();
        self.block(block, depth + 1);
        self.values.names = known;
        let inner = std::mem::replace(&mut self.body, outer);
        format!("{{\n{inner}{}}}", "    ".repeat(depth))
    }

    fn statement(&mut self, statement: &Statement, depth: usize) -> String {
        match statement {
            Statement::Return { value } => match value.as_ref().filter(|value| !value.is_none()) {
                Some(value) => format!("return {};", self.values.value(value)),
                None => "return;".to_owned(),
            },
            Statement::Break {} => "break;".to_owned(),
            Statement::Continue {} => "continue;".to_owned(),
            Statement::Raise { line } => self.values.lacks(*line, "raise statement is not translated"),
            Statement::Expression(Expression::Call(call))
                if call.last_name().is_some_and(|name| DROPPED.contains(&name)) =>
            {
                String::new()
            }
            Statement::Expression(value) => format!("{};", self.values.value(value)),
            Statement::Assignment { name, value } => self.assignment(name, value),
            Statement::Condition(condition) => self.condition(condition, depth),
            Statement::Loop(each) => self.each(each, depth),
            Statement::Other(lacking) => self.values.lacks(lacking.line, lacking.reason.as_str()),
        }
    }

    fn assignment(&mut self, name: &str, value: &Expression) -> String {
        let kind = self.values.kind(value);
        let value = self.values.value(value);
        match self.values.names.insert(name.to_owned(), kind) {
            Some(_) => format!("{name} = {value};"),
            None => format!("let {name} = {value};"),
        }
    }

    fn condition(&mut self, condition: &Condition, depth: usize) -> String {
        if let ([(asked, then)], None) = (condition.branches.as_slice(), &condition.otherwise)
            && matches!(then.as_slice(), [Statement::Raise { .. }])
            && let Some(missed) = self.missed(asked)
        {
            return format!("expect({missed}).to_be_visible();");
        }
        let mut branches = Vec::new();
        for (asked, then) in &condition.branches {
            let asked = self.values.condition(asked);
            branches.push(format!("if {asked} {}", self.braced(then, depth)));
        }
        branches.extend(condition.otherwise.iter().map(|otherwise| self.braced(otherwise, depth)));
        branches.join(" else ")
    }

    /// Returns the element of `element.count() == 0`: what raises an error then expects the element.
    fn missed(&mut self, asked: &Expression) -> Option<String> {
        let Expression::Comparison(Comparison { left, sign, right, .. }) = asked else { return None };
        let is_none = sign == "==" && matches!(&**right, Expression::Number { digits, .. } if digits == "0");
        let Expression::Call(call) = &**left else { return None };
        let (element, _) = call.method().filter(|(_, name)| is_none && *name == "count")?;
        Some(self.values.value(element))
    }

    fn each(&mut self, each: &Loop, depth: usize) -> String {
        let (kind, list) = match &each.over {
            over if self.values.kind(over) == Kind::Texts => (Kind::Text, self.values.value(over)),
            Expression::Call(call) if call.written == "range" => (Kind::Number, self.range(call)),
            _ => (Kind::Unknown, self.values.lacks(each.line, "`for` over what is no list of texts")),
        };
        let name = match each.name.as_str() {
            "_" => "_turn".to_owned(),
            name => name.to_owned(),
        };
        let shadowed = self.values.names.insert(name.clone(), kind);
        let block = self.braced(&each.body, depth);
        match shadowed {
            Some(kind) => self.values.names.insert(name.clone(), kind),
            None => self.values.names.remove(&name),
        };
        format!("for {name} in {list} {block}")
    }

    fn range(&mut self, call: &Call) -> String {
        match call.plain.as_slice() {
            [end] if self.values.kind(end) == Kind::Number => format!("0..{}", self.values.value(end)),
            _ => self.values.lacks(call.line, "a range of more than an end"),
        }
    }
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
