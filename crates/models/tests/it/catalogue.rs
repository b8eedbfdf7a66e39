//! Every request that an adapter can write: whole conversations against a loopback server, kept as files for
//! `scripts/conformance/model-apis`, which validates them by the vendors' own types. Beside that, the promise that what a model
//! wrote comes back byte for byte.

use std::path::PathBuf;

use apprentice_models::anthropic::{Anthropic, AnthropicConfig, ApiVersion, Effort, ModelDefaults};
use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::gemini::Gemini;
use apprentice_models::hosted::HostedConfig;
use apprentice_models::http::Endpoint;
use apprentice_models::openai::OpenAi;
use apprentice_models::options::CallOptions;
use apprentice_models::safety::SafetyPolicy;
use apprentice_protocol::{
    Action, ActionOutcome, BlobHash, Call, CallBody, CallResult, ChatModel, ChatRequest, Content, Image,
    ImageBytes, MediaType, Message, NamedSchema, PageReading, ReplyStop, Size, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::transport;
use crate::server::{Server, Speak};

/// The smallest PNG there is.
const PNG: &[u8] = include_bytes!("dot.png");

pub(crate) fn picture(name: &str) -> Content {
    let bytes = ImageBytes(PNG.into());
    let image = Image { hash: BlobHash::new(name), size: Size::new(1, 1), media: MediaType::Png, bytes };
    Content::Image { image }
}

/// How a conversation begins.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Desktop,
    Browser,
    Schema,
}

fn opening(kind: Kind) -> ChatRequest {
    let finish = ToolSpec {
        name: "finish".into(),
        description: "Ends the task.".into(),
        schema: json!({ "type": "object", "properties": { "finish": { "type": "string", "enum": ["done"] } },
            "required": ["finish"], "additionalProperties": false }),
    };
    let world = WorldTool { browser: kind == Kind::Browser, display: Size::new(1280, 720) };
    let schema = json!({ "type": "object", "required": ["verdict"], "properties": {
        "verdict": { "type": "string", "minLength": 1 }, "score": { "type": "integer", "format": "uint8" },
    } });
    match kind {
        Kind::Schema => ChatRequest {
            system: "Judge.".into(),
            messages: vec![Message::User { content: vec![Content::text("How was it?")] }],
            schema: Some(NamedSchema { name: "judge/1".into(), schema }),
            seed: Some(u64::MAX),
            max_output_tokens: 900,
            ..ChatRequest::default()
        },
        Kind::Desktop | Kind::Browser => ChatRequest {
            system: "Work.".into(),
            messages: vec![Message::User { content: vec![Content::text("Do it."), picture("first")] }],
            tools: vec![finish],
            world: Some(world),
            seed: Some(3),
            max_output_tokens: 9000,
            ..ChatRequest::default()
        },
    }
}

