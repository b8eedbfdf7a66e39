//! A planner that describes targets in words, combined with a grounder that finds them on the picture.
//!
//! The planner gets a function `act` that takes descriptions instead of points. For each description the grounder gets
//! the latest picture and points at the target. The result is an ordinary action in the grounder's coordinate space.

use std::sync::Arc;

use apprentice_protocol::{
    BoxFuture, Call, CallBody, ChatModel, ChatReply, ChatRequest, Content, HistoryRule, Image, ImageRule,
    Message, ModelError, ModelProfile, Prompt, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::action_format::{ModelOutput, computer_tool_without_pictures, read_computer, target_point};

pub(crate) const PROMPT: Prompt = Prompt::new("ground/system", include_str!("prompts/ground.md"), &[]);
pub(crate) const QUESTION: Prompt =
    Prompt::new("ground/target", include_str!("prompts/ground_target.md"), &["target"]);
pub(crate) const ACT: Prompt = Prompt::new("ground/act", include_str!("prompts/act.md"), &[]);
/// The planner's tool.
const TOOL: &str = "act";
/// Pairs of a description field and the field of the point found for it.
const PLACES: [(&str, &str); 2] = [("target", "coordinate"), ("start", "start_coordinate")];

/// A planner and a grounder behind one model interface.
pub struct Grounded {
    planner: Arc<dyn ChatModel>,
    grounder: Arc<dyn ChatModel>,
    profile: ModelProfile,
}

/// The grounder takes no pictures. Holds its name.
#[derive(Debug, thiserror::Error)]
#[error("{0} takes no pictures, so it cannot point; choose another grounder")]
pub struct BlindGrounder(String);

impl Grounded {
    /// Combines `planner`, which decides what to do, with `grounder`, which points.
    pub fn new(planner: Arc<dyn ChatModel>, grounder: Arc<dyn ChatModel>) -> Result<Self, BlindGrounder> {
        let (plans, points) = (planner.profile(), grounder.profile());
        if points.images == ImageRule::None {
            return Err(BlindGrounder(points.name.clone()));
        }
        let history = match plans.images {
            // The planner gets no pictures, so the grounder's latest one is enough.
            ImageRule::None => match plans.history {
                HistoryRule::Window { context, .. } => {
                    HistoryRule::Window { images: 1, at_most: None, context }
                }
                // The planner's server counts no pictures, so it alone knows when its context is full.
                HistoryRule::AppendOnly { max_request_bytes, uploads, .. } => {
                    HistoryRule::AppendOnly { max_request_bytes, uploads, context: None }
                }
                HistoryRule::Blocks { .. } => HistoryRule::Window { images: 1, at_most: None, context: None },
            },
            ImageRule::AsIs | ImageRule::Within { .. } | ImageRule::Factor { .. } => plans.history,
        };
        let profile = ModelProfile {
            name: format!("{} with {}", plans.name, points.name),
            space: points.space,
            images: points.images,
            history,
            ..plans.clone()
        };
        Ok(Self { planner, grounder, profile })
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let Some(world) = request.world else { return self.planner.reply(request).await };
        let mut reply = self.planner.reply(&self.plan(request, world)).await?;
        let mut calls = Vec::with_capacity(reply.calls.len());
        for call in std::mem::take(&mut reply.calls) {
            let body = match call.body {
                CallBody::Tool { name, arguments } if name == TOOL => {
                    self.ground(request, arguments, &mut reply).await?
                }
                other => other,
            };
            calls.push(Call { id: call.id, body });
        }
        reply.calls = calls;
        Ok(reply)
    }

    /// The request in the form that the planner gets.
    fn plan(&self, request: &ChatRequest, world: WorldTool) -> ChatRequest {
        let mut asked = request.clone();
        asked.world = None;
        asked.tools.insert(0, act_tool(world));
        if self.planner.profile().images == ImageRule::None {
            asked.messages.iter_mut().for_each(without_pictures);
        }
        asked
    }

    /// Replaces the descriptions of an action by points.
    async fn ground(
        &self,
        request: &ChatRequest,
        mut arguments: Value,
        reply: &mut ChatReply,
    ) -> Result<CallBody, ModelError> {
        for (words, field) in PLACES {
            // The description gives way to the point.
            let described = arguments.as_object_mut().and_then(|fields| fields.remove(words));
            let Some(described) = described.as_ref().and_then(Value::as_str) else { continue };
            let Some(picture) = latest_picture(request) else {
                return Ok(CallBody::Unusable { problem: "there is no picture to point at yet".into() });
            };
            let found = self.grounder.reply(&self.question(request, described, picture)).await?;
            add_usage(reply, &found);
            let point = found.calls.iter().find_map(|call| match &call.body {
                CallBody::World { actions } => actions.iter().find_map(target_point),
                CallBody::Tool { .. } | CallBody::Finish(_) | CallBody::Unusable { .. } => None,
            });
            match point {
                Some(point) => arguments[field] = json!([point.x, point.y]),
                None => {
                    let problem = format!("{described:?} was not found on the screen; describe it otherwise");
                    return Ok(CallBody::Unusable { problem });
                }
            }
        }
        let Some(action) = arguments.get("action").and_then(Value::as_str) else {
            return Ok(CallBody::Unusable { problem: "action is missing".into() });
        };
        Ok(ModelOutput::body(read_computer(action, &arguments)))
    }

    /// Builds the grounder's request for one target: a separate conversation with the picture and the description.
    fn question(&self, request: &ChatRequest, described: &str, picture: &Image) -> ChatRequest {
        let question = Content::text(QUESTION.fill(&[("target", described)]));
        ChatRequest {
            purpose: request.purpose,
            system: PROMPT.text().trim_end().to_owned(),
            messages: vec![Message::User {
                content: vec![question, Content::Image { image: picture.clone() }],
            }],
            world: request.world,
            seed: request.seed,
            max_output_tokens: self.grounder.profile().max_output_tokens,
            ..ChatRequest::default()
        }
    }
}

impl ChatModel for Grounded {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// The common computer tool with descriptions instead of points.
fn act_tool(world: WorldTool) -> ToolSpec {
    // `zoom` names a part of the picture by coordinates, and the planner has none.
    let mut tool = computer_tool_without_pictures(world);
    tool.name = TOOL.into();
    ACT.text().trim_end().clone_into(&mut tool.description);
    let described = |what: &str| json!({ "type": "string", "description": what });
    if let Some(fields) = tool.schema["properties"].as_object_mut() {
        for field in ["coordinate", "start_coordinate"] {
            fields.remove(field);
        }
        fields.insert("target".into(), described("What to act on, described so that it can be found."));
        fields.insert("start".into(), described("Where a drag begins, described likewise."));
    }
    tool
}

fn without_pictures(message: &mut Message) {
    let shown = |content: &Content| matches!(content, Content::Text { .. });
    match message {
        Message::User { content } => content.retain(shown),
        Message::Results { results, notices } => {
            results.iter_mut().for_each(|result| result.content.retain(shown));
            notices.retain(shown);
        }
        Message::Assistant { .. } => {}
    }
}

/// Returns the latest picture of the conversation.
fn latest_picture(request: &ChatRequest) -> Option<&Image> {
    request.messages.iter().rev().find_map(|message| {
        contents_of(message).into_iter().rev().find_map(|content| match content {
            Content::Image { image } => Some(image),
            Content::Text { .. } => None,
        })
    })
}

fn contents_of(message: &Message) -> Vec<&Content> {
    match message {
        Message::User { content } => content.iter().collect(),
        Message::Results { results, notices } => {
            results.iter().flat_map(|result| &result.content).chain(notices).collect()
        }
        Message::Assistant { .. } => Vec::new(),
    }
}

/// Adds the grounder's usage to the planner's reply.
fn add_usage(reply: &mut ChatReply, found: &ChatReply) {
    reply.usage += found.usage;
    reply.timing.working_ms += found.timing.working_ms;
    reply.timing.waiting_ms += found.timing.waiting_ms;
    reply.cost_usd = reply.cost_usd.zip(found.cost_usd).map(|(own, more)| own + more);
}
