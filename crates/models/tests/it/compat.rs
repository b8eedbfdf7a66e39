//! Students behind an OpenAI-compatible server.

use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::http::{Endpoint, Secret};
use apprentice_models::identity::{IdentitySource as _, ModelIdentity};
use apprentice_models::options::CallOptions;
use apprentice_protocol::{
    ActionOutcome, BlobHash, CallBody, CallId, CallResult, ChatModel, ChatRequest, Content, Image,
    ImageBytes, MediaType, Message, Size, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::{PLANTED, transport};
use crate::server::{Server, Speak};

fn picture(name: &str) -> Content {
    let bytes = ImageBytes(name.as_bytes().into());
    let image = Image { hash: BlobHash::new(name), size: Size::new(1280, 720), media: MediaType::Png, bytes };
    Content::Image { image }
}

fn model(base: &str, profile: &str) -> Compat {
    let config = CompatConfig {
        model: "student".into(),
        endpoint: Endpoint::new(&format!("{base}/v1/"), Some(Secret::new(PLANTED))),
        student: StudentProfile::load(profile).expect("is sound"),
        tariff: None,
        effort: None,
        calls: CallOptions::default(),
        adaptation: std::sync::Arc::default(),
    };
    Compat::new(config, transport())
}

fn opening() -> ChatRequest {
    let schema = json!({ "type": "object", "properties": {} });
    ChatRequest {
        system: "Be brief.".into(),
        messages: vec![Message::User { content: vec![Content::text("Go."), picture("one")] }],
        tools: vec![ToolSpec { name: "finish".into(), description: "Ends.".into(), schema }],
        world: Some(WorldTool { browser: false, display: Size::new(1280, 720) }),
        seed: Some(7),
        max_output_tokens: 99,
        ..ChatRequest::default()
    }
}

/// A server that gives these messages, one per turn.
async fn server(messages: Vec<Value>) -> Server {
    Server::start(move |_, number| {
        let message = messages.get(number).cloned().unwrap_or_default();
        Speak::ok(json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }))
    })
    .await
}

/// The request after the first turn, whose calls are all answered.
async fn second(model: &Compat, mut request: ChatRequest) -> (ChatRequest, Vec<CallBody>) {
    let reply = model.reply(&request).await.expect("answers");
    let bodies = reply.calls.iter().map(|call| call.body.clone()).collect();
    let results = reply.calls.iter().map(|call| CallResult {
        id: CallId::new(call.id.as_str()),
        per_action: vec![ActionOutcome::Done { text: None }],
        content: vec![Content::text("Screen now."), picture("two")],
        is_error: false,
    });
    let results = results.collect();
    request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
    request.messages.push(Message::Results { results, notices: vec![Content::text("Note.")] });
    (request, bodies)
}

#[tokio::test]
async fn functions_are_called_the_servers_way() {
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "computer",
          "arguments": "{\"action\":\"left_click\",\"coordinate\":[3,4]}" } },
    ] });
    let server = server(vec![message, json!({ "content": "done" })]).await;
    let model = model(&server.base, "generic");
    let (request, bodies) = second(&model, opening()).await;
    assert!(matches!(bodies.as_slice(), [CallBody::World { actions }] if actions.len() == 1));
    model.reply(&request).await.expect("answers");
    let heard = server.heard();
    assert_eq!(heard[0].path, "/v1/chat/completions");
    assert_eq!(heard[0].header("authorization"), Some("Bearer planted-key-7731"));
    let names = |at: usize| {
        heard[at].json()["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .map(|tool| tool["function"]["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(0), ["computer", "finish"]);
    assert_eq!((&heard[0].json()["seed"], &heard[0].json()["max_tokens"]), (&json!(7), &json!(99)));
    let messages = heard[1].json()["messages"].clone();
    assert_eq!(messages[2]["tool_calls"][0]["id"], "c1");
    assert_eq!(
        messages[3],
        json!({ "role": "tool", "tool_call_id": "c1",
        "content": "Done.\nScreen now.\n[the picture follows]" })
    );
    assert_eq!(
        messages[4],
        json!({ "role": "user", "content": [
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,dHdv" } },
        { "type": "text", "text": "Note." },
    ] })
    );
}

