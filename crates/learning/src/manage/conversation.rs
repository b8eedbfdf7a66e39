//! The conversation with the manager about one item.

use apprentice_protocol::{
    BoundedText, Call, CallBody, CallResult, ChatModel, ChatRequest, Content, Message, ModelError, Prompt,
    Purpose, SkillId, TextBudget,
};
use apprentice_skillbook::{Applied, Gateway, LeaveReason, OpId, WriteRefusal, WriteRequest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::build_item::item_by_meaning;
use super::item::{InputType, ManageItem};
use super::manager_tools::{ManagerTools, PermittedChanges, ToolAnswer};
use super::tools::{manager_tools, read_call};
use super::work_item::{ManageOptions, WorkItem};
use crate::apply_reviews::{LearningInput, Refusal};

pub(crate) const PROMPT: Prompt = Prompt::new("skills/manage", include_str!("../prompts/manage.md"), &[]);
const ANSWER_BUDGET: TextBudget = TextBudget(24_000);
const MAX_OUTPUT_TOKENS: u32 = 4000;

/// The outcome of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ItemOutcome {
    /// The manager made a change.
    Wrote {
        /// The operation.
        operation: OpId,
        /// The tool.
        tool: String,
        /// The changed skill; the target of a merge.
        skill_id: Option<SkillId>,
    },
    /// The change is proposed and waits for a person's approval.
    Proposed {
        /// The operation.
        operation: OpId,
        /// The tool.
        tool: String,
        /// The skill concerned; the target of a merge.
        skill_id: Option<SkillId>,
    },
    /// No change.
    Nothing {
        /// The manager's reason, or its last words.
        words: String,
        /// The kind of reason, if the manager gave one.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<LeaveReason>,
    },
    /// The item had already been decided.
    DecidedBefore {
        /// The operation that decided it.
        operation: OpId,
    },
}

/// A decision, with the writes that were refused on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decision {
    /// Name of the item within its trajectory.
    pub item: String,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: ItemOutcome,
    /// Kind of item. `None` if it had already been decided.
    pub input_type: Option<InputType>,
    /// Refusals, in order.
    pub refusals: Vec<Refusal>,
    /// The manager's calls with their answers, in order.
    pub calls: Vec<ManagerCall>,
}

/// A call of the manager and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ManagerCall {
    /// Name of the tool.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: Value,
    /// The answer, a JSON object.
    pub answer: Value,
    /// Whether the answer is a refusal.
    pub is_error: bool,
}

