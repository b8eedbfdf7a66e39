//! A key that a server throws back in headers, addresses, bodies and errors stands nowhere afterwards.

use std::sync::Arc;

use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::http::{Endpoint, Secret};
use apprentice_models::middleware::{Recorded, Recording};
use apprentice_models::options::CallOptions;
use apprentice_protocol::{ChatModel, ChatRequest, Content, Message};
use apprentice_trace::Redactor;
use serde_json::json;

use super::{PLANTED, transport};
use crate::server::{Server, Speak};

/// As a careless page or log would write it.
const IN_URL: &str = "planted%2Dkey%2D7731";

fn model(base: &str) -> Compat {
    let config = CompatConfig {
        model: "m".into(),
        // Some put a key into the address.
        endpoint: Endpoint::new(&format!("{base}/v1/{PLANTED}"), Some(Secret::new(PLANTED))),
        student: StudentProfile::load("generic").expect("is sound"),
        tariff: None,
        effort: None,
        calls: CallOptions::default(),
        adaptation: std::sync::Arc::default(),
    };
    Compat::new(config, transport())
}

fn asking() -> ChatRequest {
    let content = vec![Content::text(format!("My key is {PLANTED}."))];
    ChatRequest { messages: vec![Message::User { content }], max_output_tokens: 9, ..ChatRequest::default() }
}

#[tokio::test]
async fn errors_hold_no_key() {
    let said = json!({ "error": { "message": format!("{PLANTED} may not do this"), "code": PLANTED } });
    let plain =
        |status: u16, body: String| Speak::Answer(status, vec![("x-request-id", PLANTED.into())], body);
    for speak in [
        plain(400, said.to_string()),
        plain(401, said.to_string()),
        plain(500, format!("<html>{PLANTED}</html>")),
        plain(200, format!("<html>{PLANTED}</html>")),
        plain(200, said.to_string()),
        plain(302, String::new()),
        Speak::Torn(900, format!("{{\"{PLANTED}\"")),
        Speak::Silent,
    ] {
        let shown = format!("{speak:?}");
        let server = Server::start(move |_, _| speak.clone()).await;
        let error = model(&server.base).reply(&asking()).await.expect_err("fails");
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(!text.contains(PLANTED), "{shown}: {text}");
        }
    }
    // Nobody listens: the error names the address, which holds the key.
    let error = model("http://127.0.0.1:9").reply(&asking()).await.expect_err("nobody is there");
    assert!(error.message.contains("127.0.0.1:9") && !error.message.contains(PLANTED), "{error}");
}

#[tokio::test]
async fn cassettes_hold_no_key() {
    let said = format!("You told me {PLANTED}, or {IN_URL}.");
    let server = Server::start(move |_, _| {
        Speak::ok(json!({ "model": PLANTED, "choices": [{ "message": { "content": said } }] }))
    })
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tape.jsonl");
    let tape = Recording::create(&path, Redactor::new([]).expect("builds")).expect("a tape");
    // A key that is read after the tape was begun.
    tape.guard(Redactor::new([PLANTED, IN_URL]).expect("builds"));
    let recorded = Recorded::new(model(&server.base), Arc::new(tape), "trial");
    let reply = recorded.reply(&asking()).await.expect("answers");
    assert!(reply.say[0].contains(PLANTED), "what the model says is not changed under way");
    assert_eq!(server.heard()[0].header("authorization"), Some("Bearer planted-key-7731"));
    let stored = std::fs::read_to_string(&path).expect("a tape");
    assert_eq!(stored.lines().count(), 2);
    assert!(stored.contains("[redacted]"), "{stored}");
    assert!(!stored.contains(PLANTED) && !stored.contains(IN_URL), "{stored}");
}

/// Asks a server on this machine, within a process whose environment names a proxy.
#[tokio::test]
#[ignore = "runs as a child of the test below"]
async fn asks_this_machine() {
    let server = Server::start(|_, _| Speak::ok("{}")).await;
    for base in [server.base.clone(), server.base.replace("127.0.0.1", "localhost")] {
        super::transport().get(&base, &[]).await.expect("is reached without the proxy");
        let soon = std::time::Duration::from_secs(5);
        super::transport().reach(&base, soon).await.expect("is reached without the proxy");
    }
    let elsewhere =
        super::transport().get("http://apprentice.invalid/", &[]).await.expect_err("a dead proxy");
    assert!(elsewhere.message.contains("refused"), "{elsewhere}");
}

#[test]
fn a_server_on_this_machine_is_never_reached_through_a_proxy() {
    let program = std::env::current_exe().expect("a path");
    let mut child = std::process::Command::new(program);
    child.args(["--ignored", "--exact", "secrets::asks_this_machine"]);
    // Nothing listens on this port.
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy"] {
        child.env(name, "http://127.0.0.1:9");
    }
    let output = child.env_remove("no_proxy").env_remove("NO_PROXY").output().expect("runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}
