//! The loop in the four shapes in which models answer, and what it puts before them.

use std::fmt::Write as _;
use std::sync::Arc;

use apprentice_models::scripted::ScriptedReply;
use apprentice_protocol::{
    ActionOutcome, BlobHash, BoundedText, BoxFuture, CallBody, ChatReply, ChatRequest, Content, ContextRule,
    CoordinateSpace, EventKind, Guidance, GuidanceRefresh, HistoryRule, Image, ImageBytes, ImageRule,
    MediaType, Message, ModelProfile, Observation, Size, SkillEvent, SkillEventKind, SkillId, StepId,
    StepRef, StopReason, TextBudget, TextMark, Tool, ToolOutcome, ToolRule, ToolSpec, ViewRule, VoidCause,
};
use serde_json::{Value, json};

use crate::bench::{Bench, Left, acts, call, done, editor, reply, says};

/// A conversation as a person reads it; pictures by their size.
fn rendered(request: &ChatRequest) -> String {
    let mut text = String::new();
    for message in &request.messages {
        match message {
            Message::User { content } => {
                text.push_str("== user\n");
                content.iter().for_each(|part| show(&mut text, part));
            }
            Message::Assistant { say, calls, .. } => {
                text.push_str("== assistant\n");
                say.iter().for_each(|words| _ = writeln!(text, "{words}"));
                for call in calls {
                    let body = serde_json::to_string(&call.body).expect("writes");
                    _ = writeln!(text, "-> {} {body}", call.id);
                }
            }
            Message::Results { results, notices } => {
                text.push_str("== results\n");
                for result in results {
                    let per_action = serde_json::to_string(&result.per_action).expect("writes");
                    _ = writeln!(text, "<- {} error={} {per_action}", result.id, result.is_error);
                    result.content.iter().for_each(|part| show(&mut text, part));
                }
                notices.iter().for_each(|part| show(&mut text, part));
            }
        }
    }
    text
}

fn show(text: &mut String, part: &Content) {
    match part {
        Content::Text { text: words } => _ = writeln!(text, "{words}"),
        Content::Image { image } => {
            _ = writeln!(text, "[picture {}x{}]", image.size.width, image.size.height);
        }
    }
}

fn last_request(left: &Left) -> String {
    rendered(left.requests.last().expect("a request"))
}

fn seeing(images: ImageRule, history: HistoryRule) -> ModelProfile {
    ModelProfile {
        name: "scripted/seeing".into(),
        consumer: "scripted".into(),
        space: CoordinateSpace::ImagePixels,
        images,
        outline: true,
        views: ViewRule::Whole,
        history,
        tools: ToolRule::Fixed,
        max_output_tokens: 1000,
    }
}

const ALL: HistoryRule =
    HistoryRule::AppendOnly { max_request_bytes: 1 << 24, uploads: false, context: None };

#[tokio::test]
async fn one_action_per_call() {
    let click = |id: &str| json!([{ "do": "click", "at": { "ref": id } }]);
    let replies = vec![acts(click("n2")), acts(click("n4")), acts(click("n5")), done()];
    let left = Bench::new(editor(), replies).run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::Done));
    assert_eq!(left.state().await["values"]["upper"], json!(true));
    assert_eq!((left.ended.spent.world_steps, left.ended.spent.turns), (3, 4));
    insta::assert_snapshot!(last_request(&left));
}

#[tokio::test]
async fn many_actions_per_call_and_a_failed_one_stops_the_later_ones() {
    let replies = vec![
        acts(json!([
            { "do": "click", "at": { "ref": "n7" }, "count": 3 },
            { "do": "type", "text": "ABC" },
            { "do": "key", "chord": "ctrl+s" }
        ])),
        reply(vec![
            call(
                "computer",
                json!({ "actions": [
                { "do": "click", "at": { "point": { "x": 10_000, "y": 5 } } },
                { "do": "type", "text": "never typed" }
            ] }),
            ),
            call("computer", json!({ "actions": [{ "do": "key", "chord": "ctrl+s" }] })),
            call("no_such_tool", json!({})),
            call("finish", json!({ "finish": "done" })),
        ]),
        done(),
    ];
    let left = Bench::new(editor(), replies).run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::Done));
    assert_eq!(left.state().await["values"]["saved"], json!("ABC"));
    let note = left.machine.read("/home/user/note.txt").await.expect("a file");
    assert_eq!(note, b"ABC");
    insta::assert_snapshot!(last_request(&left));
}

