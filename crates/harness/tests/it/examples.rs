//! The examples of the repository: they compile, and do what they show.

#[path = "../../../../examples/model_adapter.rs"]
mod model_adapter;

use std::path::Path;

use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::http::Endpoint;
use apprentice_models::options::CallOptions;
use apprentice_protocol::{
    CallBody, CallResult, ChatModel, ChatRequest, Content, Message, ModelErrorKind, ReplyStop, Size,
    ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use crate::model::transport;
use crate::server::{Server, Speak};
use model_adapter::Ollama;

fn opening() -> ChatRequest {
    ChatRequest {
        system: "Be brief.".into(),
        messages: vec![Message::User { content: vec![Content::text("Go.")] }],
        tools: vec![ToolSpec {
            name: "look_up".into(),
            description: "Looks a word up.".into(),
            schema: json!({ "type": "object" }),
        }],
        seed: Some(7),
        max_output_tokens: 99,
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn the_example_adapter_holds_a_conversation() {
    let first = json!({ "model": "tiny:1b", "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 5, "message": {
        "role": "assistant", "content": "",
        "tool_calls": [{ "function": { "name": "look_up", "arguments": { "word": "cell" } } }, { "function": {} }],
    } });
    let last = json!({ "message": { "role": "assistant", "content": "Done." }, "done_reason": "length" });
    let turns = [first.clone(), last];
    let server = Server::start(move |_, number| match turns.get(number) {
        Some(turn) => Speak::ok(turn),
        None => Speak::ok("{}"),
    })
    .await;
    let model = Ollama::new(&server.base, "tiny:1b", transport());
    let mut request = opening();

    let reply = model.reply(&request).await.expect("answers");
    assert_eq!((reply.stop, reply.usage.input, reply.usage.output), (ReplyStop::Calls, 11, 5));
    let bodies: Vec<&CallBody> = reply.calls.iter().map(|call| &call.body).collect();
    assert!(matches!(&bodies[..], [CallBody::Tool { name, arguments }, CallBody::Unusable { .. }]
        if name == "look_up" && arguments["word"] == "cell"));

    let results = reply.calls.iter().map(|call| CallResult {
        id: call.id.clone(),
        per_action: Vec::new(),
        content: vec![Content::text("A small room.")],
        is_error: false,
    });
    let results = results.collect();
    request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
    request.messages.push(Message::Results { results, notices: Vec::new() });
    let reply = model.reply(&request).await.expect("answers");
    assert_eq!((reply.stop, reply.say), (ReplyStop::MaxTokens, vec!["Done.".to_owned()]));

    let heard = server.heard();
    assert_eq!(heard[0].path, "/api/chat");
    let body = heard[1].json();
    assert_eq!(body["options"], json!({ "num_predict": 99, "seed": 7 }));
    let roles: Vec<&Value> =
        body["messages"].as_array().expect("a list").iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(body["messages"][2], first["message"], "what the model said goes back unchanged");

    let error = model.reply(&request).await.expect_err("a reply without a message");
    assert_eq!(error.fault, ModelErrorKind::Protocol);
}

#[tokio::test]
async fn the_example_profile_shapes_a_request() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/student_profile.toml");
    let student = StudentProfile::load(&path.to_string_lossy()).expect("is sound");
    assert_eq!(student.name, "student_profile");
    let config = CompatConfig {
        model: "tiny-vlm".into(),
        endpoint: Endpoint::new("http://127.0.0.1:9", None),
        student,
        tariff: None,
        effort: None,
        calls: CallOptions::default(),
        adaptation: std::sync::Arc::default(),
    };
    let request =
        ChatRequest { world: Some(WorldTool { browser: false, display: Size::new(1024, 576) }), ..opening() };
    let model = Compat::new(config, transport());
    let body: Value = serde_json::from_slice(&model.body(&request).expect("a body")).expect("JSON");
    assert_eq!(body["response_format"]["type"], "json_schema", "the server enforces the form of a turn");
    assert_eq!(body["temperature"], 0.0);
    assert!(model.profile().outline, "the model also gets the list of elements");
}
