//! JSON values that are calls, in the shapes that models and APIs give them.

use serde_json::{Map, Value};

use super::pythonic::python_value;
use super::{CallableTools, NamedCall, ReadCall};

/// Fields that name the tool.
const NAMES: [&str; 7] =
    ["tool", "name", "tool_name", "function_name", "recipient_name", "function", "action"];
/// Fields that hold the arguments.
const ARGUMENTS: [&str; 8] =
    ["arguments", "parameters", "args", "input", "tool_input", "action_input", "params", "kwargs"];
/// Fields that hold calls.
const LISTS: [&str; 3] = ["tool_calls", "tool_uses", "calls"];
/// Fields beside the arguments of a flat call that are none.
const REMARKS: [&str; 8] =
    ["id", "type", "index", "thought", "thoughts", "reasoning", "tool_call_id", "call_id"];
/// A list in a list counts no more than this deep.
const MAX_DEPTH: u8 = 3;

/// Returns the calls that a value is; `None` when it is something else.
pub(super) fn calls_of(value: &Value, tools: &CallableTools<'_>) -> Option<Vec<ReadCall>> {
    calls_within(value, tools, 0)
}

fn calls_within(value: &Value, tools: &CallableTools<'_>, depth: u8) -> Option<Vec<ReadCall>> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let calls: Option<Vec<Vec<ReadCall>>> =
                items.iter().map(|item| calls_within(item, tools, depth + 1)).collect();
            calls.map(|calls| calls.into_iter().flatten().collect())
        }
        Value::Object(fields) => {
            let listed = LISTS.iter().find_map(|name| fields.get(*name)).filter(|list| list.is_array());
            match listed {
                Some(list) => calls_within(list, tools, depth + 1),
                None => call_of(value, fields, tools).map(|call| vec![Ok(call)]),
            }
        }
        Value::String(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn call_of(value: &Value, fields: &Map<String, Value>, tools: &CallableTools<'_>) -> Option<NamedCall> {
    for wrapper in ["function", "function_call", "tool_call", "action"] {
        if let Some(inner @ Value::Object(inside)) = fields.get(wrapper)
            && let Some(call) = call_of(inner, inside, tools)
        {
            return Some(call);
        }
    }
    let arguments = ARGUMENTS.iter().find_map(|name| fields.get(*name));
    let named = NAMES.iter().find_map(|field| {
        let name = tools.resolve(fields.get(*field)?.as_str()?);
        (tools.has(&name) || arguments.is_some() && *field != "action").then_some((*field, name))
    });
    if let Some((field, name)) = named {
        let arguments = match arguments {
            Some(arguments) => arguments.clone(),
            None => flat(fields, field),
        };
        return Some(NamedCall { name, arguments });
    }
    // `{"computer": {…}}`
    if fields.len() == 1
        && let Some((name, arguments @ Value::Object(_))) = fields.iter().next()
        && tools.has(&tools.resolve(name))
    {
        return Some(NamedCall { name: tools.resolve(name), arguments: arguments.clone() });
    }
    tools.taking(value).map(|name| NamedCall { name: name.to_owned(), arguments: value.clone() })
}

/// The arguments of a call that has them beside its name.
fn flat(fields: &Map<String, Value>, name: &str) -> Value {
    let is_argument = |field: &str| field != name && !REMARKS.contains(&field);
    fields
        .iter()
        .filter(|(field, _)| is_argument(field))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

/// A value in a text, and where it ends.
pub(super) struct ValueAt {
    pub(super) value: Value,
    pub(super) end: usize,
}

/// Reads the JSON object or list at a place of a text, or the same as a Python literal.
pub(super) fn value_at(text: &str, at: usize) -> Result<ValueAt, serde_json::Error> {
    let rest = text.get(at..).unwrap_or_default();
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok(ValueAt { value, end: at + values.byte_offset() }),
        Some(Err(error)) => match python_value(rest.trim_end()) {
            Ok(value) => Ok(ValueAt { value, end: text.len() }),
            Err(_) => Err(error),
        },
        None => serde_json::from_str::<Value>("").map(|value| ValueAt { value, end: at }),
    }
}

/// Returns the object with which a text begins.
pub(super) fn first_object(text: &str) -> Option<Value> {
    let start = text.len() - text.trim_start().len();
    let begins = text.get(start..)?.starts_with('{');
    let read = begins.then(|| value_at(text, start))?.ok()?;
    read.value.is_object().then_some(read.value)
}

/// Returns the calls of every value in a text, wherever they stand.
pub(super) fn calls_in(text: &str, tools: &CallableTools<'_>) -> Vec<ReadCall> {
    let mut calls = Vec::new();
    let mut broken = None;
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find(['{', '['])).map(|found| at + found) {
        at = match value_at(text, start) {
            Ok(ValueAt { value, end }) => match calls_of(&value, tools) {
                Some(found) => {
                    calls.extend(found);
                    broken = None;
                    end
                }
                // A call may stand in what is no call.
                None if value.is_object() => end,
                None => start + 1,
            },
            Err(error) => {
                if text[start..].starts_with('{') {
                    broken.get_or_insert(error);
                }
                start + 1
            }
        };
    }
    // A call behind the others that breaks off is not dropped in silence.
    if let Some(error) = broken.filter(|_| !calls.is_empty()) {
        calls.push(Err(format!("the last call is no JSON: {error}")));
    }
    calls
}
