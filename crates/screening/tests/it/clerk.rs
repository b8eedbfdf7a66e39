//! Models for tests: one replays written replies and keeps the requests, one answers by rule.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use apprentice_protocol::{
    BoxFuture, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest, ContextRule, CoordinateSpace,
    HistoryRule, ImageRule, Limits, Message, ModelError, ModelErrorKind, ModelProfile, RawContent, ReplyStop,
    ResourceUsage, RetrievedSkill, Seen, SkillId, StepAction, StepId, StopReason, Timing, ToolRule,
    Trajectory, TrajectoryStep, Usage, Verdict, Versions, ViewRule,
};
use serde_json::{Value, json};

/// Runs a future that never waits.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn profile() -> ModelProfile {
    ModelProfile {
        name: "test/clerk".into(),
        consumer: "clerk".into(),
        space: CoordinateSpace::ImagePixels,
        images: ImageRule::None,
        outline: true,
        views: ViewRule::Whole,
        history: HistoryRule::AppendOnly { max_request_bytes: 1_000_000, uploads: false, context: None },
        tools: ToolRule::Fixed,
        max_output_tokens: 1000,
    }
}

pub(crate) fn reply(say: &str, calls: Vec<(&str, Value)>) -> ChatReply {
    let stop = if calls.is_empty() { ReplyStop::EndTurn } else { ReplyStop::Calls };
    let calls = calls.into_iter().enumerate().map(|(place, (name, arguments))| Call {
        id: CallId::new(format!("c{place}")),
        body: CallBody::Tool { name: name.to_owned(), arguments },
    });
    ChatReply {
        raw: RawContent::default(),
        say: if say.is_empty() { Vec::new() } else { vec![say.to_owned()] },
        thoughts: Vec::new(),
        calls: calls.collect(),
        stop,
        usage: Usage::default(),
        timing: Timing::default(),
        cost_usd: None,
        estimated: false,
        adapted: Vec::new(),
        provider_model: None,
    }
}

/// Replays replies in order.
pub(crate) struct Written {
    profile: ModelProfile,
    replies: Mutex<VecDeque<ChatReply>>,
    pub(crate) requests: Mutex<Vec<ChatRequest>>,
}

impl Written {
    pub(crate) fn words(words: &[&str]) -> Self {
        Self::of(words.iter().map(|words| reply(words, Vec::new())).collect())
    }

    /// Like [`Self::words`], as a model that gets pictures.
    pub(crate) fn seeing(words: &[&str]) -> Self {
        let profile = ModelProfile { images: ImageRule::AsIs, ..profile() };
        Self { profile, ..Self::words(words) }
    }

    /// Like [`Self::words`], as a model with a small context.
    pub(crate) fn with_context(tokens: u64, words: &[&str]) -> Self {
        let context = Some(ContextRule { tokens, patch: 28 });
        let profile =
            ModelProfile { history: HistoryRule::Window { images: 0, at_most: None, context }, ..profile() };
        Self { profile, ..Self::words(words) }
    }

    /// The same model, as one that gets up to `images` pictures.
    pub(crate) fn seeing_up_to(mut self, images: u32) -> Self {
        self.profile.images = ImageRule::AsIs;
        if let HistoryRule::Window { images: most, .. } = &mut self.profile.history {
            *most = images;
        }
        self
    }

    /// One reply per turn; an empty turn ends the conversation.
    pub(crate) fn turns(turns: Vec<Vec<(&str, Value)>>) -> Self {
        let turns = turns.into_iter().map(|calls| {
            let words = if calls.is_empty() { "Nothing more to do." } else { "" };
            reply(words, calls)
        });
        Self::of(turns.collect())
    }

    pub(crate) fn of(replies: VecDeque<ChatReply>) -> Self {
        Self { profile: profile(), replies: Mutex::new(replies), requests: Mutex::default() }
    }