/// A tool that answers with what it was given, and says that a skill was viewed.
struct Echo(ToolSpec);

impl Echo {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Self(ToolSpec {
            name: "skill_view".into(),
            description: "Shows a skill.".into(),
            schema: json!({ "type": "object" }),
        }))
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let viewed = SkillEvent {
            happening: SkillEventKind::Viewed,
            skill: SkillId::parse("notes/capitals").ok(),
            version: Some(1),
            rank: None,
            detail: None,
            text: Some("the text".into()),
            delivered_chars: 8,
        };
        let outcome = ToolOutcome {
            events: vec![EventKind::Skill(viewed)],
            ..ToolOutcome::text(format!("{arguments} {}", "x".repeat(30_000)))
        };
        Box::pin(std::future::ready(outcome))
    }
}

fn advised() -> Guidance {
    let opening = BoundedText::cut("Capitals are made in a submenu.", TextBudget(1000));
    Guidance { opening, tools: vec![Echo::tool()], ..Guidance::default() }
}

#[tokio::test]
async fn functions_spend_no_world_step_and_are_bounded() {
    let view = call("skill_view", json!({ "id": "notes/capitals" }));
    let replies = vec![reply(vec![view.clone(), view]), done()];
    let mut bench = Bench::new(editor(), replies);
    bench.guidance = advised();
    let left = bench.run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::Done));
    assert_eq!(left.ended.spent.world_steps, 0);
    assert_eq!(left.ended.skills_viewed, [SkillId::parse("notes/capitals").expect("an id")]);
    assert_eq!(left.ended.delivered_chars, 31 + 8 + 8);
    let Some(Message::Results { results, .. }) = left.requests[1].messages.last() else { panic!("results") };
    for result in results {
        let text = result.content[0].as_text().expect("text");
        assert_eq!(text.chars().count(), 20_000, "a tool's answer is bounded");
    }
    let observed = |kind: &EventKind| matches!(kind, EventKind::Observed { .. });
    let looks = left.trace.events.iter().filter(|event| observed(&event.kind)).count();
    assert_eq!(looks, 1, "a turn that touches nothing needs no new look");
}

#[tokio::test]
async fn words_and_unusable_replies() {
    let unusable = ScriptedReply { unusable: Some("no JSON was found".into()), ..ScriptedReply::default() };
    let replies = vec![unusable, ScriptedReply::default(), says("The note says abc.")];
    let left = Bench::new(editor(), replies).run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::Answered));
    insta::assert_snapshot!(last_request(&left));
}

#[tokio::test]
async fn first_requests_of_two_arms_differ_in_guidance_only() {
    let alone = Bench::new(editor(), vec![done()]).run().await;
    let mut bench = Bench::new(editor(), vec![done()]);
    bench.guidance = advised();
    let advised = bench.run().await;
    let (mut with, without) = (advised.requests[0].clone(), alone.requests[0].clone());
    assert_eq!(with.tools.pop().map(|tool| tool.name), Some("skill_view".into()));
    let Message::User { content } = &mut with.messages[0] else { panic!("a user turn") };
    let advice = content.remove(1);
    assert_eq!(advice.as_text(), Some("<advice>\nCapitals are made in a submenu.\n</advice>"));
    assert_eq!(with, without);
    insta::assert_snapshot!(with.system);
    insta::assert_json_snapshot!(with.tools);
}

