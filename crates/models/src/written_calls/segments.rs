//! Finds the parts of a text in which calls stand, and reads each in whichever notation it has.

use super::call_values::{calls_in, value_at};
use super::pythonic::python_calls;
use super::xml::{key_value_call, tagged_calls};
use super::{CallableTools, NamedCall, Notation, ReadCall};

/// Marks around calls: where they begin and end, and the notation that they belong to unless the part shows another. The
/// longer of two that begin alike stands first.
const WRAPPERS: &[(&str, &str, Notation)] = &[
    ("<|tool_call_begin|>", "<|tool_call_end|>", Notation::Kimi),
    ("<|tool_call_start|>", "<|tool_call_end|>", Notation::Pythonic),
    ("<|tool_call>", "<tool_call|>", Notation::Gemma),
    ("<|tool_call|>", "<|/tool_call|>", Notation::MarkedJson),
    ("<start_function_call>", "<end_function_call>", Notation::Gemma),
    ("<minimax:tool_call>", "</minimax:tool_call>", Notation::Invoke),
    ("<seed:tool_call>", "</seed:tool_call>", Notation::FunctionTags),
    ("<longcat_tool_call>", "</longcat_tool_call>", Notation::MarkedJson),
    ("<dots_function_call>", "</dots_function_call>", Notation::Invoke),
    ("<iquest_tool_call>", "</iquest_tool_call>", Notation::ArgumentTags),
    ("<ifm|tool_call>", "</ifm|tool_call>", Notation::ArgumentTags),
    ("<tool_call>", "</tool_call>", Notation::Hermes),
    ("<tool_calls>", "</tool_calls>", Notation::MarkedJson),
    ("<TOOLCALL>", "</TOOLCALL>", Notation::MarkedJson),
    ("<tool_use>", "</tool_use>", Notation::MarkedJson),
    ("<tools>", "</tools>", Notation::MarkedJson),
    ("<function_call>", "</function_call>", Notation::MarkedJson),
    ("<function_calls>", "</function_calls>", Notation::Pythonic),
    ("<|START_ACTION|>", "<|END_ACTION|>", Notation::MarkedJson),
    ("<|action_start|>", "<|action_end|>", Notation::MarkedJson),
    ("<|tools_prefix|>", "<|tools_suffix|>", Notation::MarkedJson),
    ("<|content_invoke_tool_json|>", "<|end_message|>", Notation::MarkedJson),
    ("<|python_tag|>", "<|eom_id|>", Notation::Llama),
    ("<|python_start|>", "<|python_end|>", Notation::Pythonic),
    ("[TOOL_CALLS]", "</s>", Notation::Mistral),
    ("functools[", "<|end|>", Notation::MarkedJson),
    ("```tool_code", "```", Notation::Pythonic),
    ("```tool_call", "```", Notation::MarkedJson),
];

/// Reads the calls in wrappers; `None` when there is no wrapper.
pub(super) fn in_wrappers(text: &str, tools: &CallableTools<'_>) -> Option<(Notation, Vec<ReadCall>)> {
    let mut notation = None;
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some((start, &(open, close, usual))) = next_wrapper(rest) {
        // The bracket of `functools[` belongs to the list.
        let from = start + open.len() - usize::from(open.ends_with('['));
        let inside = &rest[from..];
        let closed = inside.find(close);
        let next = next_same(inside, open).unwrap_or(inside.len());
        let end = closed.unwrap_or(inside.len()).min(next);
        let part = &inside[..end];
        let (shown, found) = match in_wrappers(part, tools) {
            Some((shown, found)) => (Some(shown), found),
            None => read_part(part, closed == Some(end), tools),
        };
        if found.is_empty() && !part.trim().is_empty() {
            calls.push(Err(unread(part)));
        }
        calls.extend(found);
        notation.get_or_insert(shown.unwrap_or(usual));
        rest = match closed.filter(|at| *at == end) {
            Some(at) => &inside[at + close.len()..],
            None => &inside[end..],
        };
    }
    notation.filter(|_| !calls.is_empty()).map(|notation| (notation, calls))
}

