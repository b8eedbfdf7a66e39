//! The conversation with the manager about one item.

use apprentice_protocol::{
    BoundedText, Call, CallBody, CallResult, ChatModel, ChatRequest, Content, Message, ModelError, Prompt,
    Purpose, SkillId, StepId, TextBudget, Versions,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::item::{ITEM_SCHEMA, InputType, ManageItem};
use super::manager_tools::{ManagerTools, PermittedChanges, ToolAnswer};
use super::support::{self, Support};
use super::tools::{ANNOTATE_SKILL, DELETE_SKILL, MERGE_SKILLS, UPDATE_SKILL, manager_tools, read_call};
use crate::book::{Actor, Applied, Change, Gateway, OpId, Stage, State, WriteRefusal, WriteRequest};
use crate::cleanup::{CleanupOptions, CleanupTask};
use crate::handle::{LearningInput, Refusal};
use crate::reflect::{Confidence, Learning, SkillReview};
use crate::words::domain_name;

pub(crate) const PROMPT: Prompt = Prompt::new("skills/manage", include_str!("../prompts/manage.md"), &[]);
const ANSWER_BUDGET: TextBudget = TextBudget(24_000);
const MAX_OUTPUT_TOKENS: u32 = 4000;

/// Options of the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManageOptions {
    /// Replies per item.
    pub turns: u32,
    /// Number of separate attempts that make a pattern.
    pub corroboration: usize,
}

impl Default for ManageOptions {
    fn default() -> Self {
        Self { turns: 12, corroboration: 2 }
    }
}

/// The item to decide.
#[derive(Clone, Debug)]
pub enum WorkItem<'a> {
    /// A review that the table forwards, with the skill as the agent received it.
    Review(&'a SkillId, &'a SkillReview),
    /// New knowledge, with its position in the reflection.
    Learning(usize, &'a Learning),
    /// A finding of the cleaner.
    Cleanup(&'a CleanupTask, &'a CleanupOptions),
}

/// The outcome of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
        /// The manager's last words.
        words: String,
    },
    /// The item had already been decided.
    DecidedBefore {
        /// The operation that decided it.
        operation: OpId,
    },
}

/// A decision, with the writes that were refused on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

impl WorkItem<'_> {
    fn key(&self) -> String {
        match self {
            Self::Review(skill, _) => format!("review:{skill}"),
            Self::Learning(place, _) => format!("learning:{place}"),
            Self::Cleanup(task, _) => task.key(),
        }
    }

    /// Returns the skills that the item is about, under their current ids. Empty if it may concern any skill.
    fn skills(&self, state: &State) -> Vec<SkillId> {
        match self {
            Self::Review(skill, _) => vec![state.resolve(skill).map_or(*skill, |now| &now.id).clone()],
            Self::Learning(..) => Vec::new(),
            Self::Cleanup(task, _) => task.skills().into_iter().cloned().collect(),
        }
    }

    fn role(&self) -> (Actor, Stage) {
        match self {
            Self::Review(..) | Self::Learning(..) => (Actor::Manager, Stage::Manage),
            Self::Cleanup(..) => (Actor::Cleaner, Stage::Clean),
        }
    }
}

