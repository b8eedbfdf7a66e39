//! Parses `/chat/completions` replies.

use std::collections::BTreeSet;

use apprentice_protocol::{
    Call, CallBody, CallId, ChatRequest, Message, ModelError, ModelErrorKind, RawContent, ReplyStop, Retry,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::likelihoods;
use super::named::Screen;
use super::profile::{ActionFormat, StudentProfile};
use super::text_format::own_tool;
use super::usage;
use super::words::{Unparsed, named_body, read_words};
use crate::http::{
    DecodeError, Json, ParsedReply, cut_last_call, error_in_success, list, object, read_body_without_error,
    value_of,
};
use crate::written_calls::{CallableTools, read_call_arguments};

/// Fields in which servers hand over a model's thoughts. They are sent back as they came: DeepSeek and Kimi refuse a
/// conversation without them.
pub(super) const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];
/// Finish reasons of a reply that the limit cut.
const CUT: [&str; 4] = ["length", "max_tokens", "max_output_tokens", "model_length"];
const ONLY_THOUGHTS: &str = "your reply held thoughts alone, and nothing of them is carried out or taken as an answer; make your call outside of them, or call `finish`";
const REPEATED: &str = "your reply repeated the same text again and again and was stopped, so nothing of it is carried out; say it again, shorter";
const CALL_IN_THOUGHT: &str = "this call stands in a thought that was not closed, so it was not carried out; close the thought, then make the call";

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    model: Option<String>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Reply<'a>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    logprobs: Value,
    #[serde(default)]
    error: Value,
    /// See [`super::stream::REPEATED`].
    #[serde(default, rename = "apprentice_repeated")]
    repeated: bool,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
}

impl<'a> Reply<'a> {
    /// The fields of reasoning that hold something, with their names.
    fn reasoning(&self) -> impl Iterator<Item = (&'static str, &'a RawValue)> {
        let fields = [self.reasoning_content, self.reasoning, self.reasoning_details];
        REASONING
            .into_iter()
            .zip(fields)
            .filter_map(|(name, raw)| Some((name, raw.filter(|raw| raw.get() != "null")?)))
    }
}

/// A parsed reply, and what the server left in its words.
#[derive(Debug)]
pub(super) struct CompatReply {
    pub(super) parsed: ParsedReply,
    /// Calls that the server should have read, where it was to present the tools.
    pub(super) unparsed: Option<Unparsed>,
    /// Whether the limit cut it, or it was stopped.
    pub(super) cut: bool,
    /// Whether it was stopped because it repeated itself.
    pub(super) repeated: bool,
}

/// Parses a response body.
pub(super) fn reply(
    body: &[u8],
    student: &StudentProfile,
    request: &ChatRequest,
) -> Result<CompatReply, DecodeError> {
    let body: Body<'_> = read_body_without_error(body)?;
    let choice = body.choices.first().ok_or_else(|| DecodeError::form("choices is empty"))?;
    if let Some(fault) = fault_of(choice) {
        return Err(fault);
    }
    let own = request.world.map(|world| own_tool(student, world));
    let tools = CallableTools::new(own.iter().chain(&request.tools));
    let mut ids = CallIds::of(request);
    let (mut calls, fragments) = structured_calls(&choice.message, &tools, &mut ids)?;
    let content = choice.message.content.map(value_of).transpose()?.unwrap_or_default();
    // Without a world, every call is a function call, whatever the student's action format.
    let dialect = if request.world.is_some() { student.dialect } else { ActionFormat::Tools };
    let text = text_of(&content);
    let answers = likelihoods::asked(request);
    let likely = if answers.is_empty() { None } else { likelihoods::told(&choice.logprobs, &answers) };
    let text = likely.unwrap_or(text);
    let mut words = read_words(dialect, &text, (!tools.is_empty()).then_some(&tools));
    if dialect == ActionFormat::Named && words.calls.is_empty() {
        words.calls.extend(Screen::of(request).read(&text, request));
    }
    let mut thoughts = reasoning_texts(&choice.message)?;
    thoughts.extend(thinking_parts(&content));
    thoughts.extend(words.thoughts);
    let unparsed = words.unparsed.filter(|_| calls.is_empty() && dialect == ActionFormat::Tools);
    if calls.is_empty() {
        calls = words.calls.into_iter().map(|body| Call { id: ids.made(), body }).collect();
    } else if words.open_thought {
        for call in &mut calls {
            call.body = CallBody::Unusable { problem: CALL_IN_THOUGHT.into() };
        }
    }
    let tokens = usage::tokens(&body.usage);
    let output = tokens.map_or(0, |tokens| tokens.output);
    let cut = choice.finish_reason.as_deref().is_some_and(|reason| CUT.contains(&reason))
        || request.max_output_tokens > 0 && output >= u64::from(request.max_output_tokens);
    if choice.repeated {
        calls = repeated(&calls, !tools.is_empty(), &mut ids);
    } else if cut {
        cut_last_call(&mut calls, Some(u64::from(request.max_output_tokens)));
    }
    let refused = choice.message.refusal.as_deref().is_some_and(|words| !words.trim().is_empty());
    if calls.is_empty() && !cut && !refused && !tools.is_empty() {
        let silent = words.say.is_empty() && !thoughts.is_empty();
        let problem = words.problem.or_else(|| silent.then(|| ONLY_THOUGHTS.to_owned()));
        calls.extend(problem.map(|problem| Call { id: ids.made(), body: CallBody::Unusable { problem } }));
    }
    let incomplete = cut || words.open_thought;
    let parsed = ParsedReply {
        raw: RawContent { blocks: vec![message(&choice.message, fragments)?] },
        stop: stop(choice.finish_reason.as_deref(), refused, calls.is_empty(), incomplete),
        say: words.say,
        thoughts,
        calls,
        tokens,
        cost_usd: usage::cost(&body.usage),
        provider_model: body.model,
    };
    Ok(CompatReply { parsed, unparsed, cut, repeated: choice.repeated })
}

