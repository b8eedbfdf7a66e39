//! Parses `/chat/completions` replies.

use apprentice_protocol::{Call, CallBody, CallId, ChatRequest, Message, RawContent, ReplyStop};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::profile::{ActionFormat, StudentProfile};
use super::text_format::{body_of, read_text};
use crate::model::http::{DecodeError, Json, ParsedReply, list, object, read_body, value_of};
use crate::model::price::Tokens;

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
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    refusal: Option<String>,
}

/// Parses a response body.
pub(super) fn reply(
    body: &[u8],
    student: &StudentProfile,
    request: &ChatRequest,
) -> Result<ParsedReply, DecodeError> {
    let body: Body<'_> = read_body(body)?;
    let choice = body.choices.first().ok_or_else(|| DecodeError::form("choices is empty"))?;
    let turn = request.messages.iter().filter(|one| matches!(one, Message::Assistant { .. })).count() + 1;
    let text = choice.message.content.map(text_of).unwrap_or_default();
    let mut calls = Vec::new();
    let mut fragments = Vec::new();
    for (place, raw) in (1..).zip(choice.message.tool_calls.iter().flatten()) {
        let (call, fragment) = call_of(raw, turn, place)?;
        calls.push(call);
        fragments.push(fragment);
    }
    // Without a world, every call is a function call, whatever the student's action format.
    let dialect = if request.world.is_some() { student.dialect } else { ActionFormat::Tools };
    let (say, found) = read_text(dialect, &text, turn);
    let may_call = request.world.is_some() || !request.tools.is_empty();
    if calls.is_empty() && may_call {
        calls = found;
    }
    let content = choice.message.content.map_or(Ok(Json::from("")), |raw| Json::raw(raw.get()))?;
    let mut message = object([("role", "assistant".into()), ("content", content)]);
    if !fragments.is_empty() {
        message = message.with("tool_calls", list(fragments));
    }
    let refused = choice.message.refusal.as_deref().is_some_and(|words| !words.trim().is_empty());
    Ok(ParsedReply {
        raw: RawContent { blocks: vec![serde_json::to_string(&message)?] },
        stop: stop(choice.finish_reason.as_deref(), refused, calls.is_empty()),
        say,
        calls,
        tokens: tokens(&body.usage),
        provider_model: body.model,
    })
}

/// Returns the text of `content`, which is a text, a list of parts, or null.
fn text_of(raw: &RawValue) -> String {
    match value_of(raw) {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Reads one function call, and the fragment that is sent back for it. The fragment is the server's own, unless the
/// call had no id, or arguments that servers fail to parse when they are sent back.
fn call_of(raw: &RawValue, turn: usize, place: usize) -> Result<(Call, Json), DecodeError> {
    let mut value = value_of(raw);
    if !value.is_object() {
        return Err(DecodeError::form("a tool call is not an object"));
    }
    let name = value["function"]["name"].as_str().unwrap_or_default().to_owned();
    let arguments = match &value["function"]["arguments"] {
        Value::String(text) if text.trim().is_empty() => Ok(serde_json::json!({})),
        Value::String(text) => serde_json::from_str(text),
        Value::Null => Ok(serde_json::json!({})),
        other => Ok(other.clone()),
    };
    let readable = value["function"].is_object() && arguments.as_ref().is_ok_and(Value::is_object);
    let body = match arguments {
        Ok(arguments) => body_of(&name, arguments),
        Err(error) => {
            CallBody::Unusable { problem: format!("the arguments of {name:?} are no JSON: {error}") }
        }
    };
    let given = value["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    match given {
        Some(id) if readable => Ok((Call { id: CallId::new(id), body }, Json::raw(raw.get())?)),
        given => {
            let id = given.unwrap_or_else(|| format!("call_{turn}_{place}"));
            value["id"] = id.as_str().into();
            value["type"] = "function".into();
            if !readable {
                // Chat templates parse the arguments of earlier calls. A server that fails to do so rejects every later
                // request.
                value["function"] = serde_json::json!({ "name": name, "arguments": "{}" });
            }
            Ok((Call { id: CallId::new(id), body }, value.into()))
        }
    }
}

/// Servers differ in the finish reason of a reply with function calls, so the calls themselves decide.
fn stop(reason: Option<&str>, refused: bool, no_calls: bool) -> ReplyStop {
    match reason {
        _ if refused => ReplyStop::Refusal,
        Some("content_filter") => ReplyStop::Refusal,
        _ if !no_calls => ReplyStop::Calls,
        None | Some("stop" | "eos" | "tool_calls" | "function_call" | "end_turn") => ReplyStop::EndTurn,
        // Cut short, or ended for an unknown reason: the text does not count as an answer.
        Some(_) => ReplyStop::MaxTokens,
    }
}

/// Input includes tokens read from and written to a cache.
fn tokens(usage: &Value) -> Tokens {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let details = &usage["prompt_tokens_details"];
    let (read, write) = (count(&details["cached_tokens"]), count(&details["cache_write_tokens"]));
    Tokens {
        fresh: count(&usage["prompt_tokens"]).saturating_sub(read).saturating_sub(write),
        cache_read: read,
        cache_write: write,
        cache_write_long: 0,
        output: count(&usage["completion_tokens"]),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CallBody, ChatRequest, ReplyStop, Size, ToolSpec, WorldTool};
    use serde_json::json;

    use super::{DecodeError, StudentProfile, reply};

    fn request() -> ChatRequest {
        let world = Some(WorldTool { browser: false, display: Size::new(1280, 720) });
        ChatRequest { world, ..ChatRequest::default() }
    }

    fn read(body: &str) -> Result<super::ParsedReply, DecodeError> {
        reply(body.as_bytes(), &StudentProfile::load("generic").expect("is sound"), &request())
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
        assert_eq!((read.tokens.fresh, read.tokens.cache_read, read.tokens.output), (40, 60, 7));
        assert_eq!(read.provider_model.as_deref(), Some("m-1"));
    }

    #[test]
    fn a_manager_calls_functions_in_words_where_its_server_reads_none() {
        let said = "<think>x</think><tool_call>{\"name\":\"skill_search\",\"arguments\":{}}</tool_call>";
        let body = json!({ "choices": [{ "message": { "content": said } }] }).to_string();
        let student = StudentProfile::load("ui-tars-1.5").expect("is sound");
        let tool = ToolSpec { name: "skill_search".into(), description: String::new(), schema: json!({}) };
        let asked = ChatRequest { tools: vec![tool], ..ChatRequest::default() };
        let read = reply(body.as_bytes(), &student, &asked).expect("reads");
        assert!(matches!(&read.calls[0].body, CallBody::Tool { name, .. } if name == "skill_search"));
        let judged = reply(body.as_bytes(), &student, &ChatRequest::default()).expect("reads");
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
