//! Replies of compatible servers as they are.

use apprentice_protocol::{CallBody, ChatRequest, Message, ReplyStop, Size, ToolSpec, WorldTool};
use serde_json::json;

use super::super::stream::REPEATED;
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
fn nothing_of_a_reply_that_was_stopped_is_carried_out() {
    let stopped = |message: serde_json::Value| {
        let mut choice = json!({ "message": message, "finish_reason": "length" });
        choice[REPEATED] = true.into();
        json!({ "choices": [choice] }).to_string()
    };
    let calls = json!({ "content": null, "tool_calls": [click("a"), click("b")] });
    for (message, count) in [(calls, 2), (json!({ "content": "ha".repeat(2000) }), 1)] {
        let read = decoded(&stopped(message), &request()).expect("reads");
        assert_eq!((read.calls.len(), read.stop), (count, ReplyStop::Calls));
        for call in &read.calls {
            let CallBody::Unusable { problem } = &call.body else { panic!("{call:?}") };
            assert!(problem.contains("repeated the same text"), "{problem}");
        }
    }
    let review = decoded(&stopped(json!({ "content": "[1, 1, 1" })), &ChatRequest::default()).expect("reads");
    assert_eq!((review.calls.len(), review.stop), (0, ReplyStop::MaxTokens), "nobody can be answered");
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
    let again = json!({ "content": null, "tool_calls": [click("c:0"), click("x"), click("x"), click("")] });
    let read = decoded(&whole(&again, "tool_calls", 5), &second).expect("reads");
    let ids: Vec<&str> = read.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_2_1", "x", "call_2_2", "call_2_3"]);
    assert!(ids.iter().all(|id| read.raw.blocks[0].contains(&format!("\"id\":\"{id}\""))));
    for name in ["functions.computer", "computer<|channel|>commentary", "functions.computer:0", " computer "]
    {
        let mut call = click("a");
        call["function"]["name"] = name.into();
        let read = decoded(&whole(&json!({ "tool_calls": [call] }), "stop", 5), &request()).expect("reads");
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
    let broken =
        json!({ "content": null, "tool_calls": [{ "function": { "name": "computer", "arguments": "{" } }] });
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
