//! Streamed replies over real connections: a stream cut into bytes anywhere is the reply in one piece, and one that
//! breaks is a fault of the world, asked for again.

use std::path::PathBuf;

use apprentice_models::http::{ReplyWords, Transport};
use apprentice_protocol::{ChatReply, ChatRequest, ModelErrorKind, ReplyStop, Timing};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use super::adapters::{ALL, Adapter};
use super::{vendor_streams, within};
use crate::server::{Server, Speak, StreamEnd};

/// Letters of one to four bytes, one of them joined from several, and what JSON escapes.
const SAID: &str = "Zwölf 点击 👩‍💻 \"quoted\"\\ line\nnext \u{1}";

/// A reply with reasoning, words, and two calls beside each other.
pub(super) fn full(adapter: Adapter) -> Value {
    let typed = json!({ "text": SAID });
    match adapter {
        Adapter::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "tool_use",
            "stop_sequence": null, "content": [
                { "type": "thinking", "thinking": SAID, "signature": "c2ln=" },
                { "type": "redacted_thinking", "data": "ZGF0YQ==" },
                { "type": "text", "text": SAID },
                { "type": "tool_use", "id": "t1", "name": "type", "toolset_name": "computer", "input": typed },
                { "type": "tool_use", "id": "t2", "name": "screenshot", "toolset_name": "computer", "input": {} },
            ],
            "usage": { "input_tokens": 11, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 30,
                "cache_creation": { "ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20 }, "output_tokens": 55 },
        }),
        Adapter::OpenAi => json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-x", "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": true,
            "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": [], "output": [
                { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA==" },
                { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
                    "content": [{ "type": "output_text", "text": SAID, "annotations": [] }] },
                { "type": "computer_call", "id": "cu_1", "call_id": "c1", "status": "completed",
                    "pending_safety_checks": [], "actions": [{ "type": "type", "text": SAID }] },
                { "type": "function_call", "id": "fc_1", "call_id": "c2", "name": "note", "status": "completed",
                    "arguments": typed.to_string() },
            ],
            "usage": { "input_tokens": 100, "input_tokens_details": { "cached_tokens": 80, "cache_write_tokens": 5 },
                "output_tokens": 9, "output_tokens_details": { "reasoning_tokens": 3 }, "total_tokens": 109 },
        }),
        Adapter::Gemini => json!({
            "id": "i1", "status": "requires_action", "model": "gemini-x", "steps": [
                { "type": "thought", "summary": [{ "type": "text", "text": SAID }], "signature": "c2ln" },
                { "type": "model_output", "content": [{ "type": "text", "text": SAID }] },
                { "type": "function_call", "id": "f1", "name": "type", "arguments": typed },
                { "type": "function_call", "id": "f2", "name": "note", "arguments": { "deep": [1, { "x": null }] } },
            ],
            "usage": { "total_input_tokens": 100, "total_output_tokens": 10, "total_cached_tokens": 20 },
        }),
        Adapter::Compat => json!({
            "id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{
                "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": SAID, "tool_calls": [
                    { "id": "a", "type": "function", "function": { "name": "note", "arguments": typed.to_string() } },
                    { "id": "b", "type": "function", "function": { "name": "note", "arguments": "{}" } },
                ] },
            }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, "prompt_tokens_details": { "cached_tokens": 60 } },
        }),
    }
}

fn asking() -> ChatRequest {
    ChatRequest { max_output_tokens: 9000, ..ChatRequest::default() }
}

/// The reply without its times, and with blocks as JSON says them: the order of fields does not matter.
fn meaning(reply: ChatReply) -> (Vec<Value>, Value) {
    let blocks = reply.raw.blocks.iter().map(|block| serde_json::from_str(block).expect("JSON")).collect();
    let raw = apprentice_protocol::RawContent::default();
    let rest = ChatReply { raw, timing: Timing::default(), ..reply };
    (blocks, serde_json::to_value(rest).expect("writes"))
}