/// Answers the calls as the loop would: of a turn with several world calls the second fails and the rest are left out.
fn answered(calls: &[Call], turn: usize) -> Message {
    let worlds: Vec<usize> =
        (0..calls.len()).filter(|at| matches!(&calls[*at].body, CallBody::World { .. })).collect();
    let failing = worlds.get(1).copied().filter(|_| worlds.len() > 2);
    let results = calls.iter().enumerate().map(|(at, call)| {
        let actions = match &call.body {
            CallBody::World { actions } => actions.len(),
            CallBody::Tool { .. } | CallBody::Finish(_) | CallBody::Unusable { .. } => 0,
        };
        let outcome = match failing {
            Some(failing) if at == failing => ActionOutcome::Failed { problem: "it is outside".into() },
            Some(failing) if at > failing => ActionOutcome::NotExecuted,
            Some(_) | None => ActionOutcome::Done { text: None },
        };
        let wrong = actions > 0 && !matches!(outcome, ActionOutcome::Done { .. });
        let mut content = Vec::new();
        if actions == 0 {
            content.push(Content::text("as asked"));
        }
        if let CallBody::World { actions } = &call.body
            && actions.last() == Some(&Action::Read { what: PageReading::Tabs })
        {
            content
                .push(Content::text("Tabs:\nTab: t1 \"A\" http://a/ (in front)\nTab: t2 \"\" about:blank\n"));
        }
        if worlds.last() == Some(&at) {
            content.extend([Content::text("Screen now."), picture(&format!("turn {turn}"))]);
        }
        let unusable = matches!(&call.body, CallBody::Unusable { .. });
        CallResult {
            id: call.id.clone(),
            per_action: vec![outcome; actions],
            content,
            is_error: wrong || unusable,
        }
    });
    Message::Results { results: results.collect(), notices: vec![Content::text("A notice.")] }
}

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Lives a conversation with these replies and keeps what was sent. Returns the bodies.
async fn converse<M: ChatModel>(
    name: &str,
    kind: Kind,
    replies: Vec<Value>,
    model: impl FnOnce(&str) -> M,
) -> Vec<String> {
    let (provider, rounds) = (name.split('.').next().expect("a name").to_owned(), replies.len());
    for (number, reply) in replies.iter().enumerate() {
        let path = folder().join(format!("{name}.{number}.reply.json"));
        std::fs::write(path, reply.to_string()).expect("writes");
    }
    let spoken = replies.clone();
    let server = Server::start(move |_, number| Speak::ok(&spoken[number])).await;
    let model = model(&server.base);
    let mut request = opening(kind);
    for turn in 0..rounds {
        let reply =
            model.reply(&request).await.unwrap_or_else(|error| panic!("{name}, turn {turn}: {error}"));
        let no_calls = reply.calls.is_empty();
        let results = answered(&reply.calls, turn);
        request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
        request.messages.push(match no_calls {
            true => Message::User { content: vec![Content::text("Go on.")] },
            false => results,
        });
    }
    let bodies: Vec<String> =
        server.heard().iter().map(|heard| String::from_utf8(heard.body.clone()).expect("UTF-8")).collect();
    for (number, body) in bodies.iter().enumerate() {
        let path = folder().join(format!("{name}.{number}.request.json"));
        std::fs::write(path, body).expect("writes");
    }
    assert_eq!(bodies.len(), rounds, "{provider}");
    bodies
}

fn anthropic(model: &str, forget: Option<u64>) -> impl FnOnce(&str) -> Anthropic {
    let (model, facts) = (model.to_owned(), ModelDefaults::of(model).expect("a known family"));
    move |base| {
        let config = AnthropicConfig {
            model,
            endpoint: Endpoint::new(base, None),
            version: ApiVersion::default(),
            facts,
            effort: Some(Effort::Medium),
            forget_above: forget,
            tariff: None,
            page_scripts: false,
            calls: CallOptions::default(),
        };
        Anthropic::new(config, transport())
    }
}

fn message(content: &Value, stop: &str) -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": { "input_tokens": 9, "output_tokens": 5 } })
}

fn member(id: &str, toolset: &str, name: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "toolset_name": toolset, "input": input })
}

