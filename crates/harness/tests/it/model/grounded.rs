//! A model that names places in words, with another that points.

use std::sync::{Arc, Mutex};

use apprentice_models::grounded::Grounded;
use apprentice_models::middleware::{Cassette, Recorded, Recording};
use apprentice_models::scripted::{Scripted, ScriptedReply};
use apprentice_protocol::{
    BlobHash, BoxFuture, CallBody, ChatModel, ChatReply, ChatRequest, Content, CoordinateSpace, HistoryRule,
    Image, ImageBytes, ImageRule, MediaType, Message, ModelError, ModelProfile, ReplyStop, Size, StopReason,
    ToolRule, Usage, ViewRule, WorldTool,
};
use apprentice_trace::Redactor;
use serde_json::{Value, json};

use super::matrix::attempt;
use crate::bench::{acts, call, done, reply};

fn picture(name: &str) -> Content {
    let (hash, size) = (BlobHash::new(name), Size::new(1, 1));
    let image =
        Image { hash, size, media: MediaType::Png, bytes: ImageBytes(b"a picture".as_slice().into()) };
    Content::Image { image }
}

/// A model that keeps what it was asked.
struct Heard {
    inner: Scripted,
    requests: Arc<Mutex<Vec<ChatRequest>>>,
}

impl ChatModel for Heard {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.requests.lock().expect("unpoisoned").push(request.clone());
        self.inner.reply(request)
    }
}

type Requests = Arc<Mutex<Vec<ChatRequest>>>;

fn model(
    name: &str,
    space: CoordinateSpace,
    images: ImageRule,
    replies: Vec<ScriptedReply>,
) -> (Heard, Requests) {
    let profile = ModelProfile {
        name: name.into(),
        consumer: "scripted".into(),
        space,
        images,
        outline: true,
        views: ViewRule::Whole,
        history: HistoryRule::Window { images: 3, at_most: None, context: None },
        tools: ToolRule::Fixed,
        max_output_tokens: 500,
    };
    let requests = Requests::default();
    let inner = Scripted::new(replies).expect("a script").with_profile(profile).in_order();
    (Heard { inner, requests: Arc::clone(&requests) }, requests)
}

const SEEN: ImageRule = ImageRule::Within { size: Size::new(320, 200) };

fn points(x: f64, y: f64) -> ScriptedReply {
    acts(json!([{ "do": "click", "at": { "point": { "x": x, "y": y } } }]))
}

fn act(arguments: Value) -> ScriptedReply {
    reply(vec![call("act", arguments)])
}

fn pictures(request: &ChatRequest) -> usize {
    let content = |message: &Message| match message {
        Message::User { content } => content.clone(),
        Message::Results { results, notices } => {
            results.iter().flat_map(|result| result.content.clone()).chain(notices.clone()).collect()
        }
        Message::Assistant { .. } => Vec::new(),
    };
    request.messages.iter().flat_map(content).filter(|one| matches!(one, Content::Image { .. })).count()
}

#[tokio::test]
async fn one_plans_in_words_and_the_other_points() {
    let replies = vec![
        act(json!({ "action": "left_click", "target": "the Note box" })),
        act(json!({ "action": "left_click_drag", "start": "the first word", "target": "the last word" })),
        act(json!({ "action": "type", "text": "x" })),
        act(json!({ "action": "left_click", "target": "a unicorn" })),
        done(),
    ];
    let (planner, planned) = model("planner", CoordinateSpace::ImagePixels, ImageRule::None, replies);
    let nothing = ScriptedReply {
        say: Some("I do not see it.".into()),
        stop: Some(ReplyStop::EndTurn),
        ..ScriptedReply::default()
    };
    let answers = vec![points(500.0, 500.0), points(100.0, 100.0), points(900.0, 900.0), nothing];
    let (grounder, asked) = model("grounder", CoordinateSpace::Grid { max: 1000 }, SEEN, answers);
    let both = Grounded::new(Arc::new(planner), Arc::new(grounder)).expect("sees");
    assert_eq!(both.profile().space, CoordinateSpace::Grid { max: 1000 });
    let ended = attempt(&both).await;
    assert_eq!(ended.stop, Ok(StopReason::Done), "{}", ended.detail);
    assert_eq!(ended.spent.world_steps, 3, "a click, a drag, a text; the unicorn was not clicked");

    let planned = planned.lock().expect("unpoisoned").clone();
    assert_eq!(planned.len(), 5);
    for request in &planned {
        assert!(request.world.is_none() && request.tools[0].name == "act");
        assert_eq!(pictures(request), 0, "a planner without eyes is shown no pictures");
    }
    let told = serde_json::to_string(planned[4].messages.last().expect("a message")).expect("writes");
    assert!(told.contains("a unicorn") && told.contains("was not found on the screen"), "{told}");

    let asked = asked.lock().expect("unpoisoned").clone();
    let questions: Vec<String> = asked
        .iter()
        .map(|request| {
            assert_eq!((request.messages.len(), pictures(request)), (1, 1), "one question, one picture");
            assert!(request.world.is_some() && request.tools.is_empty());
            let Message::User { content } = &request.messages[0] else { panic!("a question") };
            content[0].as_text().expect("a text").to_owned()
        })
        .collect();
    assert_eq!(
        questions,
        [
            "Click on: the Note box",
            "Click on: the last word",
            "Click on: the first word",
            "Click on: a unicorn"
        ]
    );
}

