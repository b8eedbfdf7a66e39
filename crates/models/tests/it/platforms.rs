//! Vendors' models on other platforms: the address, the credentials and the body of each request. The conformance check
//! lets the vendors' own clients ask the same and compares.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_models::http::{Endpoint, Platform, Secret, TokenSource};
use apprentice_models::options::{CallOptions, Streaming};
use apprentice_protocol::{BoxFuture, ChatRequest, ModelError};
use serde_json::{Value, json};

use super::PLANTED;
use super::adapters::Adapter;
use crate::server::{Server, Speak};

/// A source of one token.
struct Token;

impl TokenSource for Token {
    fn token(&self) -> BoxFuture<'_, Result<Secret, ModelError>> {
        Box::pin(std::future::ready(Ok(Secret::new(PLANTED))))
    }
}

/// Sends a request and gives its path, its headers and its body, kept for the conformance check under this name.
async fn asked(name: &str, adapter: Adapter, endpoint: impl Fn(&str) -> Endpoint, stream: bool) -> Value {
    let server = Server::start(|_, _| Speak::Answer(400, Vec::new(), "{}".into())).await;
    let stream = if stream { Streaming::Always } else { Streaming::Never };
    let calls = CallOptions { stream, ..CallOptions::default() };
    let model = adapter.model_at(endpoint(&server.base), super::transport(), None, calls);
    let request = ChatRequest { max_output_tokens: 9, ..ChatRequest::default() };
    let error = model.reply(&request).await.expect_err("is refused");
    assert!(!error.message.contains(PLANTED), "{error}");
    let heard = server.heard().remove(0);
    let of = ["authorization", "api-key", "x-api-key", "x-goog-api-key", "anthropic-version"];
    let headers = of.into_iter().filter_map(|name| Some((name.to_owned(), heard.header(name)?.into())));
    let headers: serde_json::Map<String, Value> = headers.collect();
    let kept = json!({ "path": heard.path, "headers": headers, "body": heard.json() });
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.platform.json")), kept.to_string()).expect("writes");
    kept
}

fn keyed(base: &str, platform: Platform) -> Endpoint {
    Endpoint::new(base, Some(Secret::new(PLANTED))).on(platform)
}

fn vertex() -> Platform {
    Platform::Vertex { project: "proj".into(), region: "us-east5".into() }
}

#[tokio::test]
async fn azure_takes_its_own_header_and_a_version_in_the_query() {
    let dated = || Platform::Azure { api_version: Some("2026-10-01-preview".into()) };
    let at = |base: &str| keyed(&format!("{base}/openai"), dated());
    let asked_dated = asked("azure", Adapter::OpenAi, at, true).await;
    assert_eq!(asked_dated["path"], "/openai/responses?api-version=2026-10-01-preview");
    assert_eq!(asked_dated["headers"], json!({ "api-key": PLANTED }));
    let body = &asked_dated["body"];
    assert_eq!((&body["model"], &body["stream"]), (&"gpt-6.1-sol".into(), &true.into()));
    assert_eq!(body.get("stream_options"), None, "older versions do not know it");
    let v1 = |base: &str| keyed(&format!("{base}/openai/v1/"), Platform::Azure { api_version: None });
    assert_eq!(asked("azure-v1", Adapter::OpenAi, v1, false).await["path"], "/openai/v1/responses");
    let token =
        |base: &str| Endpoint::new(&format!("{base}/openai"), None).on(dated()).with_tokens(Arc::new(Token));
    let by_token = asked("azure-token", Adapter::OpenAi, token, false).await;
    assert_eq!(by_token["headers"], json!({ "authorization": format!("Bearer {PLANTED}") }));
    let chat = |base: &str| keyed(&format!("{base}/openai/deployments/m"), dated());
    let chat = asked("azure-chat", Adapter::Compat, chat, false).await;
    assert_eq!(chat["path"], "/openai/deployments/m/chat/completions?api-version=2026-10-01-preview");
}

#[tokio::test]
async fn vertex_names_the_model_in_the_path_and_takes_a_token() {
    let token = |base: &str| Endpoint::new(base, None).on(vertex()).with_tokens(Arc::new(Token));
    let headers = json!({ "authorization": format!("Bearer {PLANTED}") });
    for (name, stream, how) in [("vertex", false, "rawPredict"), ("vertex-stream", true, "streamRawPredict")]
    {
        let heard = asked(name, Adapter::Anthropic, token, stream).await;
        let path = format!(
            "/v1/projects/proj/locations/us-east5/publishers/anthropic/models/claude-sonnet-5-5:{how}"
        );
        assert_eq!((&heard["path"], &heard["headers"]), (&path.into(), &headers));
        let body = &heard["body"];
        assert_eq!((&body["anthropic_version"], body.get("model")), (&"2026-10-21".into(), None));
        assert_eq!(body.get("stream"), stream.then_some(&true.into()));
    }
    let heard = asked("vertex-gemini", Adapter::Gemini, token, false).await;
    assert_eq!(heard["path"], "/v1beta1/projects/proj/locations/us-east5/interactions");
    assert_eq!((&heard["headers"], &heard["body"]["model"]), (&headers, &"gemini-3.8-flash".into()));
}

#[tokio::test]
async fn bedrock_takes_version_and_features_in_the_body() {
    let heard = asked("bedrock", Adapter::Anthropic, |base| keyed(base, Platform::Bedrock), false).await;
    assert_eq!(heard["path"], "/model/claude-sonnet-5-5/invoke");
    assert_eq!(heard["headers"], json!({ "authorization": format!("Bearer {PLANTED}") }));
    let body = &heard["body"];
    assert_eq!(body["anthropic_version"], "2026-10-21");
    assert!(body.get("model").is_none() && body.get("stream").is_none(), "{body}");
    let heard =
        asked("bedrock-stream", Adapter::Anthropic, |base| keyed(base, Platform::Bedrock), true).await;
    assert_eq!(heard["path"], "/model/claude-sonnet-5-5/invoke-with-response-stream");
    assert!(heard["body"].get("stream").is_none(), "{}", heard["body"]);
}