fn next_wrapper(text: &str) -> Option<(usize, &'static (&'static str, &'static str, Notation))> {
    let found = WRAPPERS.iter().filter_map(|wrapper| text.find(wrapper.0).map(|at| (at, wrapper)));
    // `min_by_key` keeps the first of several.
    found.min_by_key(|(at, _)| *at)
}

/// Where the same wrapper opens again without having been closed.
fn next_same(inside: &str, open: &str) -> Option<usize> {
    inside.find(open)
}

/// The problem of a part in which no call was found, for the model.
fn unread(part: &str) -> String {
    let start = part.find(['{', '[']).unwrap_or(0);
    match value_at(part, start) {
        Err(error) => format!("the tool call is no JSON: {error}"),
        Ok(_) => "the tool call names no tool that there is".to_owned(),
    }
}

/// Reads calls that stand in no wrapper.
pub(super) fn without_wrapper(text: &str, tools: &CallableTools<'_>) -> Option<(Notation, Vec<ReadCall>)> {
    // The opening mark may be missing: the closing one ends the part.
    let closed = text.contains("</tool_call>");
    let (notation, calls) = read_part(text, closed, tools);
    notation.filter(|_| !calls.is_empty()).map(|notation| (notation, calls))
}

/// Reads one part in the notation that it shows; `closed` where a mark says that it is whole.
fn read_part(part: &str, closed: bool, tools: &CallableTools<'_>) -> (Option<Notation>, Vec<ReadCall>) {
    if let Some(calls) = separated(part, tools) {
        return calls;
    }
    if let Some(calls) = tagged_calls(part, tools) {
        let invoked = part.contains("invoke");
        return (Some(if invoked { Notation::Invoke } else { Notation::FunctionTags }), calls);
    }
    if let Some(call) = key_value_call(part, closed, tools) {
        return (Some(Notation::ArgumentTags), vec![call]);
    }
    if let Some(calls) = gemma_calls(part, tools) {
        return (Some(Notation::Gemma), calls);
    }
    if let Some(call) = xtml_call(part, tools) {
        return (Some(Notation::Kimi), vec![call]);
    }
    let calls = calls_in(part, tools);
    if !calls.is_empty() {
        let tagged = part.contains("</tool_call>");
        return (Some(if tagged { Notation::Hermes } else { Notation::Json }), calls);
    }
    let calls = python_calls(part, tools);
    if !calls.is_empty() {
        return (Some(Notation::Pythonic), calls);
    }
    if let Some(call) = named_object(part, tools) {
        return (Some(Notation::MarkedJson), vec![call]);
    }
    match react_call(part, tools) {
        Some(call) => (Some(Notation::React), vec![call]),
        None => (None, Vec::new()),
    }
}

/// Reads a name and its arguments, with a mark between: Kimi's, DeepSeek's, and Mistral's.
fn separated(part: &str, tools: &CallableTools<'_>) -> Option<(Option<Notation>, Vec<ReadCall>)> {
    let (notation, (name, body)) = [
        (Notation::Kimi, "<|tool_call_argument_begin|>"),
        (Notation::DeepSeek, "<|tool_sep|>"),
        (Notation::Mistral, "[ARGS]"),
    ]
    .iter()
    .find_map(|(notation, mark)| part.split_once(mark).map(|split| (*notation, split)))?;
    let name =
        name.rsplit(['>', '\n']).next().unwrap_or(name).split("[CALL_ID]").next().unwrap_or(name).trim();
    // DeepSeek-V3 says `function` here, and the name in the next line, above a fence. Step-3 has tags below.
    if name == "function" && !tools.has("function") {
        if let Some(calls) = tagged_calls(body, tools) {
            return Some((Some(notation), calls));
        }
        let call = named_object(body, tools).unwrap_or_else(|| Err(unread(body)));
        return Some((Some(notation), vec![call]));
    }
    Some((Some(notation), vec![with_arguments(&tools.resolve(name), body)]))
}