#[tokio::test]
async fn pictures_come_at_the_size_that_the_model_takes_and_points_are_read_in_it() {
    // The text box lies at y 60 of 400 on the screen, so at y 30 in a picture of half the size.
    let mut bench = Bench::new(
        editor(),
        vec![
            acts(json!([
                { "do": "click", "at": { "point": { "x": 20, "y": 36 } } },
                { "do": "type", "text": "d" },
                { "do": "screenshot" },
                { "do": "zoom", "region": [{ "x": 0, "y": 0 }, { "x": 79, "y": 49 }] }
            ])),
            done(),
        ],
    );
    let half = ImageRule::Within { size: Size::new(320, 320) };
    bench.script = bench.script.with_profile(seeing(half, ALL));
    let left = bench.run().await;
    assert_eq!(left.state().await["values"]["text"], json!("abcd"));
    insta::assert_snapshot!(last_request(&left));
    let action = left.trace.events.iter().find_map(|event| match &event.kind {
        EventKind::Action(record) => Some(record.clone()),
        _ => None,
    });
    let action = action.expect("an action");
    assert_eq!(
        (action.target_role.as_deref(), action.target_name.as_deref()),
        (Some("textbox"), Some("Note"))
    );
    assert_eq!(action.outcome, ActionOutcome::Done { text: None });
}

#[tokio::test]
async fn only_a_window_of_pictures_is_sent_again_and_the_text_stays() {
    let type_one = |text: &str| acts(json!([{ "do": "type", "text": text }]));
    let mut bench = Bench::new(editor(), vec![type_one("a"), type_one("b"), type_one("c"), done()]);
    bench.script = bench.script.with_profile(seeing(
        ImageRule::AsIs,
        HistoryRule::Window { images: 2, at_most: None, context: None },
    ));
    let left = bench.run().await;
    let text = last_request(&left);
    assert_eq!(text.matches("[picture 640x400]").count(), 2);
    assert_eq!(text.matches("[an earlier picture, left out]").count(), 2);
    assert_eq!(text.matches("Elements:").count(), 4);
    assert!(text.rfind("left out]") < text.find("[picture"), "the latest pictures are kept");
}

#[tokio::test]
async fn a_conversation_that_no_longer_fits_ends_as_context_full() {
    let history = HistoryRule::AppendOnly { max_request_bytes: 12_000, uploads: false, context: None };
    let wait = |ms: u32| acts(json!([{ "do": "wait", "ms": ms }]));
    let mut bench = Bench::new(editor(), (1..40).map(wait).collect());
    bench.script = bench.script.with_profile(seeing(ImageRule::None, history));
    let left = bench.run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::ContextFull));
    let sent = left.requests.iter().map(|request| serde_json::to_vec(request).expect("writes").len());
    let largest = sent.max().expect("a request");
    assert!((8_000..=12_000).contains(&largest), "{largest}");
}

#[tokio::test]
async fn a_full_context_loses_old_pictures_before_old_views_and_says_so() {
    let context = |tokens| Some(ContextRule { tokens, patch: 28 });
    let run = |tokens| {
        let wait = |ms: u32| acts(json!([{ "do": "wait", "ms": ms }]));
        let mut bench = Bench::new(editor(), (1..31).map(wait).chain([done()]).collect());
        let history = HistoryRule::Window { images: 4, at_most: None, context: context(tokens) };
        bench.script = bench.script.with_profile(seeing(ImageRule::AsIs, history));
        bench.run()
    };
    let left = run(5_500).await;
    assert_eq!(left.ended.stop, Ok(StopReason::Done), "{}", left.ended.detail);
    let trimmed: Vec<_> = left
        .trace
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::HistoryTrimmed { pictures, texts, after_tokens, limit_tokens, .. } => {
                assert!(after_tokens <= limit_tokens && limit_tokens == 4_500);
                Some((pictures, texts))
            }
            _ => None,
        })
        .collect();
    assert!(trimmed[0].0 > 0 && trimmed.iter().any(|(_, texts)| *texts > 0), "{trimmed:?}");
    let text = last_request(&left);
    assert!(text.contains("[an earlier text, left out]") && text.contains("[picture 640x400]"));
    assert_eq!(text.matches("Elements:").count() + text.matches("earlier text, left out]").count(), 31);

    let left = run(1_800).await;
    assert_eq!(
        left.ended.stop,
        Err(VoidCause::RequestRefused),
        "a model that was never asked has not failed"
    );
    assert!(
        left.requests.is_empty() && left.ended.detail.contains("the model accepts 1350"),
        "{}",
        left.ended.detail
    );
}

/// A tool that opens and closes a guide, as its call asks. It pins the guide's text while the guide is open.
struct Opener(ToolSpec);

