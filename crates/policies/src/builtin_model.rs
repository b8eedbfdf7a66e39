//! The built-in models behind the model port. A policy receives the same JSON as a provider, and nothing else.
//!
//! Each request is serialized, stripped of fields that are never sent, and parsed again before a policy sees it. No
//! state is kept between calls.

use apprentice_protocol::{
    BoxFuture, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest, CoordinateSpace, HistoryRule,
    ImageRule, ModelError, ModelErrorKind, ModelProfile, RawContent, ReplyStop, Timing, ToolRule, Usage,
    ViewRule,
};
use serde_json::json;

use super::dispatch;
use super::policy::{Move, Policy};

/// A rule-based policy that implements [`ChatModel`]. It is not a language model.
#[derive(Clone, Debug)]
pub struct BuiltInModel {
    policy: Policy,
    profile: ModelProfile,
}

impl BuiltInModel {
    /// Creates a model with this policy.
    pub fn new(policy: Policy) -> Self {
        let profile = ModelProfile {
            name: policy.name().to_owned(),
            consumer: policy.name().to_owned(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::None,
            outline: true,
            views: ViewRule::Whole,
            history: HistoryRule::AppendOnly { max_request_bytes: 64 << 20, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 4096,
        };
        Self { policy, profile }
    }
}

impl ChatModel for BuiltInModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let (received, bytes) = over_the_wire(request)?;
            let said = dispatch::answer(self.policy, &received);
            Ok(reply(said, &received, bytes, &self.profile.name))
        })
    }
}

/// Returns the request as a provider would receive it, without accounting fields and image bytes, and its size in
/// bytes.
fn over_the_wire(request: &ChatRequest) -> Result<(ChatRequest, usize), ModelError> {
    let lost = |error: serde_json::Error| {
        ModelError::never(ModelErrorKind::Request, format!("the request does not survive the wire: {error}"))
    };
    let mut sent = serde_json::to_value(request).map_err(lost)?;
    if let Some(fields) = sent.as_object_mut() {
        fields.remove("purpose");
    }
    let text = sent.to_string();
    Ok((serde_json::from_str(&text).map_err(lost)?, text.len()))
}

/// Builds a reply in the form of every other model's. Token counts are estimated at four characters per token.
fn reply(said: Move, request: &ChatRequest, bytes: usize, name: &str) -> ChatReply {
    let turn = request.messages.len();
    let (say, body) = match said {
        Move::Act { say, actions } => (say, Some(CallBody::World { actions })),
        Move::Ask { say, tool, arguments } => (say, Some(CallBody::Tool { name: tool, arguments })),
        Move::End { say, finish } => (say, Some(CallBody::Finish(finish))),
        Move::Say(say) => (say, None),
    };
    let calls: Vec<Call> =
        body.into_iter().map(|body| Call { id: CallId::new(format!("c{turn}")), body }).collect();
    let mut blocks = Vec::new();
    if !say.is_empty() {
        blocks.push(json!({ "type": "text", "text": say }).to_string());
    }
    for call in &calls {
        blocks.push(json!({ "type": "call", "call": call }).to_string());
    }
    let written: usize = blocks.iter().map(String::len).sum();
    let tokens = |length: usize| u64::try_from(length.div_ceil(4)).unwrap_or(u64::MAX);
    ChatReply {
        raw: RawContent { blocks },
        say: if say.is_empty() { Vec::new() } else { vec![say] },
        stop: if calls.is_empty() { ReplyStop::EndTurn } else { ReplyStop::Calls },
        thoughts: Vec::new(),
        calls,
        usage: Usage { input: tokens(bytes), output: tokens(written), cached: 0 },
        timing: Timing::default(),
        cost_usd: None,
        estimated: false,
        adapted: Vec::new(),
        provider_model: Some(name.to_owned()),
    }
}
