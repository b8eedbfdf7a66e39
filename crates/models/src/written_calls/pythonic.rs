//! Calls in Python: `[computer(action="left_click")]`, one a line, or printed.

use serde_json::Value;

use super::{CallableTools, NamedCall, ReadCall};
use crate::action_format::{read_python_call, read_python_value};

/// Reads a Python literal.
pub(super) fn python_value(text: &str) -> Result<Value, String> {
    read_python_value(text)
}

/// Reads the calls of offered tools in a text. A call begins at the beginning of a line, or in a list.
pub(super) fn python_calls(text: &str, tools: &CallableTools<'_>) -> Vec<ReadCall> {
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some((name, at)) = next_call(rest, tools) {
        match read_python_call(at) {
            Ok((call, after)) => {
                calls.push(match call.args.is_empty() {
                    true => Ok(NamedCall { name, arguments: call.named.into() }),
                    false => Err(format!("the call of {name:?} has arguments without names")),
                });
                rest = after;
            }
            Err(problem) => {
                calls.push(Err(format!("the call of {name:?} cannot be read: {problem}")));
                break;
            }
        }
    }
    calls
}

/// Returns the next offered tool that is called, and the text from its name on.
fn next_call<'t>(text: &'t str, tools: &CallableTools<'_>) -> Option<(String, &'t str)> {
    let mut from = 0;
    while let Some(open) = text.get(from..)?.find('(').map(|at| from + at) {
        let before = &text[..open];
        let dotted = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let start = before.trim_end_matches(dotted).len();
        let name = tools.resolve(&before[start..]);
        if tools.has(&name) && begins(&text[..start]) {
            return Some((name, &text[start..]));
        }
        from = open + 1;
    }
    None
}

/// Whether a statement can begin behind this text: in prose a name with brackets is no call.
fn begins(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let line = line.rsplit_once("print(").map_or(line, |(_, inner)| inner);
    // After another call of the list, only what separates them is left.
    line.chars().all(|c| c.is_whitespace() || matches!(c, '[' | ',' | ';' | ')' | '`' | '>' | '-'))
}