/// Returns the item in the form that the manager sees.
pub fn item(
    state: &State,
    input: &LearningInput<'_>,
    work_item: &WorkItem<'_>,
    options: &ManageOptions,
) -> Result<ManageItem, serde_json::Error> {
    let needed = options.corroboration;
    let (input_type, evidence, support, payload) = match work_item {
        WorkItem::Review(skill, review) => {
            let input_type = match review {
                SkillReview::Negative(_) => InputType::SkillNegative,
                SkillReview::Positive(_) | SkillReview::Neutral(_) => InputType::SkillNeutral,
                SkillReview::NotFollowed(_) => InputType::SkillNotFollowed,
            };
            let now = state.resolve(skill).map_or(*skill, |now| &now.id);
            let support = support::review_support(state, input, (now, review), needed);
            let mut payload = serde_json::to_value(review)?;
            payload["skill_id"] = json!(now);
            (input_type, received_at(input, skill), support, payload)
        }
        WorkItem::Learning(_, learning) => {
            let support = support::learning_support(state, input, learning, needed);
            let mut payload = serde_json::to_value(learning)?;
            payload["confidence"] = json!(support.confidence.unwrap_or(Confidence::Low));
            payload["domain"] = json!(domain_name(learning.scope()));
            (InputType::Learning, learning.evidence().to_vec(), support, payload)
        }
        WorkItem::Cleanup(task, clean) => {
            let support = cleanup_support(task, clean, needed);
            (InputType::CleanupTask, Vec::new(), support, serde_json::to_value(task)?)
        }
    };
    Ok(ManageItem {
        schema: ITEM_SCHEMA.to_owned(),
        input_type,
        trajectory_id: (input_type != InputType::CleanupTask).then(|| input.trajectory.id.clone()),
        versions: match input_type {
            InputType::CleanupTask => Versions::new(),
            _ => input.trajectory.versions.clone(),
        },
        evidence_refs: evidence,
        corroboration: support.corroboration,
        writes_allowed: support.writes.iter().map(|name| (*name).to_owned()).collect(),
        payload,
    })
}

fn received_at(input: &LearningInput<'_>, skill: &SkillId) -> Vec<StepId> {
    let received = input.trajectory.skills.iter().filter(|received| received.id == *skill);
    received.map(|received| received.step).take(1).collect()
}

/// Returns the support of a cleanup task. Numbers of another class cannot support a decision that is reserved for the
/// class that the book is for.
fn cleanup_support(task: &CleanupTask, options: &CleanupOptions, needed: usize) -> Support {
    let shown = task.shown_by_target(options);
    let writes = match task {
        CleanupTask::Duplicates { .. } => vec![MERGE_SKILLS],
        CleanupTask::NegativeHeavy { .. } if shown => vec![UPDATE_SKILL, ANNOTATE_SKILL, DELETE_SKILL],
        CleanupTask::NegativeHeavy { .. } => vec![UPDATE_SKILL, ANNOTATE_SKILL],
        CleanupTask::LowFollowRate { .. } if shown => vec![UPDATE_SKILL, ANNOTATE_SKILL, DELETE_SKILL],
        CleanupTask::LowFollowRate { .. } => vec![ANNOTATE_SKILL],
    };
    let corroboration = super::Corroboration { reports: 0, needed, conflicts: false, proven_here: false };
    Support { corroboration, writes, confidence: None }
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
    let template = input.request(actor, stage, key.clone(), Change::ItemClosed { outcome: String::new() });
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
    let item = item(gateway.state(), input, work_item, options)?;
    let mut request = manage_request(&item)?;
    let skills = work_item.skills(gateway.state());
    let scope = PermittedChanges { tools: &item.writes_allowed, skills: &skills };
    let mut tools = ManagerTools::new(gateway, template.clone(), scope);
    let mut decision = Decision {
        item: key,
        outcome: ItemOutcome::Nothing { words: String::new() },
        input_type: Some(item.input_type),
        refusals: Vec::new(),
        calls: Vec::new(),
    };
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
    let operation = close(gateway, template, work_item, &words)?;
    let outcome = match operation {
        Applied::Written(_) | Applied::Proposed(_) => ItemOutcome::Nothing { words },
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

/// Records that nothing was changed. A pair that stays is stored with the hashes of its texts.
fn close(
    gateway: &mut Gateway,
    template: WriteRequest,
    work_item: &WorkItem<'_>,
    words: &str,
) -> Result<Applied, WriteRefusal> {
    let outcome = BoundedText::cut(words.trim(), TextBudget(300)).as_str().to_owned();
    let objects = gateway.check_text(&outcome).is_some();
    let outcome = if objects { "nothing".to_owned() } else { outcome };
    let change = match work_item {
        WorkItem::Cleanup(CleanupTask::Duplicates { skill_ids, hashes, .. }, _) => {
            Change::PairKept { skills: skill_ids.clone(), hashes: hashes.clone() }
        }
        WorkItem::Cleanup(..) | WorkItem::Review(..) | WorkItem::Learning(..) => {
            Change::ItemClosed { outcome }
        }
    };
    gateway.apply(WriteRequest { change, ..template })
}
