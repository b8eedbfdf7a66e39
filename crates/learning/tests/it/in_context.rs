//! Reflection in the attempt's own conversation: the repeated messages, the question, and the fallback if it is
//! impossible.

use std::sync::Arc;

use apprentice_learning::reflect::{Conversation, ReflectOptions, continued_request, outcome};
use apprentice_learning::{
    LearnOptions, LearnResult, LearnerModels, LearningInput, ReflectionRoute, learn_trajectory,
};
use apprentice_protocol::{
    BlobHash, Call, CallBody, CallId, CallResult, ChatModel, ChatRequest, Content, Finish, Image, ImageBytes,
    MediaType, Message, Purpose, RawContent, ReplyStop, Size, StopReason, ToolSpec, Trajectory, Verdict,
    WorldTool,
};
use apprentice_skillbook::review::{Fallback, ReflectMode};
use apprentice_skillbook::{Change, Operation};
use jiff::Timestamp;
use serde_json::json;

use crate::clerk::{Clerk, Written, attempt, reply, run};
use crate::shelf::Shelf;

const OPTIONS: ReflectOptions = ReflectOptions {
    pages: 0,
    pictures: 0,
    mode: ReflectMode::InContext,
    budget: apprentice_learning::reflect::MaterialBudget {
        tokens: 40_000,
        parts: 6,
        line: 160,
        skill: 4000,
        skills: 12,
    },
    max_learnings: 3,
    tries: 3,
};

/// A conversation of one turn: a screen, a click, and an unanswered finish.
fn conversation() -> Conversation {
    let picture = Image {
        hash: BlobHash::new("ab"),
        size: Size::new(800, 600),
        media: MediaType::Png,
        bytes: ImageBytes(vec![1, 2, 3].into()),
    };
    let call = |id: &str, body| Call { id: CallId::new(id), body };
    let said = |block: &str, calls| Message::Assistant {
        raw: RawContent { blocks: vec![block.to_owned()] },
        say: Vec::new(),
        calls,
    };
    let click = call("c1", CallBody::World { actions: Vec::new() });
    let answer = CallResult {
        id: CallId::new("c1"),
        per_action: Vec::new(),
        content: vec![Content::text("Screen now."), Content::Image { image: picture }],
        is_error: false,
    };
    let request = ChatRequest {
        system: "You work.".into(),
        messages: vec![
            Message::User { content: vec![Content::text("Make the sky transparent.")] },
            said("{\"signed\":\"one\"}", vec![click]),
            Message::Results { results: vec![answer], notices: Vec::new() },
            said("{\"signed\":\"two\"}", vec![call("c2", CallBody::Finish(Finish::Done))]),
        ],
        tools: vec![ToolSpec {
            name: "skill_view".into(),
            description: "Opens.".into(),
            schema: json!({ "type": "object" }),
        }],
        world: Some(WorldTool { browser: false, display: Size::new(800, 600) }),
        seed: Some(7),
        max_output_tokens: 1000,
        ..ChatRequest::default()
    };
    Conversation { model: "test/clerk".into(), request }
}

fn answer(guidance: &str) -> String {
    json!({"skill_reviews": [], "new_learnings": [{
        "type": "discovered", "scope": "gimp", "situation": "A colour is to become transparent.",
        "guidance": guidance, "confidence": "low", "evidence": ["s1"] }]})
    .to_string()
}

/// Learns from one attempt in its own conversation, with fallback, into a new book.
fn learned(
    model: Written,
    trajectory: &Trajectory,
    said: Option<&Conversation>,
) -> (Arc<Written>, LearnResult, Shelf) {
    let folder = Shelf::new();
    let (mut gateway, _) = folder.open();
    let model = Arc::new(model);
    let asked: Arc<dyn ChatModel> = model.clone();
    let staff = LearnerModels { reflector: asked, manager: Arc::new(Clerk::with(usize::MAX)) };
    let options = LearnOptions { reflect: OPTIONS, ..LearnOptions::default() };
    let input = LearningInput { conversation: said, ..LearningInput::new(trajectory, Timestamp::UNIX_EPOCH) };
    let digested = run(learn_trajectory(&mut gateway, &staff, &input, &options)).expect("learns");
    (model, digested, folder)
}

/// Returns the mode of the single reflection in a book's log.
fn logged(shelf: &Shelf) -> (ReflectMode, Option<Fallback>) {
    let log = std::fs::read_to_string(shelf.path().join(".meta/ops.jsonl")).expect("a log");
    let operations = log.lines().map(|line| Operation::from_line(line).expect("an operation"));
    let mut ways = operations.filter_map(|operation| match operation.change {
        Change::TrajectoryReflected { mode, fallback, .. } => Some((mode, fallback)),
        _ => None,
    });
    let way = ways.next().expect("a reflection");
    assert_eq!(ways.next(), None);
    way
}

#[test]
fn what_was_sent_is_sent_again_and_one_question_stands_below() {
    let trajectory = attempt("t", "Make the sky transparent", Verdict::Fail, &[("gimp/a", 1)]);
    let said = conversation();
    let request = continued_request(&said, &trajectory, &OPTIONS).expect("a request");
    let before = &said.request;
    assert_eq!(request.purpose, Purpose::Reflect);
    assert_eq!(
        (&request.system, &request.tools, request.world),
        (&before.system, &before.tools, before.world)
    );
    assert_eq!((request.seed, &request.schema), (before.seed, &None));
    assert_eq!(request.messages[..4], before.messages[..], "pictures and signed blocks included");
    let [Message::Results { results, notices }] = &request.messages[4..] else {
        panic!("{:?}", request.messages)
    };
    assert_eq!((results.len(), results[0].id.clone()), (1, CallId::new("c2")));
    insta::assert_snapshot!("reflect_here", notices[0].as_text().expect("text"));
}

