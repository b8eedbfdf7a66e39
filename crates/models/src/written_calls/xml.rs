//! Calls in tags: `<function=NAME><parameter=KEY>`, `<invoke name="NAME"><parameter name="KEY">`, and
//! `NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`. The tags may carry any namespace.

use serde_json::{Map, Value};

use super::call_values::first_object;
use super::{CallableTools, NamedCall, ReadCall};

/// Words of a tag that names a tool.
const CALLS: [&str; 2] = ["function", "invoke"];
/// Words of a tag that names an argument.
const PARAMETERS: [&str; 3] = ["parameter", "param", "argument"];

/// A tag: its word, and what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag<'a> {
    word: &'a str,
    names: &'a str,
    closes: bool,
    start: usize,
    end: usize,
}

/// Reads every call in tags that name a tool. `None` when there is none.
pub(super) fn tagged_calls(text: &str, tools: &CallableTools<'_>) -> Option<Vec<ReadCall>> {
    let mut calls = Vec::new();
    let mut from = 0;
    while let Some(open) =
        next_tag(text, from, |tag| !tag.closes && CALLS.contains(&tag.word) && !tag.names.is_empty())
    {
        let name = tools.resolve(open.names);
        let close =
            next_tag(text, open.end, |tag| tag.word == open.word && (tag.closes || !tag.names.is_empty()));
        match close {
            Some(close) if close.closes => {
                calls.push(body(&name, &text[open.end..close.start], tools));
                from = close.end;
            }
            // Half an action must not be carried out.
            Some(next) => {
                calls.push(Err(format!("the call of {name:?} has no end")));
                from = next.start;
            }
            None => {
                calls.push(Err(format!("the call of {name:?} has no end")));
                break;
            }
        }
    }
    (!calls.is_empty()).then_some(calls)
}

fn body(name: &str, inside: &str, tools: &CallableTools<'_>) -> ReadCall {
    let named = |arguments: Value| NamedCall { name: name.to_owned(), arguments };
    if inside.trim_start().starts_with('{') {
        let object = first_object(inside).map(named);
        return object.ok_or_else(|| format!("the arguments of {name:?} are no JSON"));
    }
    let mut arguments = Map::new();
    let is_parameter = |tag: &Tag<'_>| !tag.closes && PARAMETERS.contains(&tag.word) && !tag.names.is_empty();
    let mut from = 0;
    while let Some(open) = next_tag(inside, from, is_parameter) {
        let ends = |tag: &Tag<'_>| tag.word == open.word && (tag.closes || !tag.names.is_empty());
        let close = next_tag(inside, open.end, ends);
        let (end, after) = close.map_or((inside.len(), inside.len()), |tag| {
            (tag.start, if tag.closes { tag.end } else { tag.start })
        });
        let value = argument(name, open.names, &inside[open.end..end], tools);
        arguments.insert(open.names.to_owned(), value);
        from = after;
    }
    if arguments.is_empty() {
        arguments = plain_tags(name, inside, tools);
    }
    Ok(named(arguments.into()))
}

/// Reads `<key>value</key>`, as MiniMax-M3 writes arguments.
fn plain_tags(name: &str, inside: &str, tools: &CallableTools<'_>) -> Map<String, Value> {
    let mut arguments = Map::new();
    let mut from = 0;
    while let Some(open) = next_tag(inside, from, |tag| !tag.closes) {
        let Some(close) = next_tag(inside, open.end, |tag| tag.closes && tag.word == open.word) else {
            break;
        };
        arguments
            .insert(open.word.to_owned(), argument(name, open.word, &inside[open.end..close.start], tools));
        from = close.end;
    }
    arguments
}

/// Reads an argument's text: as it is where the tool takes a text, else as the JSON that it may be.
pub(super) fn argument(tool: &str, name: &str, text: &str, tools: &CallableTools<'_>) -> Value {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    let text = match text.trim().strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>")) {
        Some(data) => data,
        None => text,
    };
    let trimmed = text.trim();
    if tools.takes_text(tool, name) {
        return if tools.lists_values(tool, name) { trimmed.into() } else { text.into() };
    }
    serde_json::from_str(trimmed).unwrap_or_else(|_| trimmed.into())
}