impl Tool for Opener {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let key = "guide".to_owned();
        let outcome = match arguments["open"].as_bool() {
            Some(true) => ToolOutcome {
                marks: vec![TextMark::Holds(key.clone()), TextMark::Pins(key)],
                ..ToolOutcome::text(format!("THE GUIDE {}", "in words ".repeat(960)))
            },
            _ => ToolOutcome {
                marks: vec![TextMark::Releases { key, left_out: "[a guide, left out]" }],
                ..ToolOutcome::text("closed")
            },
        };
        Box::pin(std::future::ready(outcome))
    }
}

#[tokio::test]
async fn a_full_context_keeps_a_pinned_text_and_loses_a_released_one() {
    let run = |released: bool| {
        let wait = |ms: u32| acts(json!([{ "do": "wait", "ms": ms }]));
        let open = |open: bool| reply(vec![call("opener", json!({ "open": open }))]);
        let mut replies = vec![wait(1), open(true)];
        replies.extend(released.then(|| open(false)));
        replies.extend((2..24).map(wait).chain([done()]));
        let mut bench = Bench::new(editor(), replies);
        let context = Some(ContextRule { tokens: 7_500, patch: 28 });
        let history = HistoryRule::Window { images: 40, at_most: None, context };
        bench.script = bench.script.with_profile(seeing(ImageRule::AsIs, history));
        bench.guidance.tools = vec![Arc::new(Opener(ToolSpec {
            name: "opener".into(),
            description: "Opens a note.".into(),
            schema: json!({ "type": "object" }),
        }))];
        bench.run()
    };
    let kept = run(false).await;
    assert_eq!(kept.ended.stop, Ok(StopReason::Done), "{}", kept.ended.detail);
    let text = last_request(&kept);
    assert!(text.contains("THE GUIDE") && text.contains("[an earlier text, left out]"));
    let lost = run(true).await;
    let full = lost.requests.iter().map(rendered).find(|text| text.contains("left out]")).expect("it fills");
    assert!(full.contains("[a guide, left out]") && !full.contains("THE GUIDE"));
    assert!(!full.contains("[an earlier picture, left out]"), "it goes before any picture");
}

#[tokio::test]
async fn what_was_sent_is_never_edited() {
    let replies = vec![acts(json!([{ "do": "key", "chord": "tab" }])), says(""), done()];
    let left = Bench::new(editor(), replies).run().await;
    for pair in left.requests.windows(2) {
        let before = &pair[0].messages;
        assert_eq!(pair[1].messages[..before.len()], before[..]);
    }
    for request in &left.requests {
        let mut open: Vec<_> = Vec::new();
        for message in &request.messages {
            match message {
                Message::Assistant { calls, .. } => open = calls.iter().map(|call| call.id.clone()).collect(),
                Message::Results { results, .. } => {
                    let answered: Vec<_> = results.iter().map(|result| result.id.clone()).collect();
                    assert_eq!(std::mem::take(&mut open), answered);
                }
                Message::User { .. } => {}
            }
        }
        assert!(open.is_empty(), "a call was left without an answer");
    }
    assert!(matches!(left.trace.events[1].kind, EventKind::ModelAsked { .. }));
    assert!(matches!(left.trace.events[2].kind, EventKind::ModelReplied { .. }));
    let raw_finish = CallBody::Finish(apprentice_protocol::Finish::Done);
    let replied = left.trace.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::ModelReplied { calls, .. } => Some(calls[0].body.clone()),
        _ => None,
    });
    assert_eq!(replied, Some(raw_finish));
}

