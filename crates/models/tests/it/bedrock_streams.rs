//! Replies of Amazon Bedrock as streams of binary frames. The frames are written here by the format's description, and the
//! conformance check reads them by botocore's own decoder.

use std::path::PathBuf;

use apprentice_models::http::{Endpoint, Platform, Secret};
use apprentice_models::options::{CallOptions, Streaming};
use apprentice_protocol::{ChatReply, ChatRequest, ModelError, ModelErrorKind, ReplyStop, Timing};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::adapters::Adapter;
use super::{PLANTED, streams, vendor_streams};
use crate::server::{Server, Speak, StreamEnd};

const FRAMES: &str = "application/vnd.amazon.eventstream";

/// The checksum of the format (CRC-32 of ISO 3309), bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(!0, byte)
}

/// Writes a frame: its lengths, their checksum, headers, payload, and the checksum of all of it.
fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    for (name, value) in headers {
        written.push(u8::try_from(name.len()).expect("short"));
        written.extend_from_slice(name.as_bytes());
        // A header of type 7 is a string.
        written.push(7);
        written.extend_from_slice(&u16::try_from(value.len()).expect("short").to_be_bytes());
        written.extend_from_slice(value.as_bytes());
    }
    let length = |length: usize| u32::try_from(length).expect("short").to_be_bytes();
    let mut frame = [length(16 + written.len() + payload.len()), length(written.len())].concat();
    frame.extend_from_slice(&crc(&frame).to_be_bytes());
    frame.extend_from_slice(&written);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc(&frame).to_be_bytes());
    frame
}

fn event(event: &Value) -> Vec<u8> {
    let payload = json!({ "bytes": STANDARD.encode(event.to_string()), "p": "abcdef" }).to_string();
    let headers =
        [(":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event")];
    frame(&headers, payload.as_bytes())
}

fn exception(name: &str, message: &str) -> Vec<u8> {
    let headers =
        [(":exception-type", name), (":content-type", "application/json"), (":message-type", "exception")];
    frame(&headers, json!({ "message": message }).to_string().as_bytes())
}

fn whole() -> Vec<Vec<u8>> {
    let full = streams::full(Adapter::Anthropic);
    vendor_streams::events(Adapter::Anthropic, &full, 5).iter().map(event).collect()
}

async fn asked(pieces: Vec<Vec<u8>>, end: StreamEnd) -> Result<ChatReply, ModelError> {
    let server = Server::start(move |_, _| Speak::Typed(FRAMES, pieces.clone(), end)).await;
    let endpoint = Endpoint::new(&server.base, Some(Secret::new(PLANTED))).on(Platform::Bedrock);
    let calls = CallOptions { stream: Streaming::Always, ..CallOptions::default() };
    let model = Adapter::Anthropic.model_at(endpoint, super::transport(), None, calls);
    let reply = model.reply(&ChatRequest { max_output_tokens: 9000, ..ChatRequest::default() }).await;
    assert_eq!(server.heard()[0].header("accept"), Some(FRAMES));
    reply
}

#[tokio::test]
async fn a_framed_stream_is_the_reply_in_one_piece_however_it_is_cut() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).expect("a folder");
    let bytes = whole().concat();
    std::fs::write(folder.join("bedrock.frames"), &bytes).expect("writes");
    let events = vendor_streams::events(Adapter::Anthropic, &streams::full(Adapter::Anthropic), 5);
    std::fs::write(folder.join("bedrock.frames.events"), Value::from(events).to_string()).expect("writes");
    let full = streams::full(Adapter::Anthropic);
    let server = Server::start(move |_, _| Speak::ok(&full)).await;
    let plain = Adapter::Anthropic.model(&server.base, super::transport(), None);
    let request = ChatRequest { max_output_tokens: 9000, ..ChatRequest::default() };
    let timeless =
        |reply: ChatReply| ChatReply { timing: Timing::default(), raw: Default::default(), ..reply };
    let expected = timeless(plain.reply(&request).await.expect("answers"));
    for size in [1, 7, 64, bytes.len()] {
        let pieces = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        let reply = asked(pieces, StreamEnd::Whole).await.unwrap_or_else(|error| panic!("{size}: {error}"));
        assert_eq!(timeless(reply), expected, "{size}");
    }
    let open = asked(vec![bytes], StreamEnd::Stalled).await.expect("the last event ends the reply");
    assert_eq!(open.stop, ReplyStop::Calls);
}