#[tokio::test]
async fn anthropic_toolsets() {
    let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2ln" });
    let computer = |id: &str, name: &str, input: Value| member(id, "computer", name, &input);
    let all = json!([
        thinking,
        { "type": "text", "text": "I will." },
        computer("t1", "left_click", json!({ "coordinate": [3, 4], "text": "ctrl" })),
        computer("t2", "left_click_drag", json!({ "start_coordinate": [1, 2], "coordinate": [3, 4] })),
        computer("t3", "scroll", json!({ "coordinate": [3, 4], "scroll_direction": "down", "scroll_amount": 3 })),
        computer("t4", "type", json!({ "text": "héllo" })),
        computer("t5", "key", json!({ "text": "ctrl+s", "repeat": 2 })),
        computer("t6", "hold_key", json!({ "text": "shift", "duration": 1 })),
        computer("t7", "wait", json!({ "duration": 1 })),
        computer("t8", "zoom", json!({ "region": [0, 0, 10, 10] })),
        computer("t9", "mouse_move", json!({ "coordinate": [3, 4] })),
        { "type": "tool_use", "id": "t10", "name": "finish", "input": { "finish": "done" } },
    ]);
    let one = json!([
        { "type": "redacted_thinking", "data": "ZGF0YQ==" },
        computer("u1", "screenshot", json!({})), computer("u2", "left_mouse_down", json!({})),
    ]);
    let replies = vec![message(&all, "tool_use"), message(&one, "tool_use"), message(&json!([]), "end_turn")];
    let bodies =
        converse("anthropic.computer", Kind::Desktop, replies, anthropic("claude-sonnet-5-5", Some(90_000)))
            .await;
    let sent: Value = serde_json::from_str(&bodies[1]).expect("JSON");
    let answers = &sent["messages"][2]["content"];
    assert_eq!(answers[0]["content"][0]["text"], "Done.");
    assert_eq!(answers[1]["content"], "failed: it is outside");
    assert_eq!(answers[2]["content"], "Not executed: an earlier computer action in this turn failed.");
    assert_eq!(
        answers[9],
        json!({ "type": "tool_result", "tool_use_id": "t10", "content": [
        { "type": "text", "text": "as asked" } ] })
    );
    assert_eq!(answers[11]["type"], "image");

    let browser = |id: &str, name: &str, input: Value| member(id, "browser", name, &input);
    let at = json!({ "type": "coordinate", "x": 3, "y": 4 });
    let all = json!([
        browser("t1", "navigate", json!({ "url": "example.org" })),
        browser("t2", "left_click", json!({ "target": at })),
        browser("t3", "type", json!({ "text": "a" })),
        { "type": "tool_use", "id": "t4", "name": "page", "input": { "action": "open_tab", "url": "http://x/" } },
        { "type": "tool_use", "id": "t5", "name": "page", "input": { "action": "fly" } },
    ]);
    let replies =
        vec![message(&all, "tool_use"), message(&json!([{ "type": "text", "text": "Done." }]), "end_turn")];
    let bodies =
        converse("anthropic.browser", Kind::Browser, replies, anthropic("claude-opus-5-5", None)).await;
    let sent: Value = serde_json::from_str(&bodies[1]).expect("JSON");
    assert_eq!(
        sent["messages"][2]["content"][2]["content"],
        "Not executed: an earlier action in this turn failed."
    );
}

#[tokio::test]
async fn anthropics_members_about_pages_and_tabs() {
    let target = json!({ "type": "ref", "ref": "n7" });
    let pairs = [
        [("list_tabs", json!({})), ("new_tab", json!({}))],
        [("switch_tab", json!({ "tab_id": "t2" })), ("close_tab", json!({ "tab_id": "t2" }))],
        [
            ("read_page", json!({ "filter": "all", "depth": 3, "ref": "n7" })),
            ("find", json!({ "query": "save" })),
        ],
        [
            ("form_input", json!({ "target": target, "value": true })),
            ("file_upload", json!({ "target": target, "paths": ["a.txt"] })),
        ],
        [("scroll_to", json!({ "target": target })), ("get_page_text", json!({}))],
        [("javascript_exec", json!({ "text": "1" })), ("read_console", json!({}))],
        [("read_network", json!({})), ("hover", json!({ "target": target }))],
    ];
    let mut replies = Vec::new();
    for (turn, pair) in pairs.iter().enumerate() {
        let blocks = pair.iter().enumerate().map(|(at, (name, input))| {
            json!({ "type": "tool_use", "id": format!("t{turn}_{at}"), "toolset_name": "browser", "name": name, "input": input })
        });
        replies.push(message(&blocks.collect(), "tool_use"));
    }
    replies.push(message(&json!([{ "type": "text", "text": "Done." }]), "end_turn"));
    let bodies =
        converse("anthropic.pages", Kind::Browser, replies, anthropic("claude-opus-5-5", None)).await;
    let sent: Value = serde_json::from_str(bodies.last().expect("a request")).expect("JSON");
    let configs = json!({ "file_upload": { "enabled": true }, "javascript_exec": { "enabled": false },
        "read_console": { "enabled": true }, "read_network": { "enabled": true } });
    assert_eq!(sent["tools"][0], json!({ "type": "browser_toolset_20260801", "configs": configs }));
    let tabs = json!([{ "tab_id": "t1", "title": "A", "url": "http://a/", "active": true },
        { "tab_id": "t2", "title": "", "url": "about:blank", "active": false }]);
    let (list, opened) = (&sent["messages"][2]["content"][0], &sent["messages"][2]["content"][1]);
    assert_eq!(list["content"], json!([{ "type": "browser_state", "tabs": tabs }]));
    let change = json!([{ "type": "tab_opened", "tab_id": "t1" }]);
    assert_eq!(
        opened["content"],
        json!([{ "type": "browser_state", "tabs": tabs, "state_changes": change }])
    );
    assert_eq!(sent["messages"][2]["content"][2]["text"], "Screen now.", "the view stands below");
}

