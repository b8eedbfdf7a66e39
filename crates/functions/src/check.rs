//! Static checks: what must hold of a function before it is stored, without running it. Each violation names the line and
//! the remedy, so that whoever wrote the function can mend it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rhai::{AST, ASTNode, Expr, Position, Stmt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::{ACTING, NAMES};
use crate::argument::arguments_of;
use crate::engine::{SOURCE_CAP, engine};
use crate::signature::{Comment, Parameter, ParameterKind, Signature, Surface};

/// Shortest value of a source task that is looked for: shorter ones stand everywhere.
const SHORTEST_CONSTANT: usize = 3;
/// Longest name of a function or an argument.
const NAME: usize = 48;

/// A rule that a function breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// The line, from 1; 0 for the whole text.
    pub line: u32,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.problem, self.remedy)
    }
}

/// A value of the task that a function was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceConstant {
    /// The value.
    pub value: String,
    /// Where it is from, for the message, for example `the instruction`.
    pub from: String,
}

/// Collects violations.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, line: u32, problem: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Violation { line, problem: problem.into(), remedy: remedy.into() });
    }
}

/// What the walk through a function's body finds.
#[derive(Default)]
struct Body {
    declared: BTreeMap<String, u32>,
    used: BTreeSet<String>,
    texts: Vec<(u32, String)>,
    acts: bool,
}

/// Reads and checks a function.
pub(crate) fn read(text: &str, constants: &[SourceConstant]) -> Result<(AST, Signature), Vec<Violation>> {
    let mut findings = Findings::default();
    if text.chars().count() > SOURCE_CAP {
        let problem = format!("the function has more than {SOURCE_CAP} characters");
        findings.add(0, problem, "leave out what is not needed, or make two functions of it");
        return Err(findings.0);
    }
    let ast = engine().compile(text).map_err(|error| {
        let line = line_of(error.position());
        let mut found = Findings::default();
        found.add(
            line,
            format!("it cannot be read: {}", error.err_type()),
            remedy_of(&error.err_type().to_string()),
        );
        found.0
    })?;
    let Some((name, parameters, line)) = head(text, &ast, &mut findings) else { return Err(findings.0) };
    let comment = Comment::above(text, line);
    let body = walk(&ast, &name, &mut findings);
    let surface = check_parameters(&parameters, &body, line, &mut findings);
    check_use(&body, line, &mut findings);
    let documented = check_comment(&comment, &parameters, line, &mut findings);
    let example = comment.example.clone().map(|(_, call)| call).unwrap_or_default();
    let surface = surface.unwrap_or(Surface::Page);
    let signature =
        Signature { name, surface, about: comment.about.clone(), parameters: documented, example };
    check_example(&signature, &comment, line, &mut findings);
    check_constants(&body, &comment, constants, &mut findings);
    if findings.0.is_empty() { Ok((ast, signature)) } else { Err(findings.0) }
}