#[tokio::test]
async fn faults_of_a_framed_stream_are_told_as_they_are() {
    let (unavailable, protocol) = (ModelErrorKind::Unavailable, ModelErrorKind::Protocol);
    let half = || whole()[..3].concat();
    let mut flipped = half();
    let place = flipped.len() - 20;
    flipped[place] ^= 1;
    // The decoder compares the checksum of the lengths once the whole frame is there: a length that is too long is told as
    // bytes that do not come.
    let (mut longer, mut shorter) = (half(), half());
    let length = u32::from_be_bytes([longer[0], longer[1], longer[2], longer[3]]);
    longer[..4].copy_from_slice(&(length + 100_000).to_be_bytes());
    shorter[..4].copy_from_slice(&(length - 1).to_be_bytes());
    let mut cut = half();
    cut.truncate(cut.len() - 3);
    let with = |last: Vec<u8>| [half(), last].concat();
    for (row, bytes, end, fault, words) in [
        ("a wrong checksum", flipped, StreamEnd::Whole, protocol, "broken frame"),
        ("a length too short", shorter, StreamEnd::Whole, protocol, "broken frame"),
        ("a length too long", longer.clone(), StreamEnd::Whole, unavailable, "the response was cut"),
        ("a length too long, and silence", longer, StreamEnd::Stalled, unavailable, "no byte for 0.2 s"),
        ("a cut frame", cut, StreamEnd::Whole, unavailable, "the response was cut"),
        ("ended early", half(), StreamEnd::Whole, unavailable, "the response was cut"),
        ("stalled", half(), StreamEnd::Stalled, unavailable, "no byte for 0.2 s"),
        ("torn", half(), StreamEnd::Torn, unavailable, ""),
        (
            "no base64",
            with(frame(&[(":message-type", "event")], br#"{"bytes":"%"}"#)),
            StreamEnd::Whole,
            protocol,
            "base64",
        ),
        ("no type", with(frame(&[], b"{}")), StreamEnd::Whole, protocol, "no message type"),
        (
            "an error",
            with(frame(
                &[(":message-type", "error"), (":error-code", "Internal"), (":error-message", "lost")],
                b"",
            )),
            StreamEnd::Whole,
            protocol,
            "Internal: lost",
        ),
    ] {
        let error = asked(vec![bytes], end).await.expect_err(row);
        assert_eq!(error.fault, fault, "{row}: {error}");
        assert!(error.message.contains(words), "{row}: {error}");
    }
}

#[tokio::test]
async fn an_exception_in_a_framed_stream_is_told_by_its_name() {
    let with = |last: Vec<u8>| [whole()[..3].concat(), last].concat();
    let (unavailable, protocol) = (ModelErrorKind::Unavailable, ModelErrorKind::Protocol);
    for (row, bytes, end, fault, words) in [
        (
            "throttled",
            with(exception("throttlingException", "Too many tokens")),
            StreamEnd::Whole,
            unavailable,
            "throttlingException: Too many tokens",
        ),
        (
            "unknown",
            with(exception("novelException", "odd")),
            StreamEnd::Whole,
            protocol,
            "novelException: odd",
        ),
        (
            "too long",
            with(exception("validationException", "prompt is too long: 9 tokens > 8 maximum")),
            StreamEnd::Whole,
            ModelErrorKind::ContextFull,
            "prompt is too long",
        ),
    ] {
        let error = asked(vec![bytes], end).await.expect_err(row);
        assert_eq!(error.fault, fault, "{row}: {error}");
        assert!(error.message.contains(words), "{row}: {error}");
    }
}