/// Builds the message as it is sent back.
fn message(reply: &Reply<'_>, fragments: Vec<Json>) -> Result<String, DecodeError> {
    let content = reply.content.map_or(Ok(Json::from("")), |raw| Json::raw(raw.get()))?;
    let mut message = object([("role", "assistant".into()), ("content", content)]);
    for (name, raw) in reply.reasoning() {
        message = message.with(name, Json::raw(raw.get())?);
    }
    if !fragments.is_empty() {
        message = message.with("tool_calls", list(fragments));
    }
    Ok(serde_json::to_string(&message)?)
}

/// The fault of a choice whose provider broke off in it (OpenRouter). What came before is no reply.
fn fault_of(choice: &Choice<'_>) -> Option<DecodeError> {
    let error = error_in_success(&serde_json::json!({ "error": choice.error }));
    let broken = || {
        let message = "the server answered 200 with a reply that ended in an error".to_owned();
        ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
    };
    let error = error.or_else(|| (choice.finish_reason.as_deref() == Some("error")).then(broken))?;
    let passing = error.fault == ModelErrorKind::Unavailable && error.retry == Retry::Now;
    Some(if passing { DecodeError::BrokenOff(error) } else { DecodeError::Error(error) })
}

/// The calls of a reply that repeated itself: none of them is carried out, and the model learns why.
fn repeated(calls: &[Call], callable: bool, ids: &mut CallIds) -> Vec<Call> {
    let mut all: Vec<CallId> = calls.iter().map(|call| call.id.clone()).collect();
    if all.is_empty() && callable {
        all.push(ids.made());
    }
    let unusable = |id| Call { id, body: CallBody::Unusable { problem: REPEATED.into() } };
    all.into_iter().map(unusable).collect()
}