#[tokio::test]
async fn anthropics_older_tools_and_schemas() {
    for (model, name) in [("claude-opus-4-5", "anthropic.older"), ("claude-haiku-4-5", "anthropic.old")] {
        let call = json!([{ "type": "tool_use", "id": "t1", "name": "computer",
            "input": { "action": "left_click", "coordinate": [3, 4] } }]);
        let replies =
            vec![message(&call, "tool_use"), message(&json!([{ "type": "text", "text": "x" }]), "end_turn")];
        let bodies = converse(name, Kind::Desktop, replies, anthropic(model, None)).await;
        assert!(bodies[1].contains("display_width_px") && !bodies[1].contains("toolset_name"));
    }
    let text = json!([{ "type": "text", "text": "{\"verdict\":\"good\"}" }]);
    let replies = vec![message(&text, "end_turn"), message(&text, "end_turn")];
    converse("anthropic.schema", Kind::Schema, replies, anthropic("claude-haiku-5-5", None)).await;
}

fn openai() -> impl FnOnce(&str) -> OpenAi {
    |base| {
        let config = HostedConfig {
            model: "gpt-6.1-sol".into(),
            endpoint: Endpoint::new(base, None),
            effort: Some("medium".into()),
            safety: SafetyPolicy::Acknowledge,
            tariff: None,
            calls: CallOptions::default(),
        };
        OpenAi::new(config, transport())
    }
}