async fn replied(adapter: Adapter, speak: Speak, transport: &Transport) -> (Vec<Value>, Value) {
    let server = Server::start(move |_, _| speak.clone()).await;
    let model = adapter.model(&server.base, transport.clone(), None);
    let reply = model.reply(&asking()).await.unwrap_or_else(|error| panic!("{adapter:?}: {error}"));
    meaning(reply)
}

/// Cuts the bytes at these places, each taken modulo their number.
fn split(text: &str, places: &[usize]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = places.iter().map(|place| place % text.len()).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|two| text.as_bytes()[two[0]..two[1]].to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_split_anywhere_is_the_reply_in_one_piece(
        cut in 1usize..24,
        places in proptest::collection::vec(any::<usize>(), 0..60),
        crlf in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let transport = super::transport();
        for adapter in ALL {
            let whole = full(adapter);
            let mut text = vendor_streams::text(adapter, &whole, cut);
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            let pieces = split(&text, &places);
            let (streamed, expected) = runtime.block_on(async {
                let streamed = replied(adapter, Speak::Stream(pieces, StreamEnd::Whole), &transport).await;
                (streamed, replied(adapter, Speak::ok(&whole), &transport).await)
            });
            prop_assert_eq!(streamed, expected, "{:?}", adapter);
        }
    }
}

#[tokio::test]
async fn every_letter_may_come_alone() {
    let transport = super::transport();
    for adapter in ALL {
        let text = vendor_streams::text(adapter, &full(adapter), 3);
        let letters = text.bytes().map(|byte| vec![byte]).collect();
        let streamed = replied(adapter, Speak::Stream(letters, StreamEnd::Whole), &transport).await;
        assert_eq!(streamed, replied(adapter, Speak::ok(full(adapter)), &transport).await, "{adapter:?}");
    }
}

#[tokio::test]
async fn a_stream_is_asked_for_and_kept_for_the_conformance_check() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).expect("a folder");
    for adapter in ALL {
        let whole = full(adapter);
        let pieces = vec![vendor_streams::text(adapter, &whole, 5).into_bytes()];
        let server = Server::start(move |_, _| Speak::Stream(pieces.clone(), StreamEnd::Whole)).await;
        adapter.model(&server.base, super::transport(), None).reply(&asking()).await.expect("answers");
        let heard = &server.heard()[0];
        assert_eq!(heard.json()["stream"], true, "{adapter:?}");
        assert_eq!(heard.header("accept"), Some("text/event-stream"), "{adapter:?}");
        let name = format!("{adapter:?}").to_lowercase();
        let write = |what: &str, value: &Value| {
            std::fs::write(folder.join(format!("{name}.streamed.0.{what}.json")), value.to_string())
                .expect("writes");
        };
        write("events", &vendor_streams::events(adapter, &full(adapter), 5).into());
        write("reply", &full(adapter));
        write("request", &heard.json());
    }
}

#[tokio::test]
async fn words_are_told_as_they_come_and_begin_anew_with_each_try() {
    for adapter in ALL {
        let text = vendor_streams::text(adapter, &full(adapter), 4);
        let half = text.as_bytes()[..text.len() / 2].to_vec();
        let server = Server::start(move |_, number| match number {
            0 => Speak::Stream(vec![half.clone()], StreamEnd::Torn),
            _ => Speak::Stream(vec![text.clone().into_bytes()], StreamEnd::Whole),
        })
        .await;
        let (tell, mut told) = unbounded_channel();
        let model = adapter.model_that_tells(&server.base, super::transport(), tell);
        model.reply(&asking()).await.expect("answers the second time");
        drop(model);
        let mut tries: Vec<String> = Vec::new();
        while let Some(said) = told.recv().await {
            match (said, tries.last_mut()) {
                (ReplyWords::Begun, _) => tries.push(String::new()),
                (ReplyWords::Words(words), Some(said)) => said.push_str(&words),
                (ReplyWords::Words(words), None) => panic!("{words:?} before the beginning"),
            }
        }
        assert_eq!(tries.len(), 2, "{adapter:?}");
        assert!(SAID.starts_with(&tries[0]), "{adapter:?}: {tries:?}");
        assert_eq!(tries[1], SAID, "{adapter:?}");
    }
}