fn line_of(position: Position) -> u32 {
    position.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

/// Returns the remedy for a text that the language does not take.
fn remedy_of(problem: &str) -> String {
    let problem = problem.to_lowercase();
    if problem.contains("variable") {
        return "use the arguments, `let` variables, and the methods of page or desktop only".to_owned();
    }
    if problem.contains("reserved") || problem.contains("disabled") {
        return "the word is not part of the language: use `for` over a list, `if`, and the methods of page or desktop"
            .to_owned();
    }
    "write one `fn name(page, …) { … }` with `let`, `if`, `for` and method calls, each ended by a semicolon"
        .to_owned()
}

/// Returns the one function's name, parameters and line.
fn head(text: &str, ast: &AST, findings: &mut Findings) -> Option<(String, Vec<String>, u32)> {
    let is_head = |line: &&str| line.trim_start().starts_with("fn ");
    let line = text.lines().position(|line| is_head(&line)).map_or(0, |line| line + 1);
    let line = u32::try_from(line).unwrap_or(0);
    let functions: Vec<_> = ast.iter_functions().collect();
    let [function] = functions.as_slice() else {
        findings.add(line, format!("there are {} functions", functions.len()), "write exactly one `fn`");
        return None;
    };
    if let Some(first) = ast.statements().first() {
        findings.add(line_of(first.position()), "something stands outside the function", "move it inside");
    }
    let parameters = function.params.iter().map(|name| (*name).to_owned()).collect();
    if !is_name(function.name) {
        let remedy = "use lower-case words joined by _, at least two letters, for example rename_tab";
        findings.add(line, format!("{:?} is no name for a function", function.name), remedy);
    }
    Some((function.name.to_owned(), parameters, line))
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (2..=NAME).contains(&name.len())
        && name.bytes().all(plain)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !NAMES.contains(&name)
}

/// Walks through the body: names, literals, calls.
fn walk(ast: &AST, own: &str, findings: &mut Findings) -> Body {
    let mut body = Body::default();
    ast.walk(&mut |path| {
        match path.last() {
            Some(ASTNode::Stmt(statement)) => see_statement(statement, own, &mut body, findings),
            Some(ASTNode::Expr(expression)) => see_expression(expression, own, &mut body, findings),
            _ => {}
        }
        true
    });
    body
}

fn see_statement(statement: &Stmt, own: &str, body: &mut Body, findings: &mut Findings) {
    let line = line_of(statement.position());
    match statement {
        Stmt::Var(declared, ..) => drop(body.declared.insert(declared.0.name.to_string(), line)),
        Stmt::For(each, ..) => {
            body.declared.insert(each.0.name.to_string(), line);
            if let Some(counter) = &each.1 {
                body.declared.insert(counter.name.to_string(), line);
            }
        }
        Stmt::FnCall(call, ..) => see_call(&call.name, own, line, findings),
        Stmt::While(..) | Stmt::Do(..) => {
            findings.add(line, "a loop without data", "use `for` over a list");
        }
        Stmt::TryCatch(..) => {
            findings.add(line, "an error is caught", "let the function stop where it fails");
        }
        _ => {}
    }
}

fn see_expression(expression: &Expr, own: &str, body: &mut Body, findings: &mut Findings) {
    let line = line_of(expression.position());
    match expression {
        Expr::Variable(variable, ..) => drop(body.used.insert(variable.1.to_string())),
        Expr::StringConstant(text, _) => body.texts.push((line, text.to_string())),
        Expr::IntegerConstant(number, _) => body.texts.push((line, number.to_string())),
        Expr::FnCall(call, _) if call.op_token.is_none() => {
            see_call(&call.name, own, line, findings);
        }
        Expr::MethodCall(call, _) => {
            body.acts |= ACTING.contains(&call.name.as_str());
            if !NAMES.contains(&call.name.as_str()) || call.name == "expect" {
                findings.add(line, format!("there is no method {}", call.name), known(&call.name));
            }
        }
        Expr::Property(property, _) => {
            findings.add(line, format!("{} is no property", property.2), "call a method, with brackets");
        }
        Expr::Map(..) => findings.add(line, "an object literal", "pass the values one by one"),
        _ => {}
    }
}

/// What a call outside a method may name: `expect` alone.
fn see_call(name: &str, own: &str, line: u32, findings: &mut Findings) {
    if name == own {
        findings.add(line, "the function calls itself", "use `for` over a list");
    } else if name != "expect" {
        let remedy = known(name);
        findings.add(line, format!("there is no function {name}"), remedy);
    }
}

fn known(name: &str) -> String {
    let near = apprentice_protocol::did_you_mean(name, NAMES);
    format!("the methods are {}{near}", NAMES.join(", "))
}

fn check_parameters(
    parameters: &[String],
    body: &Body,
    line: u32,
    findings: &mut Findings,
) -> Option<Surface> {
    let surface = parameters.first().and_then(|first| Surface::of(first));
    if surface.is_none() {
        findings.add(
            line,
            "the first parameter is neither page nor desktop",
            "begin with `fn name(page, …)`",
        );
    }
    for name in parameters {
        if !body.used.contains(name) {
            findings.add(line, format!("the parameter {name} is not used"), "use it, or leave it out");
        }
        if NAMES.contains(&name.as_str()) {
            findings.add(
                line,
                format!("{name:?} is the name of a method, and none for a parameter"),
                "name the parameter by what it holds",
            );
        } else if !is_name(name) && name.len() != 1 {
            findings.add(
                line,
                format!("{name:?} is no name for a parameter"),
                "use lower-case words joined by _",
            );
        }
    }
    surface
}

fn check_use(body: &Body, line: u32, findings: &mut Findings) {
    for (name, declared) in &body.declared {
        if !body.used.contains(name) && !name.starts_with('_') {
            findings.add(*declared, format!("{name} is set and never used"), "use it, or leave it out");
        }
    }
    if !body.acts {
        findings.add(line, "the function does nothing in the world", "click, fill, press or open something");
    }
}

/// Checks that the comment describes the function and each of its parameters.
fn check_comment(
    comment: &Comment,
    parameters: &[String],
    line: u32,
    findings: &mut Findings,
) -> Vec<Parameter> {
    if comment.about.is_empty() {
        findings.add(line, "no comment says what it does", "write `/// What it does.` above the function");
    }
    let mut documented = Vec::new();
    for name in parameters.iter().skip(1) {
        let Some((at, _, kind, about)) = comment.arguments.iter().find(|(_, known, ..)| known == name) else {
            let remedy = format!("write `/// - {name} (text): what it is` above the function");
            findings.add(line, format!("the comment does not describe {name}"), remedy);
            continue;
        };
        match ParameterKind::of(kind) {
            Some(kind) if !about.is_empty() => {
                documented.push(Parameter { name: name.clone(), kind, about: about.clone() });
            }
            Some(_) => {
                findings.add(*at, format!("nothing says what {name} is"), "describe it after the colon");
            }
            None => {
                let words: Vec<&str> = ParameterKind::WORDS.iter().map(|(word, _)| *word).collect();
                findings.add(
                    *at,
                    format!("{kind:?} is no kind"),
                    format!("use one of: {}", words.join(", ")),
                );
            }
        }
    }
    for (at, name, ..) in &comment.arguments {
        if !parameters.iter().skip(1).any(|known| known == name) {
            findings.add(
                *at,
                format!("the function has no parameter {name}"),
                "leave out the line, or add it",
            );
        }
    }
    documented
}

/// Checks that the example is a call that the function takes.
fn check_example(signature: &Signature, comment: &Comment, line: u32, findings: &mut Findings) {
    let remedy = format!("write `/// Example: {}(…)` with a value for each argument", signature.name);
    let Some((at, call)) = &comment.example else {
        findings.add(line, "no example of a call", remedy);
        return;
    };
    let Some(values) = example_values(&signature.name, call) else {
        findings.add(*at, "the example is no call of the function with plain values", remedy);
        return;
    };
    if values.len() != signature.parameters.len() {
        findings.add(*at, "the example has another number of arguments", remedy);
        return;
    }
    let named = signature.parameters.iter().map(|one| one.name.clone()).zip(values);
    let named: Map<String, Value> = named.collect();
    if let Err(why) = arguments_of(signature, &Value::Object(named)) {
        findings.add(*at, format!("the example does not fit: {why}"), remedy);
    }
}

/// Returns the values of a call such as `rename("Draft", 2)`.
pub(crate) fn example_values(name: &str, call: &str) -> Option<Vec<Value>> {
    let inner = call.trim().strip_prefix(name)?.trim_start().strip_prefix('(')?;
    let inner = inner.trim_end().trim_end_matches(';').strip_suffix(')')?;
    serde_json::from_str(&format!("[{inner}]")).ok()
}

/// Refuses the values of the task that the function was made from.
fn check_constants(body: &Body, comment: &Comment, constants: &[SourceConstant], findings: &mut Findings) {
    let example = comment.example.iter().map(|(line, text)| (*line, text.as_str()));
    let described = comment.arguments.iter().map(|(line, _, _, about)| (*line, about.as_str()));
    let about = std::iter::once((1, comment.about.as_str()));
    let texts: Vec<(u32, &str)> = body
        .texts
        .iter()
        .map(|(line, text)| (*line, text.as_str()))
        .chain(about)
        .chain(described)
        .chain(example)
        .collect();
    for constant in constants.iter().filter(|one| one.value.trim().chars().count() >= SHORTEST_CONSTANT) {
        if let Some((line, _)) = texts.iter().find(|(_, text)| holds(text, constant.value.trim())) {
            let problem = format!("{:?} is a value of {}", constant.value, constant.from);
            findings.add(*line, problem, "make it an argument, and use another value in the example");
        }
    }
}

/// Returns whether a text holds a value as whole words, whatever the case.
pub fn holds(text: &str, value: &str) -> bool {
    let (text, value) = (text.to_lowercase(), value.to_lowercase());
    places(&text, &value).next().is_some()
}

/// Replaces a value where it stands as whole words. `None` if it stands nowhere.
pub fn replace_words(text: &str, value: &str, with: &str) -> Option<String> {
    let mut replaced = String::new();
    let mut done = 0;
    for at in places(text, value) {
        replaced.push_str(&text[done..at]);
        replaced.push_str(with);
        done = at + value.len();
    }
    (done > 0).then(|| replaced + &text[done..])
}

/// Where a value stands in a text as whole words.
fn places<'t>(text: &'t str, value: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let found = text.match_indices(value).map(|(at, _)| at);
    found.filter(move |at| {
        !value.is_empty()
            && !is_word(text[..*at].chars().next_back())
            && !is_word(text[at + value.len()..].chars().next())
    })
}
