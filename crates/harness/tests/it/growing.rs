//! A conversation that only grows: each request begins with the one before, whatever happens in the attempt.

use std::sync::Arc;

use apprentice_models::scripted::ScriptedReply;
use apprentice_protocol::{
    BoxFuture, ChatRequest, ContextRule, CoordinateSpace, EventKind, HistoryRule, ImageRule, ModelError,
    ModelErrorKind, ModelProfile, ReplyStop, StepRef, StopReason, TextMark, Tool, ToolOutcome, ToolRule,
    ToolSpec, ViewRule, VoidCause,
};
use serde_json::{Value, json};

use crate::bench::{Bench, Left, acts, call, done, editor, reply, says};

fn growing(images: ImageRule, views: ViewRule, tokens: Option<u64>) -> ModelProfile {
    ModelProfile {
        name: "scripted/growing".into(),
        consumer: "scripted".into(),
        space: CoordinateSpace::ImagePixels,
        images,
        outline: true,
        views,
        history: HistoryRule::AppendOnly {
            max_request_bytes: u64::MAX,
            uploads: false,
            context: tokens.map(|tokens| ContextRule { tokens, patch: 28 }),
        },
        tools: ToolRule::Fixed,
        max_output_tokens: 1000,
    }
}

/// What a request holds before and between its messages, in bytes.
fn bytes(request: &ChatRequest) -> String {
    let frame = json!([request.system, request.tools, request.world]).to_string();
    let messages = serde_json::to_string(&request.messages).expect("writes");
    frame + messages.trim_end_matches(']')
}

fn check_growth(left: &Left) {
    let sent: Vec<String> = left.requests.iter().map(bytes).collect();
    for (turn, pair) in sent.windows(2).enumerate() {
        assert!(pair[1].starts_with(&pair[0]), "request {} does not begin with the one before", turn + 2);
        assert!(pair[1].len() > pair[0].len(), "{turn}");
    }
    let edited = |kind: &EventKind| {
        matches!(kind, EventKind::HistoryTrimmed { .. } | EventKind::PicturesLeftOut { .. })
    };
    assert!(!left.trace.events.iter().any(|event| edited(&event.kind)), "nothing was left out");
}

/// A tool that pins the text that it gives, and releases it when it is called again.
struct Note(ToolSpec);

impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let key = "note".to_owned();
        let outcome = match arguments["open"].as_bool() {
            Some(true) => ToolOutcome {
                marks: vec![TextMark::Holds(key.clone()), TextMark::Pins(key)],
                ..ToolOutcome::text("a long text ".repeat(100))
            },
            _ => ToolOutcome {
                marks: vec![TextMark::Releases { key, left_out: "[left out]" }],
                ..ToolOutcome::text("closed")
            },
        };
        Box::pin(std::future::ready(outcome))
    }
}

/// Acts, refused acts, replies that cannot be read, a text that is pinned and released, repeats, and long views.
fn eventful() -> Vec<ScriptedReply> {
    let note = |open: bool| reply(vec![call("note", json!({ "open": open }))]);
    let outside = json!([{ "do": "click", "at": { "point": { "x": 10_000, "y": 5 } } }]);
    let gone = json!([{ "do": "click", "at": { "ref": "n99" } }, { "do": "type", "text": "never" }]);
    let cut = ScriptedReply { stop: Some(ReplyStop::MaxTokens), ..says("I will") };
    let tab = || acts(json!([{ "do": "key", "chord": "tab" }]));
    vec![
        acts(json!([{ "do": "click", "at": { "ref": "n2" } }])),
        note(true),
        acts(outside),
        says(""),
        cut,
        acts(gone),
        reply(vec![call("no_such_tool", json!({})), call("computer", json!({ "actions": [] }))]),
        note(false),
        tab(),
        tab(),
        tab(),
        acts(json!([{ "do": "type", "text": "x".repeat(400) }, { "do": "wait", "ms": 1 }])),
        done(),
    ]
}

#[tokio::test]
async fn each_request_begins_with_the_one_before() {
    for views in [ViewRule::Whole, ViewRule::Changes, ViewRule::Short] {
        for images in [ImageRule::AsIs, ImageRule::None] {
            let mut bench = Bench::new(editor(), eventful());
            bench.script = bench.script.with_profile(growing(images, views, Some(100_000)));
            bench.guidance.tools = vec![Arc::new(Note(ToolSpec {
                name: "note".into(),
                description: "Opens a note.".into(),
                schema: json!({ "type": "object" }),
            }))];
            let left = bench.run().await;
            assert_eq!(left.ended.stop, Ok(StopReason::Done), "{views:?}: {}", left.ended.detail);
            assert_eq!(left.requests.len(), eventful().len(), "{views:?}");
            check_growth(&left);
        }
    }
}

#[tokio::test]
async fn later_instructions_only_add_to_a_session() {
    let tab = || acts(json!([{ "do": "key", "chord": "tab" }]));
    let mut bench = Bench::new(editor(), vec![tab(), done(), tab(), done()]);
    bench.script = bench.script.with_profile(growing(ImageRule::AsIs, ViewRule::Changes, None));
    bench.session = vec![("Press Tab.", false), ("Press it again.", true), ("Press it now.", false)];
    let left = bench.run().await;
    assert!(left.requests.len() >= 3, "{}", left.requests.len());
    check_growth(&left);
}

#[tokio::test]
async fn what_no_longer_fits_ends_the_attempt_and_is_never_cut() {
    let wait = |ms: u32| acts(json!([{ "do": "wait", "ms": ms }]));
    let run = |tokens| {
        let mut bench = Bench::new(editor(), (1..40).map(wait).chain([done()]).collect());
        bench.script = bench.script.with_profile(growing(ImageRule::AsIs, ViewRule::Whole, Some(tokens)));
        bench.run()
    };
    let left = run(6_000).await;
    assert_eq!(left.ended.stop, Ok(StopReason::ContextFull), "{}", left.ended.detail);
    assert!(left.ended.detail.contains("tokens, but the model accepts 5000"), "{}", left.ended.detail);
    assert!(left.requests.len() > 3, "{}", left.requests.len());
    check_growth(&left);

    let left = run(1_800).await;
    assert_eq!(
        left.ended.stop,
        Err(VoidCause::RequestRefused),
        "a model that was never asked has not failed"
    );
    assert!(left.requests.is_empty());
}

#[tokio::test]
async fn a_server_that_finds_a_request_too_long_gets_no_shorter_one() {
    for fault in [ModelErrorKind::ContextFull, ModelErrorKind::TooLarge] {
        let wait = |ms: u32| acts(json!([{ "do": "wait", "ms": ms }]));
        let mut bench = Bench::new(editor(), (1..5).map(wait).collect());
        bench.script = bench
            .script
            .with_profile(growing(ImageRule::AsIs, ViewRule::Whole, None))
            .then_fail(ModelError::never(fault, "the request is too long"));
        let left = bench.run().await;
        assert_eq!(left.ended.stop, Ok(StopReason::ContextFull), "{fault:?}");
        assert_eq!(left.ended.detail, "the request is too long");
        check_growth(&left);
    }
    let full = ScriptedReply { stop: Some(ReplyStop::ContextFull), ..says("") };
    let mut bench = Bench::new(editor(), vec![acts(json!([{ "do": "wait", "ms": 1 }])), full]);
    bench.script = bench.script.with_profile(growing(ImageRule::AsIs, ViewRule::Whole, None));
    let left = bench.run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::ContextFull));
    check_growth(&left);
}