    /// Returns the answers to the model's calls, in order, with whether each was an error.
    pub(crate) fn answers(&self) -> Vec<(Value, bool)> {
        let requests = self.requests.lock().expect("unpoisoned");
        let last = requests.last().expect("a request");
        let results = last.messages.iter().filter_map(|message| match message {
            Message::Results { results, .. } => Some(results),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        let read = |text: &str| serde_json::from_str(text).expect("json");
        results
            .flatten()
            .map(|result| (read(result.content[0].as_text().expect("text")), result.is_error))
            .collect()
    }
}

impl ChatModel for Written {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.requests.lock().expect("unpoisoned").push(request.clone());
        let next = self.replies.lock().expect("unpoisoned").pop_front();
        let none = || ModelError::never(ModelErrorKind::Unavailable, "the replies are used up");
        Box::pin(std::future::ready(next.ok_or_else(none)))
    }
}

/// Answers by rule, from the request alone: reviews every skill as helpful, learns one thing from each attempt, and
/// creates a skill for each learning. Fails after `left` replies.
pub(crate) struct Clerk {
    profile: ModelProfile,
    left: Mutex<usize>,
}

impl Clerk {
    pub(crate) fn with(replies: usize) -> Self {
        Self { profile: profile(), left: Mutex::new(replies) }
    }

    fn rule(request: &ChatRequest) -> ChatReply {
        let Some(Message::User { content }) = request.messages.first() else { panic!("no user turn") };
        let text = content[0].as_text().expect("text");
        let (_, block) = text.split_once("```json\n").expect("a block");
        let block: Value = serde_json::from_str(block.split("\n```").next().expect("an end")).expect("json");
        if block["schema"] == "reflect.material.v1" {
            let reviews: Vec<Value> =
                block["skills"].as_array().expect("a list").iter().map(review).collect();
            let learning = json!({
                "type": "friction", "scope": block["apps"][0],
                "situation": format!("You want what {} asks for.", block["goal"].as_str().expect("text")),
                "guidance": format!("1. Open the menu {}.", block["goal"].as_str().expect("text")),
                "confidence": "high", "steps_wasted": 1, "evidence": ["s1"],
            });
            return reply(
                &json!({"skill_reviews": reviews, "new_learnings": [learning]}).to_string(),
                vec![],
            );
        }
        let payload = &block["payload"];
        if request.messages.len() == 1 && block["input_type"] == "learning" {
            return reply("", vec![("fetch_similar_skills", json!({"situation": payload["situation"]}))]);
        }
        if request.messages.len() == 3 && block["input_type"] == "learning" {
            let name: String = payload["guidance"].as_str().expect("text").to_lowercase();
            let name: Vec<&str> =
                name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| w.len() > 2).collect();
            let create = json!({
                "domain": payload["domain"], "skill_name": name.join("-"), "description": payload["situation"],
                "situation": payload["situation"], "guidance": payload["guidance"],
            });
            let domain = json!({"domain": payload["domain"], "description": "A program."});
            return reply("", vec![("create_domain", domain), ("create_skill", create)]);
        }
        reply("Nothing to do.", Vec::new())
    }
}

fn review(skill: &Value) -> Value {
    json!({"skill_id": skill["id"], "followed": "yes", "impact": "positive", "what_helped": "It named the menu."})
}

impl ChatModel for Clerk {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let mut left = self.left.lock().expect("unpoisoned");
        let answer = match left.checked_sub(1) {
            Some(rest) => {
                *left = rest;
                Ok(Self::rule(request))
            }
            None => Err(ModelError::never(ModelErrorKind::Unavailable, "gone")),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// An attempt of three steps that received the given skills.
pub(crate) fn attempt(name: &str, goal: &str, verdict: Verdict, skills: &[(&str, u32)]) -> Trajectory {
    let step = |number: u32| TrajectoryStep {
        actions: vec![StepAction {
            action: "click".into(),
            role: Some("menuitem".into()),
            name: Some(format!("Entry {number}")),
            at: None,
            near: None,
            outcome: "done".into(),
        }],
        ..TrajectoryStep::new(
            StepId(number),
            Seen {
                title: "Picture".into(),
                focused: Some("button \"Open\"".into()),
                changed: vec![format!("+ menuitem \"Entry {number}\"")],
            },
        )
    };
    Trajectory {
        id: format!("run/{name}/1"),
        goal: goal.into(),
        apps: vec!["gimp".into()],
        versions: Versions::new(),
        consumer: "teacher".into(),
        verdict,
        judged_by: Default::default(),
        score: if verdict == Verdict::Pass { 1.0 } else { 0.0 },
        stop: StopReason::Done,
        limits: Limits::default(),
        spent: ResourceUsage::default(),
        steps: (1..=3).map(step).collect(),
        skills: skills
            .iter()
            .map(|(skill, version)| RetrievedSkill {
                id: SkillId::parse(skill).expect("an id"),
                version: *version,
                text: format!("# {skill}"),
                step: StepId(1),
            })
            .collect(),
    }
}