/// The reply in place of one that the server could not read: an unusable call that tells the model why.
pub(super) fn unreadable(problem: &str) -> ParsedReply {
    let body = CallBody::Unusable { problem: format!("your reply could not be read: {problem}") };
    ParsedReply {
        raw: RawContent { blocks: vec![r#"{"role":"assistant","content":""}"#.to_owned()] },
        say: Vec::new(),
        thoughts: Vec::new(),
        calls: vec![Call { id: CallId::new("unreadable"), body }],
        stop: ReplyStop::Calls,
        tokens: None,
        cost_usd: None,
        provider_model: None,
    }
}

/// Returns the text of `content`, which is a text, a list of parts, or null.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The thoughts in parts of `content`, as Mistral sends them.
fn thinking_parts(content: &Value) -> Vec<String> {
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    parts
        .iter()
        .filter(|part| part["type"] == "thinking")
        .filter_map(|part| thought_text(&part["thinking"]))
        .collect()
}

/// The texts of a reply's reasoning fields; one that stands in two of them counts once.
fn reasoning_texts(reply: &Reply<'_>) -> Result<Vec<String>, DecodeError> {
    let mut texts: Vec<String> = Vec::new();
    for (_, raw) in reply.reasoning() {
        let text = thought_text(&value_of(raw)?);
        texts.extend(text.filter(|text| !texts.contains(text)));
    }
    Ok(texts)
}

/// Joins the texts of a thought: a text, or parts with `text` or `summary`.
fn thought_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(parts) => {
            let text = |part: &Value| match part {
                Value::String(text) => Some(text.clone()),
                part => ["text", "summary"].iter().find_map(|field| part[*field].as_str()).map(str::to_owned),
            };
            parts.iter().filter_map(text).collect::<Vec<_>>().join("\n").trim().to_owned()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

/// The ids of a conversation's calls. Some servers begin anew each turn (`computer:0`), and others refuse a conversation
/// in which an id comes twice.
struct CallIds {
    used: BTreeSet<String>,
    turn: usize,
    place: usize,
}

impl CallIds {
    fn of(request: &ChatRequest) -> Self {
        let calls = request.messages.iter().filter_map(|message| match message {
            Message::Assistant { calls, .. } => Some(calls),
            Message::User { .. } | Message::Results { .. } => None,
        });
        let turn = calls.clone().count() + 1;
        let used = calls.flatten().map(|call| call.id.as_str().to_owned()).collect();
        Self { used, turn, place: 0 }
    }

    /// Returns an id of our own.
    fn made(&mut self) -> CallId {
        loop {
            self.place += 1;
            let id = format!("call_{}_{}", self.turn, self.place);
            if self.used.insert(id.clone()) {
                return CallId::new(id);
            }
        }
    }

    /// Takes the id that the server gave, if no call has it yet.
    fn given(&mut self, id: Option<&str>) -> Option<CallId> {
        let id = id.filter(|id| !id.is_empty())?;
        self.used.insert(id.to_owned()).then(|| CallId::new(id))
    }
}

fn structured_calls(
    reply: &Reply<'_>,
    tools: &CallableTools<'_>,
    ids: &mut CallIds,
) -> Result<(Vec<Call>, Vec<Json>), DecodeError> {
    let (mut calls, mut fragments) = (Vec::new(), Vec::new());
    for raw in reply.tool_calls.iter().flatten() {
        let (call, fragment) = call_of(raw, tools, ids)?;
        calls.push(call);
        fragments.push(fragment);
    }
    Ok((calls, fragments))
}

/// Reads one function call, and the fragment that is sent back for it. The fragment is the server's own, unless the
/// call's id, name or arguments are such that servers fail when they are sent back.
fn call_of(
    raw: &RawValue,
    tools: &CallableTools<'_>,
    ids: &mut CallIds,
) -> Result<(Call, Json), DecodeError> {
    let mut value = value_of(raw)?;
    if !value.is_object() {
        return Err(DecodeError::form("a tool call is not an object"));
    }
    let written = value["function"]["name"].as_str().unwrap_or_default().to_owned();
    let name = tools.resolve(&written);
    let arguments = read_call_arguments(&name, &value["function"]["arguments"]);
    let body = match &arguments {
        Ok(arguments) => named_body(&name, arguments),
        Err(problem) => CallBody::Unusable { problem: problem.clone() },
    };
    let given = ids.given(value["id"].as_str());
    let whole = name == written && sends_back(&value["function"]["arguments"]);
    match given {
        Some(id) if whole => Ok((Call { id, body }, Json::raw(raw.get())?)),
        given => {
            let id = given.unwrap_or_else(|| ids.made());
            value["id"] = id.as_str().into();
            value["type"] = "function".into();
            if !whole {
                // Chat templates parse the arguments of earlier calls. A server that fails to do so rejects every later
                // request.
                let arguments = arguments.map_or_else(|_| "{}".to_owned(), |arguments| arguments.to_string());
                value["function"] = serde_json::json!({ "name": name, "arguments": arguments });
            }
            Ok((Call { id, body }, value.into()))
        }
    }
}

/// Whether a server can parse these arguments when they are sent back.
fn sends_back(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) if text.trim().is_empty() => true,
        Value::String(text) => serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()),
        Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// Servers differ in the finish reason of a reply with function calls, so the calls themselves decide.
fn stop(reason: Option<&str>, refused: bool, no_calls: bool, incomplete: bool) -> ReplyStop {
    match reason {
        _ if refused => ReplyStop::Refusal,
        Some("content_filter") => ReplyStop::Refusal,
        _ if !no_calls => ReplyStop::Calls,
        _ if incomplete => ReplyStop::MaxTokens,
        None | Some("stop" | "eos" | "tool_calls" | "function_call" | "end_turn") => ReplyStop::EndTurn,
        // Cut short, or ended for an unknown reason: the text does not count as an answer.
        Some(_) => ReplyStop::MaxTokens,
    }
}

#[cfg(test)]
mod tests;