#[tokio::test]
async fn the_trace_holds_the_conversation_as_it_was_sent() {
    let wait = acts(json!([{ "do": "wait", "ms": 5 }]));
    let replies = vec![acts(json!([{ "do": "key", "chord": "tab" }])), says(""), wait, done()];
    let mut bench = Bench::new(editor(), replies);
    bench.script = bench.script.with_profile(seeing(ImageRule::AsIs, ALL));
    bench.guidance = advised();
    let left = bench.run().await;
    let last = left.requests.last().expect("a request");
    let (mut frames, mut messages) = (Vec::new(), Vec::new());
    for event in &left.trace.events {
        if let EventKind::ModelAsked { request, messages: new } = &event.kind {
            frames.extend(request.iter().map(|hash| left.blob(hash, "json")));
            messages.extend(new.iter().map(|hash| left.blob(hash, "json")));
        }
    }
    let frames: Vec<ChatRequest> =
        frames.iter().map(|bytes| serde_json::from_slice(bytes).expect("a request")).collect();
    let [frame] = frames.as_slice() else { panic!("the frame is kept once: {frames:?}") };
    assert_eq!((&frame.system, &frame.tools, &frame.world), (&last.system, &last.tools, &last.world));
    let plain = |message: &Message| serde_json::to_value(message).expect("writes");
    let sent = last.messages.iter().filter(|message| !matches!(message, Message::Assistant { .. }));
    let sent: Vec<Value> = sent.map(plain).collect();
    let kept: Vec<Value> =
        messages.iter().map(|bytes| serde_json::from_slice(bytes).expect("JSON")).collect();
    assert_eq!(kept, sent);
    let pictures = last.messages.iter().filter_map(|message| match message {
        Message::User { content } => Some(content),
        Message::Results { .. } | Message::Assistant { .. } => None,
    });
    for part in pictures.flatten() {
        if let Content::Image { image } = part {
            assert_eq!(left.blob(&image.hash, "png"), image.bytes.0.to_vec());
        }
    }
}

#[tokio::test]
async fn an_action_on_an_element_has_its_point() {
    let menu = json!([{ "do": "click", "at": { "ref": "n2" } }, { "do": "key", "chord": "escape" }]);
    let left = Bench::new(editor(), vec![acts(menu), done()]).run().await;
    let records = left.trace.events.iter().filter_map(|event| match &event.kind {
        EventKind::Action(record) => Some(record),
        _ => None,
    });
    let points: Vec<_> = records.map(|record| (record.sent.is_some(), record.point)).collect();
    let observed = left.trace.events.iter().find_map(|event| match &event.kind {
        EventKind::Observed { outline: Some(hash), .. } => Some(left.blob(hash, "txt")),
        _ => None,
    });
    let outline = String::from_utf8(observed.expect("an outline")).expect("text");
    let line = outline.lines().find(|line| line.ends_with("#n2")).expect("the element");
    let [(true, Some(point)), (true, None)] = points.as_slice() else { panic!("{points:?}") };
    assert!(line.contains(&format!("@{},{}", point.x, point.y)), "{line}: {point:?}");
}

/// A tool whose answer holds a picture larger than models take.
struct Figure(ToolSpec);

impl Tool for Figure {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let size = Size::new(640, 400);
        let pixels = vec![0; 640 * 400 * 3];
        let frame = apprentice_pixels::Frame::from_rgb(size.width, size.height, pixels).expect("a frame");
        let png = apprentice_pixels::encode_png(&frame).expect("encodes");
        let (media, bytes) = (MediaType::Png, ImageBytes(png.into()));
        let image = Image { hash: BlobHash::new("f".repeat(64)), size, media, bytes };
        let mut outcome = ToolOutcome::text("[Figure 1: the button]");
        outcome.content.push(Content::Image { image });
        Box::pin(std::future::ready(outcome))
    }
}

#[tokio::test]
async fn a_tools_picture_comes_at_the_size_that_the_model_takes_or_not_at_all() {
    for (images, shown) in [
        (ImageRule::Within { size: Size::new(320, 320) }, Some("[picture 320x200]")),
        (ImageRule::None, None),
    ] {
        let view = reply(vec![call("skill_view", json!({}))]);
        let mut bench = Bench::new(editor(), vec![view, done()]);
        bench.script = bench.script.with_profile(seeing(images, ALL));
        let schema = json!({ "type": "object" });
        let spec = ToolSpec { name: "skill_view".into(), description: "Shows a skill.".into(), schema };
        bench.guidance = Guidance { tools: vec![Arc::new(Figure(spec))], ..Guidance::default() };
        let left = bench.run().await;
        let text = last_request(&left);
        let (_, answer) = text.split_once("[Figure 1: the button]").expect("the words are always there");
        assert_eq!(answer.trim().lines().next(), shown, "{text}");
    }
}

/// Adds one text below the first view, which holds the text of a skill.
struct Below;