#[test]
fn a_long_attempt_is_named_in_part() {
    let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let step = trajectory.steps[0].clone();
    trajectory.steps = (1..=500)
        .map(|number| {
            let mut step = step.clone();
            step.id = apprentice_protocol::StepId(number);
            step
        })
        .collect();
    let told = outcome(&trajectory, &OPTIONS);
    assert_eq!((told.steps.len(), told.steps_left_out), (120, 380));
    assert_eq!((told.steps[59].id.0, told.steps[60].id.0, told.steps[119].id.0), (60, 441, 500));
}

#[test]
fn a_step_is_named_up_to_its_limit_and_with_what_the_checks_saw() {
    let told = |characters: usize| {
        let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
        trajectory.steps[0].actions[0].action = "a".repeat(characters);
        trajectory.steps[0].actions[0].name = None;
        trajectory.steps[0].changed_checked_state = Some(true);
        outcome(&trajectory, &OPTIONS).steps[0].clone()
    };
    assert_eq!(told(120).did, "a".repeat(120));
    assert!(told(121).did.ends_with("more characters]"));
    assert_eq!(told(1).changed_checked_state, Some(true));
}

#[test]
fn the_model_that_acted_is_asked_in_its_own_conversation() {
    let model = Written::words(&["I am done.", &answer("1. Choose Colors.")]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let (model, digested, folder) = learned(model, &trajectory, Some(&conversation()));
    assert_eq!(digested.reflected, Some(ReflectionRoute { mode: ReflectMode::InContext, fallback: None }));
    assert_eq!(logged(&folder), (ReflectMode::InContext, None));
    assert_eq!(digested.checked.learnings.len(), 1);
    let requests = model.requests.lock().expect("unpoisoned");
    let told = format!("{:?}", requests[0].messages[4]);
    assert!(told.contains("reflect.outcome.v1") && told.contains(r#"\"verdict\": \"pass\""#), "{told}");
    // The first answer was of no use: the second request grew by it and by what was wrong.
    assert_eq!(requests[1].messages[..5], requests[0].messages[..]);
    assert_eq!(requests[1].messages.len(), 7);
    assert!(format!("{:?}", requests[1].messages[6]).contains("no JSON object"));
}

#[test]
fn calls_are_answered_before_the_model_is_asked_again() {
    let model =
        Written::of([reply("", vec![("skill_view", json!({}))]), reply(&answer("1. Go."), vec![])].into());
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let (model, digested, _folder) = learned(model, &trajectory, Some(&conversation()));
    assert_eq!(digested.reflected, Some(ReflectionRoute { mode: ReflectMode::InContext, fallback: None }));
    let requests = model.requests.lock().expect("unpoisoned");
    let Some(Message::Results { results, notices }) = requests[1].messages.last() else {
        panic!("{requests:?}")
    };
    assert!(results[0].is_error && format!("{notices:?}").contains("nothing can be called any more"));
}

#[test]
fn where_that_way_is_barred_a_reader_is_asked_and_the_log_says_why() {
    let passed = attempt("t", "goal", Verdict::Pass, &[]);
    let mut overflown = passed.clone();
    overflown.stop = StopReason::ContextFull;
    let other = Conversation { model: "test/other".into(), ..conversation() };
    let full = || {
        let full = apprentice_protocol::ChatReply { stop: ReplyStop::ContextFull, ..reply("", Vec::new()) };
        Written::of([full, reply(&answer("1. Go."), vec![])].into())
    };
    let useful = || Written::words(&[&answer("1. Go.")]);
    let silly = || Written::words(&["no", "no", "no", &answer("1. Go.")]);
    let problem = "the answer holds no JSON object".to_owned();
    let cases = [
        (useful(), &passed, None, Fallback::NotKept, 0),
        (useful(), &passed, Some(&other), Fallback::AnotherModel { acted: "test/other".into() }, 0),
        (useful(), &overflown, Some(&other), Fallback::AnotherModel { acted: "test/other".into() }, 0),
        (full(), &passed, Some(&conversation()), Fallback::ContextFull, 1),
        (silly(), &passed, Some(&conversation()), Fallback::Unusable { problem }, 3),
    ];
    for (model, trajectory, said, expected, in_context) in cases {
        let (model, digested, folder) = learned(model, trajectory, said);
        assert_eq!(logged(&folder), (ReflectMode::Fresh, Some(expected.clone())));
        assert_eq!(digested.checked.learnings.len(), 1, "{expected}");
        let requests = model.requests.lock().expect("unpoisoned");
        let asked_a_reader = &requests[in_context];
        assert!(asked_a_reader.world.is_none() && asked_a_reader.messages.len() == 1, "{expected}");
        assert_eq!(
            requests[..in_context].iter().filter(|request| request.world.is_some()).count(),
            in_context
        );
    }
    let (_, digested, _folder) = learned(useful(), &overflown, Some(&conversation()));
    assert_eq!(
        digested.reflected,
        Some(ReflectionRoute { mode: ReflectMode::Fresh, fallback: Some(Fallback::ContextFull) })
    );
}

#[test]
fn what_no_skill_may_hold_is_sifted_out_of_such_an_answer_too() {
    let secret =
        answer("1. Log in with the key sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKKLLLL.");
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let (_, digested, folder) =
        learned(Written::words(&[&secret, &secret, &secret]), &trajectory, Some(&conversation()));
    assert!(digested.checked.learnings.is_empty() && digested.checked.dropped.len() == 1, "{digested:?}");
    let log = std::fs::read_to_string(folder.path().join(".meta/ops.jsonl")).expect("a log");
    assert!(!log.contains("sk-ant-api03"), "{log}");
}