#[tokio::test]
async fn points_stand_where_descriptions_stood_and_both_are_paid_for() {
    let paid = |mut reply: ScriptedReply, dollars: f64| {
        reply.cost_usd = Some(dollars);
        reply.usage = Usage { input: 10, output: 2, cached: 0 };
        reply
    };
    let plan = paid(act(json!({ "action": "double_click", "target": "x" })), 0.5);
    let (planner, _) = model("planner", CoordinateSpace::Unit, SEEN, vec![plan]);
    let (grounder, _) =
        model("grounder", CoordinateSpace::ImagePixels, SEEN, vec![paid(points(7.0, 8.0), 0.25)]);
    let both = Grounded::new(Arc::new(planner), Arc::new(grounder)).expect("sees");
    let mut request = ChatRequest {
        messages: vec![Message::User { content: vec![Content::text("Go.")] }],
        world: Some(WorldTool { browser: false, display: Size::new(320, 200) }),
        ..ChatRequest::default()
    };
    let blind = both.reply(&request).await.expect("answers");
    assert!(matches!(&blind.calls[0].body, CallBody::Unusable { problem } if problem.contains("no picture")));
    request.messages = vec![Message::User { content: vec![picture("seen")] }];
    let (planner, _) = model(
        "planner",
        CoordinateSpace::Unit,
        SEEN,
        vec![paid(act(json!({ "action": "double_click", "target": "x" })), 0.5)],
    );
    let (grounder, _) =
        model("grounder", CoordinateSpace::ImagePixels, SEEN, vec![paid(points(7.0, 8.0), 0.25)]);
    let both = Grounded::new(Arc::new(planner), Arc::new(grounder)).expect("sees");
    let reply = both.reply(&request).await.expect("answers");
    let body = serde_json::to_value(&reply.calls[0].body).expect("writes");
    assert_eq!(body["actions"][0]["at"]["point"], json!({ "x": 7.0, "y": 8.0 }));
    assert_eq!(body["actions"][0]["count"], 2);
    assert_eq!((reply.cost_usd, reply.usage.input), (Some(0.75), 20));
}

#[tokio::test]
async fn both_are_recorded_and_played_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tape.jsonl");
    let tape = Arc::new(Recording::create(&file, Redactor::new([]).expect("builds")).expect("a tape"));
    let plans = vec![act(json!({ "action": "left_click", "target": "the Note box" })), done()];
    let (planner, _) = model("planner", CoordinateSpace::ImagePixels, ImageRule::None, plans);
    let (grounder, _) =
        model("grounder", CoordinateSpace::Grid { max: 1000 }, SEEN, vec![points(500.0, 500.0)]);
    let both = Grounded::new(Arc::new(planner), Arc::new(grounder)).expect("sees");
    let lived = attempt(&Recorded::new(both, tape, "trial")).await;
    let cassette = Arc::new(Cassette::load(&file, None).expect("holds one model"));
    let played = attempt(&cassette.play("trial")).await;
    assert_eq!((played.stop, played.spent.world_steps), (lived.stop, 1));
    assert_eq!(played.spent.tokens, lived.spent.tokens);
}

#[test]
fn a_grounder_without_eyes_is_refused() {
    let (planner, _) = model("planner", CoordinateSpace::Unit, SEEN, vec![done()]);
    let (grounder, _) = model("blind", CoordinateSpace::Unit, ImageRule::None, vec![done()]);
    let error = Grounded::new(Arc::new(planner), Arc::new(grounder)).err().expect("is refused");
    assert_eq!(error.to_string(), "blind takes no pictures, so it cannot point; choose another grounder");
}