impl GuidanceRefresh for Below {
    fn refresh(&self, at: StepRef, _seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        let viewed = SkillEvent {
            happening: SkillEventKind::Viewed,
            skill: SkillId::parse("notes/capitals").ok(),
            version: Some(1),
            rank: None,
            detail: None,
            text: Some("the text".into()),
            delivered_chars: 8,
        };
        let text = BoundedText::cut("Notes: the text", TextBudget(1000));
        (at.step == StepId(1)).then(|| (text, vec![EventKind::Skill(viewed)]))
    }
}

#[tokio::test]
async fn a_text_that_is_added_below_a_view_is_counted_once_and_known_as_viewed() {
    let mut bench = Bench::new(editor(), vec![done()]);
    bench.guidance = Guidance { refresh: Some(Arc::new(Below)), ..Guidance::default() };
    let left = bench.run().await;
    assert_eq!(left.ended.delivered_chars, 15);
    assert_eq!(left.ended.skills_viewed, [SkillId::parse("notes/capitals").expect("an id")]);
    assert!(last_request(&left).ends_with("<advice>\nNotes: the text\n</advice>\n"));
}

/// Adds a text where the model says that it wants one.
#[derive(Default)]
struct Asking(std::sync::Mutex<Option<bool>>);

impl GuidanceRefresh for Asking {
    fn refresh(&self, _at: StepRef, _seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        let wanted = self.0.lock().expect("unpoisoned").take();
        wanted.unwrap_or(false).then(|| (BoundedText::cut("1. click \"Bold\"", TextBudget(100)), Vec::new()))
    }

    fn question(&self, _seen: &Observation) -> Option<ChatRequest> {
        let unasked = self.0.lock().expect("unpoisoned").is_none();
        unasked.then(|| ChatRequest { system: "Does it fit?".into(), ..ChatRequest::default() })
    }

    fn answer(&self, reply: &ChatReply) -> Result<(), String> {
        let said = reply.say.join("");
        *self.0.lock().expect("unpoisoned") = match said.as_str() {
            "yes" => Some(true),
            "no" => Some(false),
            _ => return Err(format!("it said {said:?}")),
        };
        Ok(())
    }
}

fn asking(said: &str, views: ViewRule) -> Bench {
    let profile = ModelProfile { views, ..seeing(ImageRule::None, ALL) };
    // The script replies by the turn, so that this one answers the question, too.
    let mut bench = Bench::new(editor(), vec![ScriptedReply { say: Some(said.into()), ..done() }]);
    bench.script = bench.script.with_profile(profile);
    bench.guidance = Guidance { refresh: Some(Arc::new(Asking::default())), ..Guidance::default() };
    bench
}

#[tokio::test]
async fn a_model_of_short_views_is_asked_about_advice_and_its_answer_is_no_turn() {
    let left = asking("yes", ViewRule::Short).run().await;
    assert!(last_request(&left).ends_with("<advice>\n1. click \"Bold\"\n</advice>\n"));
    assert_eq!((left.ended.stop, left.ended.spent.turns), (Ok(StopReason::Done), 1));
    let asked = left.trace.events.iter().find_map(|event| match &event.kind {
        EventKind::AdviceAsked(asked) => Some(asked.clone()),
        _ => None,
    });
    let asked = asked.expect("stands in the trace");
    assert_eq!(asked.say, ["yes"]);
    let replies = left.trace.events.iter().filter_map(|event| match &event.kind {
        EventKind::ModelReplied { usage, .. } => Some(usage.output),
        _ => None,
    });
    assert_eq!(left.ended.spent.tokens.output, asked.usage.output + replies.sum::<u64>(), "it counts");
    assert!(!last_request(&asking("no", ViewRule::Short).run().await).contains("<advice>"));
    let whole = asking("yes", ViewRule::Whole).run().await;
    assert_eq!(whole.requests.len(), 1, "other models are not asked");
}

#[tokio::test]
async fn an_answer_that_was_not_allowed_makes_the_attempt_void() {
    let left = asking("Certainly!", ViewRule::Short).run().await;
    assert_eq!(left.ended.stop, Err(VoidCause::ModelProtocol));
    assert!(left.ended.detail.contains("\"Certainly!\"") && left.ended.detail.contains("JSON schemas"));
}