/// Reads `NAME` and pairs of `<arg_key>` and `<arg_value>`: the call of GLM and of its heirs.
pub(super) fn key_value_call(text: &str, closed: bool, tools: &CallableTools<'_>) -> Option<ReadCall> {
    let key = |from| next_tag(text, from, |tag| !tag.closes && tag.word.ends_with("arg_key"));
    let mut open = key(0)?;
    let name = text[..open.start].trim();
    let name = name.split("<tool_sep>").next().unwrap_or(name).trim();
    let name = tools.resolve(name.rsplit(['\n', '>']).next().unwrap_or(name));
    let mut arguments = Map::new();
    loop {
        let end = next_tag(text, open.end, |tag| tag.closes && tag.word == open.word);
        let value =
            end.and_then(|end| next_tag(text, end.end, |tag| !tag.closes && tag.word.ends_with("arg_value")));
        let close =
            value.and_then(|value| next_tag(text, value.end, |tag| tag.closes && tag.word == value.word));
        let (Some(end), Some(value), Some(close)) = (end, value, close) else {
            return Some(Err(format!("the call of {name:?} has no end")));
        };
        let argument_name = text[open.end..end.start].trim();
        arguments.insert(
            argument_name.to_owned(),
            argument(&name, argument_name, &text[value.end..close.start], tools),
        );
        match key(close.end) {
            Some(next) => open = next,
            // Without the closing mark another argument may be missing.
            None if !closed => return Some(Err(format!("the call of {name:?} has no end"))),
            None => return Some(Ok(NamedCall { name, arguments: arguments.into() })),
        }
    }
}

/// Returns the next tag at or after `from` that is wanted.
fn next_tag<'t>(text: &'t str, from: usize, wanted: impl Fn(&Tag<'t>) -> bool) -> Option<Tag<'t>> {
    let mut at = from;
    loop {
        let start = at + text.get(at..)?.find('<')?;
        match tag_at(text, start).filter(&wanted) {
            Some(tag) => return Some(tag),
            None => at = start + 1,
        }
    }
}

/// Reads the tag at a `<`: `<word=NAME>`, `<space:word name="NAME" …>`, `<|DSML|word name="NAME">`, `</word>`.
fn tag_at(text: &str, start: usize) -> Option<Tag<'_>> {
    let inside = text.get(start + 1..)?;
    let length = inside.find('>').filter(|length| *length <= 200)?;
    let end = start + 1 + length + 1;
    let mut inside = &inside[..length];
    let closes = inside.starts_with('/');
    inside = inside.trim_start_matches('/');
    // A namespace between bars or before a colon.
    if let Some((space, rest)) = inside.strip_prefix('|').and_then(|rest| rest.split_once('|')) {
        inside = if rest.is_empty() { space } else { rest };
    }
    let inside = inside.trim_start_matches('/').trim();
    let word_end = inside.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(inside.len());
    let (word, rest) = inside.split_at(word_end);
    let word = word.rsplit([':', '|']).next().unwrap_or(word);
    if word.is_empty() || !word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
        return None;
    }
    let names = match rest.strip_prefix('=') {
        Some(name) => name,
        None => ["name=", "tool=", "key="]
            .iter()
            .find_map(|field| rest.split_once(field))
            .map_or("", |(_, value)| quoted(value)),
    };
    let names = names.trim().trim_matches(|c| matches!(c, '"' | '\''));
    Some(Tag { word, names, closes, start, end })
}

fn quoted(value: &str) -> &str {
    match value.chars().next() {
        Some(mark @ ('"' | '\'')) => value[1..].split(mark).next().unwrap_or_default(),
        _ => value.split_whitespace().next().unwrap_or_default(),
    }
}
