//! A forked model repeats, compares, and asks the live model only from the place of the fork on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{
    Action, ActionOutcome, BoxFuture, Call, CallBody, CallId, CallResult, ChatModel, ChatReply, ChatRequest,
    Content, Message, ModelError, ModelProfile, RawContent, ReplyStop, Size, StepId, View, VoidCause,
};

use super::{ForkPoint, ForkedModel, Parting, PriorTurns, RecordedScreen, RecordedTurn};
use apprentice_models::scripted::{Scripted, ScriptedReply};

/// A live model that keeps what it is asked.
struct Live {
    script: Scripted,
    asked: Arc<Mutex<Vec<ChatRequest>>>,
}

impl ChatModel for Live {
    fn profile(&self) -> &ModelProfile {
        self.script.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        self.script.reply(request)
    }
}

struct Bench {
    model: ForkedModel,
    asked: Arc<Mutex<Vec<ChatRequest>>>,
    partings: Arc<Mutex<Vec<Parting>>>,
}

impl Bench {
    /// A fork at step s3, after two recorded turns.
    fn new(prior: PriorTurns) -> Self {
        let screen = |name: &str| {
            let view = View::whole(Size::new(640, 400));
            let outline = Some(format!("button {name:?} @1,1 #n1"));
            Arc::new(RecordedScreen { title: String::new(), outline, picture: None, view })
        };
        let turn = |number: u32, calls: Vec<Call>| RecordedTurn {
            step: StepId(number),
            screen: screen(&format!("page {number}")),
            raw: RawContent { blocks: vec![format!("\"block {number}\"")] },
            say: vec![format!("turn {number}")],
            calls,
            targets: BTreeMap::new(),
        };
        let wait = CallBody::World { actions: vec![Action::Wait { ms: 5 }] };
        let turns = vec![turn(1, vec![Call { id: CallId::new("c1"), body: wait }]), turn(2, Vec::new())];
        let point = ForkPoint { turns, step: StepId(3), screen: screen("page 3") };
        let (asked, partings) = (Arc::default(), Arc::new(Mutex::new(Vec::new())));
        let said = |text: &str| ScriptedReply { say: Some(text.into()), ..ScriptedReply::default() };
        let script = Scripted::new([said("first"), said("second")]).expect("a script").in_order();
        let heard = Arc::clone(&partings);
        let told = move |parting| heard.lock().unwrap_or_else(PoisonError::into_inner).push(parting);
        let live = Arc::new(Live { script, asked: Arc::clone(&asked) });
        let model = ForkedModel::new(Arc::new(point), live, prior, Arc::new(told)).expect("prepares");
        Self { model, asked, partings }
    }

    fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn screen(name: &str) -> Content {
    Content::text(format!("Screen now.\nElements:\nbutton {name:?} @2,2 #m8"))
}

fn opening(name: &str) -> ChatRequest {
    let content = vec![Content::text("The task."), screen(name)];
    ChatRequest { messages: vec![Message::User { content }], ..ChatRequest::default() }
}

/// The request after one more turn, which the world answered with this page.
fn after(mut request: ChatRequest, reply: ChatReply, page: &str) -> ChatRequest {
    let result = CallResult {
        id: CallId::new("c1"),
        per_action: vec![ActionOutcome::Failed { problem: "no".into() }],
        content: vec![screen(page)],
        is_error: false,
    };
    request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
    request.messages.push(Message::Results { results: vec![result], notices: Vec::new() });
    request
}

#[tokio::test]
async fn recorded_turns_come_first_and_then_the_live_model() {
    let bench = Bench::new(PriorTurns::Own);
    let first = bench.model.reply(&opening("page 1")).await.expect("repeats");
    assert_eq!((first.stop, first.say.as_slice()), (ReplyStop::Calls, &["turn 1".to_owned()][..]));
    assert_eq!(first.raw.blocks, ["\"block 1\""]);
    assert_eq!((first.usage.input, first.cost_usd), (0, None), "what is repeated costs nothing");
    let request = after(opening("page 1"), first, "page 2");
    let second = bench.model.reply(&request).await.expect("repeats");
    assert_eq!(second.stop, ReplyStop::MaxTokens, "a whole reply in words would end the attempt");
    assert!(bench.asked().is_empty());
    let request = after(request, second, "page 3");
    let third = bench.model.reply(&request).await.expect("goes on");
    assert_eq!(third.say, ["first"]);
    assert_eq!(bench.asked(), std::slice::from_ref(&request), "its own turns are sent as they are");
    // After the fork nothing is compared.
    let fourth = bench.model.reply(&after(request, third, "elsewhere")).await.expect("goes on");
    assert_eq!(fourth.say, ["second"]);
    assert!(bench.partings.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
}

#[tokio::test]
async fn another_world_parts_before_the_live_model_is_asked() {
    for (pages, step) in [
        (["other", "page 2", "page 3"], 1),
        (["page 1", "other", "page 3"], 2),
        (["page 1", "page 2", "other"], 3),
    ] {
        let bench = Bench::new(PriorTurns::Own);
        let mut request = opening(pages[0]);
        let mut turns = 0;
        let error = loop {
            turns += 1;
            match bench.model.reply(&request).await {
                Ok(reply) => request = after(request, reply, pages[turns]),
                Err(error) => break error,
            }
        };
        let message = format!(
            "the fork parted at step s{step}: of 1 elements: button \"page {step}\" missing, button \"other\" new"
        );
        assert_eq!((turns, error.message.as_str()), (step, message.as_str()));
        assert_eq!(error.void_cause(), Some(VoidCause::Setup));
        assert!(bench.asked().is_empty(), "no live call is paid for");
        let partings = bench.partings.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(partings.iter().map(|parting| parting.step.0 as usize).collect::<Vec<_>>(), [step]);
    }
}

#[tokio::test]
async fn another_model_has_the_recorded_turns_told() {
    let bench = Bench::new(PriorTurns::AsText);
    let first = bench.model.reply(&opening("page 1")).await.expect("repeats");
    assert!(first.raw.blocks.is_empty(), "blocks of another provider are never sent");
    let request = after(opening("page 1"), first, "page 2");
    let second = bench.model.reply(&request).await.expect("repeats");
    let request = after(request, second, "page 3");
    let third = bench.model.reply(&request).await.expect("goes on");
    let fourth = after(request.clone(), third, "page 4");
    bench.model.reply(&fourth).await.expect("goes on");
    let asked = bench.asked();
    let [Message::User { content }] = &asked[0].messages[..] else { panic!("{:?}", asked[0].messages) };
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    insta::assert_snapshot!(texts.join("\n---\n"));
    // Later turns stay turns, and the told part stays the same, for the provider's cache.
    let [told, Message::Assistant { say, .. }, Message::Results { .. }] = &asked[1].messages[..] else {
        panic!("{:?}", asked[1].messages)
    };
    assert_eq!((told, say.as_slice()), (&asked[0].messages[0], &["first".to_owned()][..]));
}