/// The reason why an item could not be decided.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// The model failed.
    #[error("the request to the manager failed")]
    Model(#[from] ModelError),
    /// Writing the book failed.
    #[error("the manager's decision could not be written")]
    Book(#[from] WriteRefusal),
    /// The item could not be serialized.
    #[error("an item could not be written as JSON")]
    Json(#[from] serde_json::Error),
}

/// Returns the first request of a conversation about an item.
pub fn manage_request(item: &ManageItem) -> Result<ChatRequest, serde_json::Error> {
    let block = serde_json::to_string_pretty(item)?;
    Ok(ChatRequest {
        purpose: Purpose::Manage,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(format!("The item:\n\n```json\n{block}\n```\n"))],
        }],
        tools: manager_tools(),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

/// Has one item decided. Does not ask again about an item that was already decided. Also records a decision without a
/// change. Dropping the future leaves the book unchanged.
pub async fn manage(
    model: &dyn ChatModel,
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    work_item: &WorkItem<'_>,
    options: &ManageOptions,
) -> Result<Decision, ManageError> {
    let (actor, stage) = work_item.role();
    let key = work_item.key();
    let template = input.request(actor, stage, key.clone(), work_item.closing(String::new(), None));
    let earlier = template.cause.as_ref().and_then(|cause| gateway.state().causes.get(cause));
    if let Some(earlier) = earlier {
        let outcome = ItemOutcome::DecidedBefore { operation: *earlier };
        return Ok(Decision {
            item: key,
            outcome,
            input_type: None,
            refusals: Vec::new(),
            calls: Vec::new(),
        });
    }
    let item = item_by_meaning(gateway, input, work_item, options).await?;
    let mut request = manage_request(&item)?;
    let skills = work_item.skills(gateway.state());
    let input_type = item.input_type;
    let attempt = (input_type != InputType::CleanupTask).then_some(input.trajectory);
    let scope = PermittedChanges { item, work_item, skills: &skills, attempt };
    let mut decision = Decision {
        item: key,
        outcome: ItemOutcome::Nothing { words: String::new(), reason: None },
        input_type: Some(input_type),
        refusals: Vec::new(),
        calls: Vec::new(),
    };
    let mut tools = ManagerTools::new(gateway, template.clone(), scope);
    let mut words = "no answer within the turns allowed".to_owned();
    for _ in 0..options.turns {
        let reply = model.reply(&request).await?;
        if reply.calls.is_empty() {
            words = reply.say.join(" ");
            break;
        }
        let (results, wrote) = answer(&mut tools, &reply.calls, &mut decision).await?;
        if let Some(outcome) = wrote {
            return Ok(Decision { outcome, ..decision });
        }
        request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
        request.messages.push(Message::Results { results, notices: Vec::new() });
    }
    if let Some((operation, tool, skill_id)) = tools.propose_meant()? {
        let outcome = ItemOutcome::Proposed { operation, tool: tool.to_owned(), skill_id };
        return Ok(Decision { outcome, ..decision });
    }
    let operation = close(gateway, template, work_item, &words)?;
    let outcome = match operation {
        Applied::Written(_) | Applied::Proposed(_) => ItemOutcome::Nothing { words, reason: None },
        Applied::AlreadyThere(id) => ItemOutcome::DecidedBefore { operation: id },
    };
    Ok(Decision { outcome, ..decision })
}

/// Answers every call of a turn, in order.
async fn answer(
    tools: &mut ManagerTools<'_>,
    calls: &[Call],
    decision: &mut Decision,
) -> Result<(Vec<CallResult>, Option<ItemOutcome>), WriteRefusal> {
    let mut results = Vec::new();
    let mut written = None;
    for call in calls {
        let (answer, is_error) = match &call.body {
            CallBody::Tool { name, arguments } => match read_call(name, arguments) {
                Err(why) => (json!({ "error": "bad_arguments", "message": why }), true),
                Ok(asked) => match tools.call(asked).await? {
                    ToolAnswer::Said(answer) => (answer, false),
                    ToolAnswer::Wrote(operation, answer) => {
                        let skill_id = answer["skill_id"].as_str().and_then(|id| SkillId::parse(id).ok());
                        written = Some(ItemOutcome::Wrote { operation, tool: name.clone(), skill_id });
                        (answer, false)
                    }
                    ToolAnswer::Proposed(operation, answer) => {
                        let skill_id = answer["skill_id"].as_str().and_then(|id| SkillId::parse(id).ok());
                        written = Some(ItemOutcome::Proposed { operation, tool: name.clone(), skill_id });
                        (answer, false)
                    }
                    ToolAnswer::Left(left) => {
                        let answer = json!({ "ok": true, "left": left.reason });
                        let (words, reason) = (left.why, Some(left.reason));
                        written = Some(ItemOutcome::Nothing { words, reason });
                        (answer, false)
                    }
                    ToolAnswer::Refused(refusal) => {
                        let answer = json!({ "error": refusal.code, "message": refusal.why });
                        decision.refusals.push(refusal);
                        (answer, true)
                    }
                },
            },
            CallBody::World { .. } | CallBody::Finish(_) => {
                (json!({ "error": "no_world", "message": "there is no screen here; use the tools" }), true)
            }
            CallBody::Unusable { problem } => (json!({ "error": "unusable", "message": problem }), true),
        };
        results.push(result(call, &answer, is_error));
        if let CallBody::Tool { name, arguments } = &call.body {
            let (name, arguments) = (name.clone(), arguments.clone());
            decision.calls.push(ManagerCall { name, arguments, answer, is_error });
        }
    }
    Ok((results, written))
}

fn result(call: &Call, answer: &Value, is_error: bool) -> CallResult {
    let text = BoundedText::cut(&answer.to_string(), ANSWER_BUDGET);
    let content = vec![Content::text(text.as_str())];
    CallResult { id: call.id.clone(), per_action: Vec::new(), content, is_error }
}

/// Records that nothing was changed.
fn close(
    gateway: &mut Gateway,
    template: WriteRequest,
    work_item: &WorkItem<'_>,
    words: &str,
) -> Result<Applied, WriteRefusal> {
    let outcome = BoundedText::cut(words.trim(), TextBudget(300)).as_str().to_owned();
    let objects = gateway.check_text(&outcome).is_some();
    let outcome = if objects { "nothing".to_owned() } else { outcome };
    gateway.apply(WriteRequest { change: work_item.closing(outcome, None), ..template })
}
