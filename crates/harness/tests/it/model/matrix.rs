//! What can go wrong with a server, row by row, and how an attempt ends by it.

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::clock::SteppedClock;
use apprentice_harness::model::around::{Patience, Retrying};
use apprentice_harness::model::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_harness::model::exchange::{Deadlines, Endpoint, Secret};
use apprentice_protocol::{ChatModel, ChatRequest, Content, Message, Size, VoidCause, WorldTool};
use serde_json::json;

use super::{PLANTED, within};
use crate::server::{Server, Speak};

fn fine() -> Speak {
    Speak::ok(json!({ "choices": [{ "message": { "content": "42" }, "finish_reason": "stop" }] }))
}

fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::User { content: vec![Content::text("How many?")] }],
        world: Some(WorldTool { browser: false, display: Size::new(64, 64) }),
        max_output_tokens: 16,
        ..ChatRequest::default()
    }
}

/// The answer's words or the void cause, how many requests it took, and what was waited by our clock.
async fn outcome(
    speak: impl Fn(usize) -> Speak + Send + Sync + 'static,
) -> (Result<String, Option<VoidCause>>, usize, u64) {
    let server = Server::start(move |_, number| speak(number)).await;
    let clock = Arc::new(SteppedClock::default());
    let deadlines = Deadlines {
        connect: Duration::from_secs(5),
        idle: Duration::from_millis(150),
        whole: Duration::from_millis(600),
    };
    let config = CompatConfig {
        model: "m".into(),
        endpoint: Endpoint::new(&server.base, Some(Secret::new(PLANTED))),
        student: StudentProfile::load("generic").expect("is sound"),
        tariff: None,
    };
    let patience = Patience { retries: 2, ..Patience::default() };
    let model = Retrying::new(Compat::new(config, within(deadlines)), clock.clone(), patience);
    let reply = model.reply(&request()).await;
    let waited = apprentice_protocol::Clock::mono(clock.as_ref());
    let waited = u64::try_from(waited.as_millis()).expect("short");
    if let Err(error) = &reply {
        assert!(!error.message.contains(PLANTED), "{error}");
        assert!(!error.message.is_empty());
    }
    let told = reply.map(|reply| reply.say.join(" ")).map_err(|error| error.void_cause());
    (told, server.heard().len(), waited)
}

fn once(first: Speak) -> impl Fn(usize) -> Speak {
    move |number| if number == 0 { first.clone() } else { fine() }
}

fn busy(status: u16, headers: &[(&'static str, &str)]) -> Speak {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Speak::Answer(
        status,
        headers,
        json!({ "error": { "message": format!("key {PLANTED} is busy") } }).to_string(),
    )
}

#[tokio::test]
async fn passing_trouble_passes() {
    let waits = |least: u64, most: u64| move |waited: u64| (least..=most).contains(&waited);
    let fine = Ok("42".to_owned());
    for (name, speak, right) in [
        ("429 in milliseconds", busy(429, &[("retry-after-ms", "1234")]), waits(1234, 1234)),
        ("429 in seconds", busy(429, &[("retry-after", "3")]), waits(3000, 3000)),
        ("429 by date", busy(429, &[("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT")]), waits(9000, 9000)),
        ("429 without a word", busy(429, &[]), waits(375, 500)),
        ("500", busy(500, &[]), waits(375, 500)),
        ("529", busy(529, &[]), waits(375, 500)),
        ("a reset in the body", Speak::Torn(500, "{\"choi".into()), waits(375, 500)),
        ("a cut answer", Speak::ok("{\"choices\":[{\"message\":"), waits(375, 500)),
        ("HTML", Speak::ok("<html>502</html>"), waits(375, 500)),
        ("an error inside a 200", Speak::ok(json!({ "error": { "code": "server_error" } })), waits(375, 500)),
        ("silence in the body", Speak::Stalled(500, "{".into()), waits(375, 500)),
        ("silence", Speak::Silent, waits(375, 500)),
    ] {
        let (told, requests, waited) = outcome(once(speak)).await;
        assert_eq!((&told, requests), (&fine, 2), "{name}");
        assert!(right(waited), "{name}: {waited}");
    }
}

#[tokio::test]
async fn lasting_trouble_has_its_cause() {
    let unavailable = Err(Some(VoidCause::ModelUnavailable));
    let protocol = Err(Some(VoidCause::ModelProtocol));
    let spent =
        Speak::Answer(429, Vec::new(), json!({ "error": { "code": "insufficient_quota" } }).to_string());
    let long =
        Speak::Answer(400, Vec::new(), json!({ "error": { "code": "context_length_exceeded" } }).to_string());
    for (name, speak, expected, requests) in [
        ("429 for ever", busy(429, &[]), &unavailable, 3),
        ("529 for ever", busy(529, &[]), &unavailable, 3),
        ("a spending limit", spent, &unavailable, 1),
        ("a wrong key", busy(401, &[]), &unavailable, 1),
        ("HTML for ever", Speak::ok("<html>"), &protocol, 3),
        ("no choices", Speak::ok(json!({ "choices": [] })), &protocol, 3),
        ("a wrong request", busy(400, &[]), &Err(Some(VoidCause::Internal)), 1),
        ("a full context", long, &Err(None), 1),
    ] {
        let (told, asked, _) = outcome(move |_| speak.clone()).await;
        assert_eq!((&told, asked), (expected, requests), "{name}");
    }
}