/// An error in the middle of a stream, as each vendor sends it.
fn overload(adapter: Adapter) -> Value {
    match adapter {
        Adapter::Anthropic => {
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "x" } })
        }
        Adapter::OpenAi => {
            json!({ "type": "error", "code": "server_error", "message": "x", "param": null, "sequence_number": 9 })
        }
        Adapter::Gemini => {
            json!({ "event_type": "error", "error": { "code": "UNAVAILABLE", "message": "x" } })
        }
        Adapter::Compat => {
            json!({ "error": { "code": "server_error", "type": "server_error", "message": "x" } })
        }
    }
}

#[tokio::test]
async fn a_broken_stream_is_asked_for_again_and_never_taken_for_a_reply() {
    let (unavailable, protocol) = (ModelErrorKind::Unavailable, ModelErrorKind::Protocol);
    for adapter in ALL {
        let whole = vendor_streams::text(adapter, &full(adapter), 6);
        let half = whole[..whole[..whole.len() / 2].rfind("\n\n").expect("an event") + 2].to_owned();
        let pieces = |text: String| vec![text.into_bytes()];
        for (row, speak, fault) in [
            ("torn", Speak::Stream(pieces(half.clone()), StreamEnd::Torn), unavailable),
            ("stalled", Speak::Stream(pieces(half.clone()), StreamEnd::Stalled), unavailable),
            ("ended early", Speak::Stream(pieces(half.clone()), StreamEnd::Whole), unavailable),
            ("empty", Speak::Stream(Vec::new(), StreamEnd::Whole), unavailable),
            (
                "an overload",
                Speak::Stream(pieces(format!("{half}data: {}\n\n", overload(adapter))), StreamEnd::Whole),
                unavailable,
            ),
            (
                "cut JSON",
                Speak::Stream(pieces(format!("{half}data: {{\"type\":\n\n")), StreamEnd::Whole),
                protocol,
            ),
            ("HTML", Speak::Stream(pieces("<html>502</html>\n\n".into()), StreamEnd::Whole), protocol),
        ] {
            let good = whole.clone();
            let bad = speak.clone();
            let server = Server::start(move |_, number| match number {
                0 => bad.clone(),
                _ => Speak::Stream(vec![good.clone().into_bytes()], StreamEnd::Whole),
            })
            .await;
            let model = adapter.model(&server.base, super::transport(), None);
            let reply =
                model.reply(&asking()).await.unwrap_or_else(|error| panic!("{adapter:?}, {row}: {error}"));
            assert_eq!(reply.stop, ReplyStop::Calls, "{adapter:?}, {row}");
            let server = Server::start(move |_, _| speak.clone()).await;
            let model = adapter.model(&server.base, super::transport(), None);
            let error = model.reply(&asking()).await.expect_err(row);
            assert_eq!(error.fault, fault, "{adapter:?}, {row}: {error}");
            assert!(error.message.contains("tried 3 times"), "{adapter:?}, {row}: {error}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_stays_open_after_its_last_event_holds_nobody_up() {
    let limits = super::limits();
    for adapter in ALL {
        let pieces = vec![vendor_streams::text(adapter, &full(adapter), 9).into_bytes()];
        let server = Server::start(move |_, _| Speak::Stream(pieces.clone(), StreamEnd::Stalled)).await;
        let idle = std::time::Duration::from_secs(30);
        let model =
            adapter.model(&server.base, within(apprentice_models::http::Timeouts { idle, ..limits }), None);
        let soon = std::time::Duration::from_secs(4);
        let reply = tokio::time::timeout(soon, model.reply(&asking())).await.expect("in time");
        assert_eq!(reply.expect("answers").stop, ReplyStop::Calls, "{adapter:?}");
    }
}