#[tokio::test]
async fn words_are_answered_in_words() {
    let said = "Action: click.\n<tool_call>\n{\"name\":\"computer_use\",\"arguments\":{\"action\":\"key\",\"keys\":[\"ctrl\",\"s\"]}}\n</tool_call>";
    let server = server(vec![json!({ "content": said }), json!({ "content": "x" })]).await;
    let model = model(&server.base, "qwen3-vl");
    let (request, bodies) = second(&model, opening()).await;
    assert!(matches!(bodies.as_slice(), [CallBody::World { .. }]));
    model.reply(&request).await.expect("answers");
    let body = server.heard()[1].json();
    assert!(body.get("tools").is_none());
    let system = body["messages"][0]["content"].as_str().expect("a text");
    assert!(system.starts_with("Be brief.") && system.contains("1000x1000"));
    assert_eq!(body["messages"][2], json!({ "role": "assistant", "content": said }));
    let parts = body["messages"][3]["content"].as_array().expect("parts").clone();
    let kinds: Vec<&Value> = parts.iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, ["text", "text", "image_url", "text"]);
}

/// What a client learns of a server that answers these paths so, and with 404 elsewhere.
async fn identity(answers: Vec<(&'static str, Value)>) -> (ModelIdentity, Vec<String>) {
    let server = Server::start(move |heard, _| {
        let found = answers.iter().find(|(path, _)| *path == heard.path);
        found.map_or(Speak::Answer(404, Vec::new(), "no".into()), |(_, body)| Speak::ok(body))
    })
    .await;
    let told = model(&server.base, "generic").identity().await;
    (told, server.heard().into_iter().map(|heard| heard.path).collect())
}

#[tokio::test]
async fn a_server_is_asked_what_it_serves_and_silence_is_no_failure() {
    let list =
        |owner: &str| json!({ "data": [{ "id": "student", "owned_by": owner, "max_model_len": 4096 }] });
    let (told, asked) =
        identity(vec![("/v1/models", list("vllm")), ("/version", json!({ "version": "0.13" }))]).await;
    assert_eq!((told.context_tokens, told.server.as_deref()), (Some(4096), Some("vllm 0.13")));
    assert_eq!(asked, ["/v1/models", "/version"], "nothing else is asked of a server that says who it is");

    let (told, _) = identity(vec![
        ("/v1/models", json!({ "data": [{ "id": "student", "owned_by": "library" }] })),
        ("/api/show", json!({ "details": { "quantization_level": format!("Q4 {PLANTED}") } })),
        ("/api/tags", json!({ "models": [{ "name": "student:latest", "digest": "9f86" }] })),
    ])
    .await;
    assert_eq!((told.id.as_deref(), told.revision.as_deref()), (Some("student"), Some("9f86")));
    assert_eq!(told.quantization.as_deref(), Some("Q4 [redacted]"));

    let (told, _) = identity(vec![("/v1/models", list("somebody"))]).await;
    assert_eq!((told.id.as_deref(), told.server.as_deref()), (Some("student"), Some("somebody")));
    let (told, _) = identity(Vec::new()).await;
    assert!(told.is_unknown());
    let nobody = model("http://127.0.0.1:9", "generic").identity().await;
    assert!(nobody.is_unknown());
    let silent = Server::start(|_, _| Speak::Silent).await;
    assert!(model(&silent.base, "generic").identity().await.is_unknown());
}

#[tokio::test]
async fn what_a_server_could_not_read_again_is_not_sent_to_it_again() {
    let broken = json!({ "name": "computer", "arguments": "{\"action\": \"wait\"" });
    let call = json!({ "id": "c1", "type": "function", "function": broken });
    let server = server(vec![json!({ "role": "assistant", "content": null, "tool_calls": [call] })]).await;
    let model = model(&server.base, "generic");
    let (next, bodies) = second(&model, opening()).await;
    assert!(matches!(&bodies[0], CallBody::Unusable { problem } if problem.contains("no JSON")));
    let sent: Value = serde_json::from_slice(&model.body(&next).expect("writes")).expect("JSON");
    assert_eq!(sent["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(sent["messages"][2]["tool_calls"][0]["id"], "c1");
}
