//! Asks a model for a task to practise.

use apprentice_protocol::{
    BoundedText, ChatModel, ChatRequest, Content, Message, ModelError, NamedSchema, Prompt, Purpose,
    TextBudget,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::rules::{PracticeRules, faults};
use super::task::{PRACTICE_TASK_SCHEMA, PracticeMaterial, PracticeTask};

pub(crate) const PROMPT: Prompt = Prompt::new("skills/practice", include_str!("../prompts/practice.md"), &[]);
/// Number of answers that may break a rule before nothing is practised.
pub const TRIES: u32 = 4;
const MAX_OUTPUT_TOKENS: u32 = 3000;
/// Largest length of the faults of one answer, and of a reason, in characters.
const MAX_FAULTS_CHARS: TextBudget = TextBudget(3000);
const MAX_REASON_CHARS: TextBudget = TextBudget(300);

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default)]
    task: Option<PracticeTask>,
    #[serde(default)]
    decline: Option<String>,
}

/// The outcome of a request for a practice task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PracticeProposal {
    /// A task that keeps the rules, with what was wrong with the answers before it.
    Task(Box<PracticeTask>, Vec<String>),
    /// The model sees nothing to practise.
    Declined(String),
    /// Every answer broke a rule. The faults are those of the last one.
    Refused(Vec<String>),
}

/// The reason why there is no proposal.
#[derive(Debug, thiserror::Error)]
pub enum PracticeError {
    /// The model failed.
    #[error("the request for a task failed")]
    Model(#[from] ModelError),
    /// The material could not be serialized.
    #[error("the material of a proposal could not be written as JSON")]
    Material(#[from] serde_json::Error),
}

/// Returns the request for a task.
pub fn practice_request(material: &PracticeMaterial) -> Result<ChatRequest, serde_json::Error> {
    let block = serde_json::to_string_pretty(material)?;
    let schema = schemars::schema_for!(Answer).to_value();
    let content = vec![Content::text(format!("The world:\n\n```json\n{block}\n```\n"))];
    Ok(ChatRequest {
        purpose: Purpose::Manage,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User { content }],
        schema: Some(NamedSchema { name: PRACTICE_TASK_SCHEMA.to_owned(), schema }),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

/// Has a model propose a task. Dropping the future cancels it.
pub async fn propose(
    model: &dyn ChatModel,
    material: &PracticeMaterial,
    rules: &PracticeRules<'_>,
) -> Result<PracticeProposal, PracticeError> {
    let mut request = practice_request(material)?;
    let (mut before, mut last) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let reply = model.reply(&request).await?;
        match read(&reply.say.join("\n"), rules) {
            Ok(Answer { task: Some(task), .. }) => {
                return Ok(PracticeProposal::Task(Box::new(task), before));
            }
            Ok(Answer { task: None, decline }) => {
                return Ok(PracticeProposal::Declined(cut(&decline.unwrap_or_default(), MAX_REASON_CHARS)));
            }
            Err(found) => last = found,
        }
        let faults = cut(&last.join("\n"), MAX_FAULTS_CHARS);
        before.append(&mut last.clone());
        let words = format!("This task cannot be practised:\n{faults}\nAnswer with the whole JSON object.");
        request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
        apprentice_model_json::append_user_message(
            &mut request,
            Content::text(words),
            "nothing can be called any more",
        );
    }
    Ok(PracticeProposal::Refused(last))
}

fn read(response: &str, rules: &PracticeRules<'_>) -> Result<Answer, Vec<String>> {
    let object = apprentice_model_json::json_of(response)
        .ok_or_else(|| vec!["the answer holds no JSON object".to_owned()])?;
    let answer: Answer = apprentice_model_json::from_text(object).map_err(|error| {
        vec![cut(&format!("the answer does not fit the schema: {error}"), MAX_REASON_CHARS)]
    })?;
    let found = match (&answer.task, answer.decline.as_deref().unwrap_or_default().trim()) {
        (Some(task), _) => faults(task, rules),
        (None, "") => vec!["the answer holds neither a task nor a reason to decline".to_owned()],
        (None, _) => Vec::new(),
    };
    if found.is_empty() { Ok(answer) } else { Err(found) }
}

fn cut(text: &str, budget: TextBudget) -> String {
    BoundedText::cut(text, budget).as_str().to_owned()
}
