//! Whole attempts with servers that refuse what the vendors' refuse: batches that fail midway, replies that hold only
//! thoughts, and pictures that add up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice_harness::agent::AttemptResult;
use apprentice_protocol::{
    ActReport, Action, ActionOutcome, BlobHash, BoxFuture, CallResult, Environment, EnvironmentKind, Image,
    ImageBytes, MediaType, Message, Observation, ScreenPoint, Size, StopReason, Want, WorldError,
};
use apprentice_trace::hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::adapters::{ALL, Adapter};
use super::matrix::{attempt, attempt_in};
use super::strict::{collect_pictures, signatures, strictly};
use super::transport;
use crate::server::{Server, Speak};

/// One thing that a model says, in no provider's words.
#[derive(Clone, Debug)]
enum Part {
    Thought,
    /// A key chord.
    Key(&'static str),
    /// Text to type.
    Types(&'static str),
    Screenshot,
    Finish,
}

/// The body of a provider's reply.
fn said(adapter: Adapter, number: usize, parts: &[Part], request: &Value) -> Value {
    let parts = parts.iter().enumerate().map(|(place, part)| (format!("call_{number}_{place}"), part));
    match adapter {
        Adapter::Anthropic => {
            let signature = signatures(request).pop();
            let content: Vec<Value> =
                parts.map(|(id, part)| block(&id, part, signature.as_deref())).collect();
            json!({ "content": content, "stop_reason": "end_turn", "usage": {} })
        }
        Adapter::OpenAi => {
            let output: Vec<Value> = parts.map(|(id, part)| item(&id, part)).collect();
            json!({ "status": "completed", "output": output, "usage": {} })
        }
        Adapter::Gemini => {
            let steps: Vec<Value> = parts.map(|(id, part)| step(&id, part)).collect();
            json!({ "status": "completed", "steps": steps, "usage": {} })
        }
        Adapter::Compat => {
            let calls: Vec<Value> = parts.filter_map(|(id, part)| tool_call(&id, part)).collect();
            let mut message = json!({ "role": "assistant", "content": null });
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({ "choices": [{ "message": message, "finish_reason": "stop" }] })
        }
    }
}

/// A block of Anthropic's.
fn block(id: &str, part: &Part, signature: Option<&str>) -> Value {
    let computer = |name: &str, input: Value| json!({ "type": "tool_use", "id": id, "toolset_name": "computer", "name": name, "input": input });
    match part {
        Part::Thought => json!({ "type": "thinking", "thinking": "Hm.", "signature": signature }),
        Part::Key(keys) => computer("key", json!({ "text": keys })),
        Part::Types(text) => computer("type", json!({ "text": text })),
        Part::Screenshot => computer("screenshot", json!({})),
        Part::Finish => {
            json!({ "type": "tool_use", "id": id, "name": "finish", "input": { "finish": "done" } })
        }
    }
}

/// An item of OpenAI's.
fn item(id: &str, part: &Part) -> Value {
    let computer = |action: Value| json!({ "type": "computer_call", "id": id, "call_id": id, "status": "completed", "actions": [action] });
    match part {
        Part::Thought => json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "x" }),
        Part::Key(keys) => {
            let keys: Vec<&str> = keys.split('+').collect();
            computer(json!({ "type": "keypress", "keys": keys }))
        }
        Part::Types(text) => computer(json!({ "type": "type", "text": text })),
        Part::Screenshot => computer(json!({ "type": "screenshot" })),
        Part::Finish => json!({ "type": "function_call", "call_id": id, "name": "finish",
            "arguments": "{\"finish\":\"done\"}" }),
    }
}

/// A step of Gemini's.
fn step(id: &str, part: &Part) -> Value {
    let call = |name: &str, arguments: Value| json!({ "type": "function_call", "id": id, "name": name, "arguments": arguments });
    match part {
        Part::Thought => json!({ "type": "thought", "signature": "x" }),
        Part::Key(keys) => call("hotkey", json!({ "keys": keys })),
        Part::Types(text) => call("type", json!({ "text": text })),
        Part::Screenshot => call("take_screenshot", json!({})),
        Part::Finish => call("finish", json!({ "finish": "done" })),
    }
}