fn response(output: &Value) -> Value {
    json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-6.1-sol",
        "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null,
        "incomplete_details": null, "instructions": null, "metadata": {}, "temperature": null, "top_p": null,
        "usage": { "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 0 },
            "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 1 }, "total_tokens": 14 } })
}

#[tokio::test]
async fn openai_responses() {
    let batch = |id: &str, actions: Value| {
        json!({ "type": "computer_call", "id": format!("cu_{id}"), "call_id": id, "status": "completed",
            "pending_safety_checks": [{ "id": "sc_1", "code": "sensitive_domain", "message": "Look." }],
            "actions": actions })
    };
    let all = json!([
        { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" },
        batch("c1", json!([
            { "type": "click", "button": "left", "x": 3, "y": 4, "keys": ["CTRL"] },
            { "type": "double_click", "x": 3, "y": 4, "keys": null },
            { "type": "drag", "path": [{ "x": 1, "y": 2 }, { "x": 3, "y": 4 }] },
            { "type": "keypress", "keys": ["CTRL", "S"] }, { "type": "move", "x": 3, "y": 4 },
            { "type": "scroll", "x": 3, "y": 4, "scroll_x": 0, "scroll_y": 200 },
            { "type": "type", "text": "a" }, { "type": "wait" }, { "type": "screenshot" },
        ])),
        batch("c2", json!([{ "type": "screenshot" }])),
        batch("c3", json!([{ "type": "screenshot" }])),
        { "type": "function_call", "id": "fc_1", "call_id": "f1", "name": "finish", "status": "completed",
          "arguments": "{\"finish\":\"done\"}" },
    ]);
    let words = json!([{ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "Done.", "annotations": [] }] }]);
    let bodies =
        converse("openai.computer", Kind::Desktop, vec![response(&all), response(&words)], openai()).await;
    let sent: Value = serde_json::from_str(&bodies[1]).expect("JSON");
    let view = sent["input"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|item| item["call_id"] == "c1" && item["output"].is_object());
    assert_eq!(view.expect("an answer")["acknowledged_safety_checks"][0]["id"], "sc_1");
    let page = json!([{ "type": "function_call", "id": "fc_1", "call_id": "f1", "name": "page",
        "status": "completed", "arguments": "{\"action\":\"back\"}" }]);
    converse("openai.browser", Kind::Browser, vec![response(&page), response(&words)], openai()).await;
    let judged = json!([{ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "{\"verdict\":\"good\"}", "annotations": [] }] }]);
    converse("openai.schema", Kind::Schema, vec![response(&judged), response(&judged)], openai()).await;
}

#[tokio::test]
async fn a_pending_safety_check_that_nobody_answers_ends_the_turn() {
    let call = json!([{ "type": "computer_call", "id": "cu_1", "call_id": "c1", "status": "completed",
        "pending_safety_checks": [{ "id": "sc_1" }], "actions": [{ "type": "screenshot" }] }]);
    let server = Server::start(move |_, _| Speak::ok(response(&call))).await;
    let config = HostedConfig {
        model: "gpt-6.1-sol".into(),
        endpoint: Endpoint::new(&server.base, None),
        effort: None,
        safety: SafetyPolicy::Refuse,
        tariff: None,
        calls: CallOptions::default(),
    };
    let reply = OpenAi::new(config, transport()).reply(&opening(Kind::Desktop)).await.expect("answers");
    assert_eq!(reply.stop, ReplyStop::SafetyDeclined);
}

fn gemini() -> impl FnOnce(&str) -> Gemini {
    |base| {
        let config = HostedConfig {
            model: "gemini-3.8-flash".into(),
            endpoint: Endpoint::new(base, None),
            effort: Some("low".into()),
            safety: SafetyPolicy::Acknowledge,
            tariff: None,
            calls: CallOptions::default(),
        };
        Gemini::new(config, transport())
    }
}

fn interaction(steps: &Value) -> Value {
    json!({ "id": "i1", "status": "completed", "model": "gemini-3.8-flash", "steps": steps,
        "usage": { "total_input_tokens": 9, "total_output_tokens": 5 } })
}

#[tokio::test]
async fn gemini_interactions() {
    let call = |id: &str, name: &str, arguments: Value| json!({ "type": "function_call", "id": id, "name": name, "arguments": arguments });
    let decision = json!({ "decision": "require_confirmation", "explanation": "Pay?" });
    let all = json!([
        { "type": "thought", "signature": "c2ln" },
        call("f1", "click", json!({ "x": 3, "y": 4, "safety_decision": decision })),
        call("f2", "hotkey", json!({ "keys": ["ctrl", "s"] })),
        call("f3", "type", json!({ "text": "a", "press_enter": true })),
        call("f4", "finish", json!({ "finish": "done" })),
    ]);
    let words = json!([{ "type": "model_output", "content": [{ "type": "text", "text": "Done." }] }]);
    let replies = vec![interaction(&all), interaction(&words)];
    let bodies = converse("gemini.desktop", Kind::Desktop, replies, gemini()).await;
    let sent: Value = serde_json::from_str(&bodies[1]).expect("JSON");
    let answer = sent["input"].as_array().expect("a list").iter().find(|step| step["call_id"] == "f1");
    assert_eq!(answer.expect("an answer")["result"][0]["text"], "{\"safety_acknowledgement\":true}");
    let page = json!([
        call("f1", "navigate", json!({ "url": "http://x/" })),
        call("f2", "page", json!({ "action": "reload" }))
    ]);
    converse("gemini.browser", Kind::Browser, vec![interaction(&page), interaction(&words)], gemini()).await;
    converse("gemini.schema", Kind::Schema, vec![interaction(&words), interaction(&words)], gemini()).await;
}