/// Reads `call:NAME{key:<|"|>text<|"|>,other:3}`.
fn gemma_calls(part: &str, tools: &CallableTools<'_>) -> Option<Vec<ReadCall>> {
    let mut calls = Vec::new();
    let mut rest = part;
    while let Some((_, after)) = rest.split_once("call:") {
        let Some((name, _)) = after.split_once('{') else { break };
        let name = tools.resolve(name);
        if !tools.has(&name) && !part.contains("<|\"|>") && !part.contains("<escape>") {
            break;
        }
        let open = after.find('{').unwrap_or(after.len());
        match super::gemma::object(&after[open..]) {
            Ok((arguments, left)) => {
                calls.push(Ok(NamedCall { name, arguments }));
                rest = left;
            }
            Err(problem) => {
                calls.push(Err(format!("the call of {name:?} cannot be read: {problem}")));
                break;
            }
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// Reads Kimi-K3's `<|open|>call tool="NAME"<|sep|>` with its arguments.
fn xtml_call(part: &str, tools: &CallableTools<'_>) -> Option<ReadCall> {
    let (_, call) = part.split_once("<|open|>call ")?;
    let name = tools.resolve(attribute(call, "tool")?);
    let Some((call, _)) = call.split_once("<|close|>call") else {
        return Some(Err(format!("the call of {name:?} has no end")));
    };
    let mut arguments = serde_json::Map::new();
    for argument in call.split("<|open|>argument ").skip(1) {
        let (Some(key), Some((head, body))) = (attribute(argument, "key"), argument.split_once("<|sep|>"))
        else {
            continue;
        };
        let text = body.split("<|close|>argument").next().unwrap_or(body);
        let value = match attribute(head, "type") {
            None | Some("string") => text.into(),
            Some(_) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        };
        arguments.insert(key.to_owned(), value);
    }
    Some(Ok(NamedCall { name, arguments: arguments.into() }))
}

fn attribute<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, value) = text.split_once(&format!("{name}=\""))?;
    value.split('"').next()
}

/// Reads a tool's name followed by an object, in a fence or not.
fn named_object(part: &str, tools: &CallableTools<'_>) -> Option<ReadCall> {
    let open = part.find('{')?;
    let head = part[..open].trim_end();
    let head = head.strip_suffix("```json").or_else(|| head.strip_suffix("```")).unwrap_or(head).trim_end();
    let name = head.rsplit(['\n', '>', ' ']).next().unwrap_or(head).trim_end_matches(':');
    let name = tools.resolve(name);
    tools.has(&name).then(|| with_arguments(&name, &part[open..]))
}

/// Reads `Action: NAME` and `Action Input: {…}`, or the same in Qwen's older words.
fn react_call(part: &str, tools: &CallableTools<'_>) -> Option<ReadCall> {
    let words = [("Action:", "Action Input:"), ("✿FUNCTION✿:", "✿ARGS✿:")];
    let (_, call) = words.iter().find_map(|(name, input)| {
        let (before, input) = part.split_once(input)?;
        Some(((), (before.rsplit_once(name)?.1, input)))
    })?;
    let name = tools.resolve(call.0);
    tools.has(&name).then(|| with_arguments(&name, call.1))
}

/// Builds a call from the object with which a text begins.
fn with_arguments(name: &str, body: &str) -> ReadCall {
    let open = body.find('{').ok_or_else(|| format!("the call of {name:?} has no arguments"))?;
    match value_at(body, open) {
        Ok(read) => Ok(NamedCall { name: name.to_owned(), arguments: read.value }),
        Err(error) => Err(format!("the arguments of {name:?} are no JSON: {error}")),
    }
}