/// A function call of a compatible server. Thoughts are not said there.
fn tool_call(id: &str, part: &Part) -> Option<Value> {
    let call = |name: &str, arguments: Value| {
        let arguments = arguments.to_string();
        json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
    };
    Some(match part {
        Part::Thought => return None,
        Part::Key(keys) => call("computer", json!({ "action": "key", "text": keys })),
        Part::Types(text) => call("computer", json!({ "action": "type", "text": text })),
        Part::Screenshot => call("computer", json!({ "action": "screenshot" })),
        Part::Finish => call("finish", json!({ "finish": "done" })),
    })
}

/// Lives an attempt whose replies are these; the last one is repeated.
async fn live(adapter: Adapter, replies: Vec<Vec<Part>>) -> (AttemptResult, usize) {
    let server = Server::start(move |heard, number| {
        let parts = &replies[number.min(replies.len() - 1)];
        strictly(adapter, heard, |request| said(adapter, number, parts, request))
    })
    .await;
    let ended = attempt(&*adapter.model(&server.base, transport(), None)).await;
    (ended, server.heard().len())
}

fn results(ended: &AttemptResult) -> Vec<&CallResult> {
    let results = ended.conversation.messages.iter().filter_map(|message| match message {
        Message::Results { results, .. } => Some(results),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    results.flatten().collect()
}

#[tokio::test]
async fn the_first_refusal_stops_the_batch_and_finish_does_not_count() {
    for adapter in ALL {
        let batch = vec![Part::Key("ctrl+frobnicate"), Part::Types("DANGER"), Part::Finish];
        let (ended, requests) = live(adapter, vec![batch, vec![Part::Finish]]).await;
        assert_eq!((ended.stop, requests), (Ok(StopReason::Done), 2), "{adapter:?}: {}", ended.detail);
        let answered = results(&ended);
        assert!(answered[0].is_error && answered[0].per_action.is_empty(), "{adapter:?}: {:?}", answered[0]);
        for skipped in &answered[1..3] {
            assert_eq!(skipped.per_action, [ActionOutcome::NotExecuted], "{adapter:?}: {skipped:?}");
            assert!(skipped.is_error, "{adapter:?}");
        }
        assert_eq!(ended.spent.world_steps, 0, "{adapter:?}");
        // What stands behind the end cannot be read, so the model meant to do more.
        let batch = vec![Part::Finish, Part::Key("ctrl+frobnicate")];
        let (ended, requests) = live(adapter, vec![batch, vec![Part::Finish]]).await;
        assert_eq!((ended.stop, requests), (Ok(StopReason::Done), 2), "{adapter:?}: {}", ended.detail);
    }
}

#[tokio::test]
async fn a_reply_of_thoughts_alone_is_followed_by_a_request_that_servers_take() {
    for adapter in ALL {
        let replies = vec![
            vec![Part::Thought],
            vec![Part::Thought, Part::Screenshot],
            vec![Part::Thought],
            vec![Part::Thought, Part::Finish],
        ];
        let (ended, requests) = live(adapter, replies).await;
        assert_eq!((ended.stop, requests), (Ok(StopReason::Done), 4), "{adapter:?}: {}", ended.detail);
    }
}

/// A world whose screen is a photo that changes with each view. Its picture is a PNG of about 3 MB.
struct Gallery {
    photos: Vec<Image>,
    shown: usize,
}

impl Gallery {
    const SCREEN: Size = Size::new(1920, 1080);

    fn open() -> Self {
        let photos = (0..4u32).map(Self::photo).collect();
        Self { photos, shown: 0 }
    }

    /// A soft picture with grain, as a camera makes it.
    fn photo(number: u32) -> Image {
        let Size { width, height } = Self::SCREEN;
        let mut noise = 0x9e37_79b9_u32.wrapping_add(number);
        let rgb = (0..width * height).flat_map(|at| {
            let (x, y) = (at % width, at / width);
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let grain = noise >> 28;
            let soft = [x * 200 / width, y * 200 / height, (x + y + number * 40) * 200 / (width + height)];
            soft.map(|part| u8::try_from(part + grain).expect("a colour"))
        });
        let frame = apprentice_pixels::Frame::from_rgb(width, height, rgb.collect()).expect("a frame");
        let png = apprentice_pixels::encode_png(&frame).expect("encodes");
        assert!((2_000_000..5_000_000).contains(&png.len()), "{} bytes", png.len());
        let (hash, bytes) = (BlobHash::new(format!("{number:064}")), ImageBytes(png.into()));
        Image { hash, size: Self::SCREEN, media: MediaType::Png, bytes }
    }
}

impl Environment for Gallery {
    fn observe(&mut self, _want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        self.shown += 1;
        let screenshot = Some(self.photos[self.shown % self.photos.len()].clone());
        Box::pin(std::future::ready(Ok(Observation { screenshot, ..Observation::default() })))
    }

    fn act<'a>(
        &'a mut self,
        _action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(std::future::ready(Ok(ActReport::delivered())))
    }

    fn close(self: Box<Self>, _deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_photo_on_the_screen_never_fills_the_context() {
    const TURNS: usize = 60;
    let photos = Gallery::open().photos;
    let lived = ALL.map(|adapter| {
        let photos = photos.clone();
        tokio::spawn(async move {
            let seen = Arc::<Mutex<Vec<Seen>>>::default();
            let kept = Arc::clone(&seen);
            let server = Server::listen(
                move |heard, number| {
                    let parts: &[Part] = match number {
                        TURNS.. => &[Part::Thought, Part::Finish],
                        _ => &[Part::Thought, Part::Types(["a", "b"][number % 2])],
                    };
                    strictly(adapter, heard, |request| {
                        kept.lock().expect("unpoisoned").push(Seen::of(request, heard.body.len()));
                        said(adapter, number, parts, request)
                    })
                },
                false,
            )
            .await;
            let model = adapter.model(&server.base, transport(), None);
            let mut world = Gallery { photos, shown: 0 };
            let ended = attempt_in(&*model, &mut world, EnvironmentKind::Desktop, Gallery::SCREEN).await;
            assert_eq!(ended.stop, Ok(StopReason::Done), "{adapter:?}: {}", ended.detail);
            let seen = seen.lock().expect("unpoisoned");
            assert_eq!(seen.len(), TURNS + 1, "{adapter:?}");
            assert!(seen[TURNS].says_what_is_left_out, "{adapter:?}");
            // Nearly every request begins with the whole one before it, so that it is read from the cache.
            let grown = seen.windows(2).filter(|two| two[1].messages.starts_with(&two[0].messages)).count();
            let blocks = TURNS - grown;
            assert!(adapter == Adapter::Compat || (1..=6).contains(&blocks), "{adapter:?}: {blocks}");
            let largest = seen.iter().map(|seen| seen.bytes).max().unwrap_or(0);
            println!("{adapter:?}: {blocks} blocks, at most {largest} bytes");
        })
    });
    for one in lived {
        one.await.expect("lives");
    }
}

#[tokio::test]
async fn a_server_that_finds_a_request_too_long_gets_fewer_pictures() {
    for adapter in [Adapter::Anthropic, Adapter::OpenAi, Adapter::Gemini] {
        let server = Server::start(move |heard, number| {
            let (body, mut pictures) = (heard.json(), Vec::new());
            collect_pictures(&body, &mut pictures);
            if pictures.iter().filter(|(_, data)| data.len() > 200).count() > 4 {
                return Speak::Answer(
                    413,
                    Vec::new(),
                    json!({ "error": { "message": "too long" } }).to_string(),
                );
            }
            let parts: &[Part] = match number {
                9.. => &[Part::Thought, Part::Finish],
                _ => &[Part::Thought, Part::Screenshot],
            };
            strictly(adapter, heard, |request| said(adapter, number, parts, request))
        })
        .await;
        let ended = attempt(&*adapter.model(&server.base, transport(), None)).await;
        assert_eq!(ended.stop, Ok(StopReason::Done), "{adapter:?}: {}", ended.detail);
    }
}

/// What a test needs of a request.
#[derive(Debug)]
struct Seen {
    /// The hash of each message.
    messages: Vec<String>,
    says_what_is_left_out: bool,
    bytes: usize,
}

impl Seen {
    fn of(body: &Value, bytes: usize) -> Self {
        let messages = body["messages"].as_array().or(body["input"].as_array()).expect("a conversation");
        let written: Vec<String> = messages.iter().map(Value::to_string).collect();
        let says_what_is_left_out = written.iter().any(|one| one.contains("[an earlier picture, left out]"));
        let messages = written.iter().map(|one| hex(&Sha256::digest(one))).collect();
        Self { messages, says_what_is_left_out, bytes }
    }
}
