//! Parses `/chat/completions` replies.

use std::collections::BTreeSet;

use apprentice_protocol::{
    Call, CallBody, CallId, ChatRequest, Message, ModelError, ModelErrorKind, RawContent, ReplyStop, Retry,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

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
    if let Some(error) = fault_of(choice) {
        return Err(DecodeError::Error(error));
    }
    let own = request.world.map(|world| own_tool(student, world));
    let tools = CallableTools::new(own.iter().chain(&request.tools));
    let mut ids = CallIds::of(request);
    let (mut calls, fragments) = structured_calls(&choice.message, &tools, &mut ids)?;
    let content = choice.message.content.map(value_of).transpose()?.unwrap_or_default();
    // Without a world, every call is a function call, whatever the student's action format.
    let dialect = if request.world.is_some() { student.dialect } else { ActionFormat::Tools };
    let words = read_words(dialect, &text_of(&content), (!tools.is_empty()).then_some(&tools));
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
fn fault_of(choice: &Choice<'_>) -> Option<ModelError> {
    let error = error_in_success(&serde_json::json!({ "error": choice.error }));
    let broken = || {
        let message = "the server answered 200 with a reply that ended in an error".to_owned();
        ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
    };
    error.or_else(|| (choice.finish_reason.as_deref() == Some("error")).then(broken))
}

/// The calls of a reply that repeated itself: none of them is carried out, and the model learns why.
fn repeated(calls: &[Call], callable: bool, ids: &mut CallIds) -> Vec<Call> {
    let made = || ids.made();
    let first = calls.first().map(|call| call.id.clone()).or_else(|| callable.then(made));
    let body = || CallBody::Unusable { problem: REPEATED.into() };
    first
        .into_iter()
        .chain(calls.iter().skip(1).map(|call| call.id.clone()))
        .map(|id| Call { id, body: body() })
        .collect()
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
mod tests {
    use apprentice_protocol::{CallBody, ChatRequest, Message, ReplyStop, Size, ToolSpec, WorldTool};
    use serde_json::json;

    use super::{DecodeError, StudentProfile, reply};

    fn request() -> ChatRequest {
        let world = Some(WorldTool { browser: false, display: Size::new(1280, 720) });
        ChatRequest { world, ..ChatRequest::default() }
    }

    fn read(body: &str) -> Result<super::ParsedReply, DecodeError> {
        decoded(body, &request())
    }

    fn decoded(body: &str, request: &ChatRequest) -> Result<super::ParsedReply, DecodeError> {
        let student = StudentProfile::load("generic").expect("is sound");
        reply(body.as_bytes(), &student, request).map(|read| read.parsed)
    }

    fn click(id: &str) -> serde_json::Value {
        let arguments = "{\"action\":\"left_click\",\"ref\":\"n2\"}";
        json!({ "id": id, "type": "function", "function": { "name": "computer", "arguments": arguments } })
    }

    fn whole(message: &serde_json::Value, finish: &str, output: u64) -> String {
        let usage = json!({ "prompt_tokens": 9, "completion_tokens": output });
        json!({ "choices": [{ "message": message, "finish_reason": finish }], "usage": usage }).to_string()
    }

    #[test]
    fn half_an_action_is_never_carried_out() {
        let limited = ChatRequest { max_output_tokens: 100, ..request() };
        let call = json!({ "content": null, "tool_calls": [click("a"), click("b")] });
        for (finish, output) in [("length", 20), ("tool_calls", 100), ("stop", 101), ("max_tokens", 1)] {
            let read = decoded(&whole(&call, finish, output), &limited).expect("reads");
            assert!(matches!(&read.calls[0].body, CallBody::World { .. }), "the first is whole");
            let CallBody::Unusable { problem } = &read.calls[1].body else { panic!("{read:?}") };
            assert!(problem.contains("its limit of 100 tokens"), "{problem}");
        }
        let whole_call = decoded(&whole(&call, "tool_calls", 99), &limited).expect("reads");
        assert!(whole_call.calls.iter().all(|call| matches!(call.body, CallBody::World { .. })));
        let said = decoded(&whole(&json!({ "content": "4" }), "stop", 100), &limited).expect("reads");
        assert_eq!(said.stop, ReplyStop::MaxTokens, "half an answer is none");
        let words = "<tool_call>{\"name\":\"computer\",\"arguments\":{\"action\":\"wait\"}}</tool_call>";
        let read = decoded(&whole(&json!({ "content": words }), "length", 20), &limited).expect("reads");
        assert!(matches!(&read.calls[..], [one] if matches!(one.body, CallBody::Unusable { .. })));
    }

    #[test]
    fn an_open_thought_holds_neither_a_call_nor_an_answer() {
        let unusable = |message: serde_json::Value| {
            let read = decoded(&whole(&message, "stop", 5), &request()).expect("reads");
            let all = read.calls.iter().all(|call| matches!(call.body, CallBody::Unusable { .. }));
            assert!(all && !read.calls.is_empty(), "{read:?}");
        };
        unusable(json!({ "content": "<think>I click", "tool_calls": [click("a")] }));
        unusable(json!({ "content": "<think>The box is n2, so" }));
        unusable(json!({ "content": "", "reasoning": "I click n2" }));
        unusable(json!({ "content": null, "reasoning_content": "<tool_call>{}</tool_call>" }));
        let closed = json!({ "content": "<think>n2</think>", "tool_calls": [click("a")] });
        let read = decoded(&whole(&closed, "stop", 5), &request()).expect("reads");
        assert!(matches!(read.calls[0].body, CallBody::World { .. }) && read.thoughts == ["n2"]);
    }

    #[test]
    fn reasoning_is_kept_shown_and_sent_back() {
        let message = json!({ "content": null, "tool_calls": [click("a")], "reasoning": "n2", "reasoning_content": "n2",
            "reasoning_details": [{ "type": "reasoning.text", "text": "or n3", "signature": "x" }] });
        let read = decoded(&whole(&message, "tool_calls", 5), &request()).expect("reads");
        assert_eq!(read.thoughts, ["n2", "or n3"]);
        let sent: serde_json::Value = serde_json::from_str(&read.raw.blocks[0]).expect("JSON");
        for field in super::REASONING {
            assert_eq!(sent[field], message[field], "{field}");
        }
        let parts = json!({ "content": [
            { "type": "thinking", "thinking": [{ "type": "text", "text": "n2" }] }, { "type": "text", "text": "5" },
        ] });
        let read = decoded(&whole(&parts, "stop", 5), &request()).expect("reads");
        assert_eq!((read.thoughts, read.say), (vec!["n2".to_owned()], vec!["5".to_owned()]));
    }

    #[test]
    fn ids_that_come_again_and_names_with_marks_are_mended() {
        let before =
            decoded(&whole(&json!({ "content": null, "tool_calls": [click("c:0")] }), "stop", 5), &request());
        let before = before.expect("reads");
        let turn = Message::Assistant { raw: before.raw, say: Vec::new(), calls: before.calls };
        let second = ChatRequest { messages: vec![turn], ..request() };
        let again =
            json!({ "content": null, "tool_calls": [click("c:0"), click("x"), click("x"), click("")] });
        let read = decoded(&whole(&again, "tool_calls", 5), &second).expect("reads");
        let ids: Vec<&str> = read.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_2_1", "x", "call_2_2", "call_2_3"]);
        assert!(ids.iter().all(|id| read.raw.blocks[0].contains(&format!("\"id\":\"{id}\""))));
        for name in
            ["functions.computer", "computer<|channel|>commentary", "functions.computer:0", " computer "]
        {
            let mut call = click("a");
            call["function"]["name"] = name.into();
            let read =
                decoded(&whole(&json!({ "tool_calls": [call] }), "stop", 5), &request()).expect("reads");
            assert!(matches!(read.calls[0].body, CallBody::World { .. }), "{name}: {read:?}");
            assert!(read.raw.blocks[0].contains("\"name\":\"computer\""), "{name}");
        }
    }

    #[test]
    fn what_the_server_wrote_is_kept_byte_for_byte() {
        let call = r#"{ "index":0, "function":{"arguments":"{\"action\": \"wait\"}","name":"computer"},"id":"c9","type":"function"}"#;
        let body = format!(
            r#"{{"choices":[{{"message":{{"role":"assistant","content":"\u0041h","tool_calls":[{call}],"refusal":null}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{{"cached_tokens":60}}}},"model":"m-1"}}"#
        );
        let read = read(&body).expect("reads");
        assert_eq!(
            read.raw.blocks,
            [format!(r#"{{"role":"assistant","content":"\u0041h","tool_calls":[{call}]}}"#)]
        );
        assert_eq!((read.say.as_slice(), read.stop), (["Ah".to_owned()].as_slice(), ReplyStop::Calls));
        assert!(matches!(&read.calls[0].body, CallBody::World { actions } if actions.len() == 1));
        let tokens = read.tokens.expect("usage");
        assert_eq!((tokens.fresh, tokens.cache_read, tokens.output), (40, 60, 7));
        assert_eq!(read.provider_model.as_deref(), Some("m-1"));
    }

    #[test]
    fn a_manager_calls_functions_in_words_where_its_server_reads_none() {
        let said = "<think>x</think><tool_call>{\"name\":\"skill_search\",\"arguments\":{}}</tool_call>";
        let body = json!({ "choices": [{ "message": { "content": said } }] }).to_string();
        let student = StudentProfile::load("ui-tars-1.5").expect("is sound");
        let tool = ToolSpec { name: "skill_search".into(), description: String::new(), schema: json!({}) };
        let asked = ChatRequest { tools: vec![tool], ..ChatRequest::default() };
        let read = reply(body.as_bytes(), &student, &asked).expect("reads").parsed;
        assert!(matches!(&read.calls[0].body, CallBody::Tool { name, .. } if name == "skill_search"));
        let judged = reply(body.as_bytes(), &student, &ChatRequest::default()).expect("reads").parsed;
        assert!(judged.calls.is_empty(), "nothing could be called");
    }

    #[test]
    fn odd_replies_are_told_apart() {
        let message = |message: serde_json::Value, reason: &str| {
            json!({ "choices": [{ "message": message, "finish_reason": reason }] }).to_string()
        };
        let stop = |body: &str| read(body).map(|read| read.stop).expect("reads");
        assert_eq!(stop(&message(json!({ "content": "42" }), "stop")), ReplyStop::EndTurn);
        assert_eq!(stop(&message(json!({ "content": "4" }), "length")), ReplyStop::MaxTokens);
        assert_eq!(stop(&message(json!({ "content": "?" }), "from_later")), ReplyStop::MaxTokens);
        assert_eq!(stop(&message(json!({ "content": null, "refusal": "no" }), "stop")), ReplyStop::Refusal);
        let empty = read(&message(json!({ "content": [] }), "stop")).expect("reads");
        assert!(empty.say.is_empty() && empty.calls.is_empty());
        let broken = json!({ "content": null, "tool_calls": [{ "function": { "name": "computer", "arguments": "{" } }] });
        let broken = read(&message(broken, "tool_calls")).expect("reads");
        assert!(matches!(&broken.calls[0].body, CallBody::Unusable { .. }));
        assert!(broken.raw.blocks[0].contains("\"id\":\"call_1_1\""));
        assert!(broken.raw.blocks[0].contains("\"arguments\":\"{}\""), "a server reads its own words again");
        let unsaid = message(json!({ "content": "42", "refusal": "" }), "stop");
        assert_eq!(stop(&unsaid), ReplyStop::EndTurn);
        for call in [json!(7), json!("x"), json!([])] {
            let odd = message(json!({ "content": null, "tool_calls": [call] }), "tool_calls");
            assert!(matches!(read(&odd), Err(DecodeError::Form(_))), "{odd}");
        }
        for function in [json!(7), json!([]), json!({ "name": "computer", "arguments": "[1]" })] {
            let odd = json!({ "content": null, "tool_calls": [{ "id": "c", "function": function }] });
            let odd = read(&message(odd, "tool_calls")).expect("reads");
            assert!(odd.raw.blocks[0].contains("\"arguments\":\"{}\""), "{odd:?}");
        }
        assert!(matches!(read("{\"choices\":[]}"), Err(DecodeError::Form(_))));
        assert!(matches!(read("<html>"), Err(DecodeError::Form(_))));
        assert!(matches!(read(r#"{"error":{"code":"server_error"}}"#), Err(DecodeError::Error(_))));
    }
}