fn student(profile: &str) -> impl FnOnce(&str) -> Compat {
    let student = StudentProfile::load(profile).expect("is sound");
    move |base| {
        let config = CompatConfig {
            model: "m".into(),
            endpoint: Endpoint::new(base, None),
            student,
            tariff: None,
            effort: None,
            calls: CallOptions::default(),
            adaptation: std::sync::Arc::default(),
        };
        Compat::new(config, transport())
    }
}

fn completion(message: &Value) -> Value {
    json!({ "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "finish_reason": "stop", "logprobs": null, "message": message }],
        "usage": { "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14 } })
}

#[tokio::test]
async fn compatible_servers() {
    let function = |id: &str, arguments: Value| json!({ "id": id, "type": "function", "function": { "name": "computer", "arguments": arguments.to_string() } });
    let calls = json!({ "role": "assistant", "content": "I will.", "refusal": null, "tool_calls": [
        function("c1", json!({ "action": "left_click", "coordinate": [3, 4] })),
        function("c2", json!({ "action": "type", "text": "a" })),
        function("c3", json!({ "action": "screenshot" })),
    ] });
    let words = |text: &str| completion(&json!({ "role": "assistant", "content": text, "refusal": null }));
    converse("compat.tools", Kind::Browser, vec![completion(&calls), words("Done.")], student("generic"))
        .await;
    let tagged =
        "<tool_call>{\"name\":\"computer_use\",\"arguments\":{\"action\":\"wait\",\"time\":1}}</tool_call>";
    converse("compat.qwen", Kind::Desktop, vec![words(tagged), words("Done.")], student("qwen3-vl")).await;
    let boxes = "Thought: x\nAction: click(start_box='(3,4)')";
    converse("compat.boxes", Kind::Desktop, vec![words(boxes), words("Done.")], student("ui-tars-1.5")).await;
    let object = "{\"thought\":\"x\",\"tool\":\"computer\",\"arguments\":{\"action\":\"screenshot\"}}";
    converse("compat.json", Kind::Desktop, vec![words(object), words("Done.")], student("holo1.5")).await;
    let judged = words("{\"verdict\":\"good\"}");
    converse("compat.schema", Kind::Schema, vec![judged.clone(), judged], student("generic")).await;
}

/// What the server wrote stands in the next request byte for byte, odd spelling included.
#[tokio::test]
async fn what_a_model_wrote_comes_back_byte_for_byte() {
    let block = r#"{ "type":"tool_use", "id":"t1","toolset_name":"computer","name":"wait", "input":{"duration":1.50e0,"note":"\u00e9\/"} }"#;
    let body = format!(r#"{{"content":[{block}],"stop_reason":"tool_use","usage":{{}}}}"#);
    let server = Server::start(move |_, _| Speak::ok(&body)).await;
    let model = anthropic("claude-sonnet-5-5", None)(&server.base);
    let mut request = opening(Kind::Desktop);
    let reply = model.reply(&request).await.expect("answers");
    let results = answered(&reply.calls, 0);
    request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
    request.messages.push(results);
    let sent = String::from_utf8(model.body(&request).expect("writes")).expect("UTF-8");
    assert!(sent.contains(block), "{sent}");
}
