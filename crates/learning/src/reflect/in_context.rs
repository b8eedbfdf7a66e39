//! Reflection in the attempt's own conversation: sends the same conversation again, including pictures and tools, with
//! one question appended. The server can therefore reuse its prompt cache.

use apprentice_model_json::append_user_message;
use apprentice_protocol::{
    BoundedText, ChatModel, ChatRequest, Content, ModelErrorKind, Prompt, Purpose, SkillId, StepAction,
    StepId, StopReason, TextBudget, Trajectory,
};
use apprentice_skillbook::review::Fallback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReflectOptions;
use super::conversation::{ReflectError, Reflected, converse};
use super::material::AttemptFacts;

pub(crate) const PROMPT: Prompt =
    Prompt::new("skills/reflect_here", include_str!("../prompts/reflect_here.md"), &["outcome"]);

/// Schema name of the block.
pub const OUTCOME_SCHEMA: &str = "reflect.outcome.v1";
/// Largest number of steps named to the model. Of a longer attempt, the first and the last steps.
const MAX_STEPS: usize = 120;
/// Largest description of one step, in characters.
const MAX_STEP_CHARS: TextBudget = TextBudget(120);

/// The conversation of an attempt, as its model would receive it next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    /// The acting model, as `provider/name`. Replies are bound to it.
    pub model: String,
    /// All messages of the conversation.
    pub request: ChatRequest,
}

/// A step in short: its id and its actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    /// Id of the step.
    pub id: StepId,
    /// The step's actions in a few words.
    pub did: String,
    /// Whether something that the checks read changed in this step; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_checked_state: Option<bool>,
}

/// A received skill, by name. Its text is part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRef {
    /// Id of the skill.
    pub id: SkillId,
    /// The step in which it arrived.
    pub step: StepId,
}

/// The facts that a model cannot know about its own attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeBlock {
    /// [`OUTCOME_SCHEMA`].
    pub schema: String,
    /// Verdict, score and budget of the attempt.
    #[serde(flatten)]
    pub account: AttemptFacts,
    /// Skills received.
    pub skills: Vec<SkillRef>,
    /// The steps, in order.
    pub steps: Vec<StepSummary>,
    /// Number of steps that are left out.
    pub steps_left_out: usize,
}

/// Returns the facts that a model is told about its own attempt.
pub fn outcome(trajectory: &Trajectory, options: &ReflectOptions) -> OutcomeBlock {
    let steps = &trajectory.steps;
    let left_out = steps.len().saturating_sub(MAX_STEPS);
    let head = if left_out == 0 { steps.len() } else { MAX_STEPS / 2 };
    let shown = steps[..head].iter().chain(&steps[head + left_out..]);
    let named = shown.map(|step| {
        let did: Vec<String> = step.actions.iter().map(action_text).collect();
        StepSummary {
            id: step.id,
            did: BoundedText::cut(&did.join("; "), MAX_STEP_CHARS).as_str().to_owned(),
            changed_checked_state: step.changed_checked_state,
        }
    });
    OutcomeBlock {
        schema: OUTCOME_SCHEMA.to_owned(),
        account: AttemptFacts::of(trajectory, options.max_learnings),
        skills: trajectory
            .skills
            .iter()
            .take(options.budget.skills)
            .map(|skill| SkillRef { id: skill.id.clone(), step: skill.step })
            .collect(),
        steps: named.collect(),
        steps_left_out: left_out,
    }
}

fn action_text(action: &StepAction) -> String {
    let target = action.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    let outcome = if action.outcome == "done" { String::new() } else { format!(" ({})", action.outcome) };
    format!("{}{target}{outcome}", action.action)
}

/// Returns the attempt's conversation with the question appended. The earlier part stays identical to the byte: system
/// text, tools and messages. The request names no schema, because that would invalidate the server's cache.
pub fn continued_request(
    conversation: &Conversation,
    trajectory: &Trajectory,
    options: &ReflectOptions,
) -> Result<ChatRequest, serde_json::Error> {
    let block = serde_json::to_string_pretty(&outcome(trajectory, options))?;
    let question = Content::text(PROMPT.fill(&[("outcome", &block)]));
    let mut request = conversation.request.clone();
    request.purpose = Purpose::Reflect;
    append_user_message(&mut request, question, "the attempt had ended");
    Ok(request)
}

/// Asks the acting model in its own conversation. If that is not possible, returns the reason for using a separate
/// reader instead of an error. Dropping the future cancels it.
pub async fn reflect_in_context(
    model: &dyn ChatModel,
    conversation: Option<&Conversation>,
    trajectory: &Trajectory,
    options: &ReflectOptions,
) -> Result<Result<Reflected, Fallback>, ReflectError> {
    let Some(conversation) = conversation else { return Ok(Err(Fallback::NotKept)) };
    if conversation.model != model.profile().name {
        return Ok(Err(Fallback::AnotherModel { acted: conversation.model.clone() }));
    }
    if trajectory.stop == StopReason::ContextFull {
        return Ok(Err(Fallback::ContextFull));
    }
    let request = continued_request(conversation, trajectory, options)?;
    match converse(model, request, trajectory, options.tries).await {
        Ok(reflected) => Ok(Ok(reflected)),
        Err(ReflectError::Full) => Ok(Err(Fallback::ContextFull)),
        Err(ReflectError::Model(error)) if error.fault == ModelErrorKind::ContextFull => {
            Ok(Err(Fallback::ContextFull))
        }
        // A server may reject its own earlier messages, for example signed ones in which a secret is now redacted.
        Err(ReflectError::Model(error)) if error.fault == ModelErrorKind::Refused => {
            Ok(Err(Fallback::Unusable { problem: error.message }))
        }
        Err(ReflectError::Unusable { problems, .. }) => {
            Ok(Err(Fallback::Unusable { problem: problems.last().cloned().unwrap_or_default() }))
        }
        Err(error @ (ReflectError::Model(_) | ReflectError::Material(_))) => Err(error),
    }
}
