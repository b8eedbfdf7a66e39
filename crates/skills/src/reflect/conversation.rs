//! The conversation with a reflector: ask, parse strictly, and return the problems to the model for a limited number of
//! tries.

use apprentice_protocol::{
    BoundedText, CallResult, ChatModel, ChatReply, ChatRequest, Content, Message, ModelError, NamedSchema,
    Prompt, Purpose, ReplyStop, TextBudget, Trajectory,
};

use super::check::trace_problems;
use super::{MaterialBudget, REFLECTION_SCHEMA, ReflectMode, TrajectoryReflection, material};

pub(crate) const PROMPT: Prompt = Prompt::new("skills/reflect", include_str!("../prompts/reflect.md"), &[]);
const MAX_OUTPUT_TOKENS: u32 = 8000;

/// Options of reflection.
#[derive(Clone, Copy, Debug)]
pub struct ReflectOptions {
    /// The reflecting model: a separate reader, or the acting model in its own conversation.
    pub mode: ReflectMode,
    /// Size limits of the material.
    pub budget: MaterialBudget,
    /// Largest number of learnings.
    pub max_learnings: usize,
    /// Number of answers that the model may give.
    pub tries: u32,
}

impl Default for ReflectOptions {
    fn default() -> Self {
        Self { mode: ReflectMode::Fresh, budget: MaterialBudget::default(), max_learnings: 3, tries: 3 }
    }
}

/// A reflection and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Reflected {
    /// The reflection.
    pub reflection: TrajectoryReflection,
    /// Number of answers needed.
    pub tries: u32,
    /// Problems of the earlier answers.
    pub problems: Vec<String>,
}

/// The reason why there is no reflection.
#[derive(Debug, thiserror::Error)]
pub enum ReflectError {
    /// The model failed.
    #[error("the request to the reflector failed")]
    Model(#[from] ModelError),
    /// No answer was usable.
    #[error("the reflector gave no usable answer in {} tries; the last problem: {}", problems.len(), problems.last().map_or("", String::as_str))]
    Unusable {
        /// Problems, one entry per answer.
        problems: Vec<String>,
    },
    /// The question does not fit the model's context.
    #[error("the conversation with the reflector does not fit its context")]
    Full,
    /// The material could not be serialized.
    #[error("the material of the trajectory could not be written as JSON")]
    Material(#[from] serde_json::Error),
}

/// Returns the schema of a reflection, as sent with the request.
pub fn reflection_schema() -> NamedSchema {
    let schema = schemars::schema_for!(TrajectoryReflection);
    NamedSchema { name: REFLECTION_SCHEMA.to_owned(), schema: schema.to_value() }
}

/// Returns the first request of a reflection.
pub fn reflection_request(
    trajectory: &Trajectory,
    options: &ReflectOptions,
) -> Result<ChatRequest, serde_json::Error> {
    let block = material(trajectory, &options.budget, options.max_learnings);
    let block = serde_json::to_string_pretty(&block)?;
    Ok(ChatRequest {
        purpose: Purpose::Reflect,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(format!("The attempt:\n\n```json\n{block}\n```\n"))],
        }],
        schema: Some(reflection_schema()),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

/// Requests a reflection. Dropping the future cancels it.
pub async fn reflect(
    model: &dyn ChatModel,
    trajectory: &Trajectory,
    options: &ReflectOptions,
) -> Result<Reflected, ReflectError> {
    converse(model, reflection_request(trajectory, options)?, trajectory, options.tries).await
}

/// Continues the conversation until an answer is usable, for a limited number of tries.
pub(super) async fn converse(
    model: &dyn ChatModel,
    mut request: ChatRequest,
    trajectory: &Trajectory,
    tries: u32,
) -> Result<Reflected, ReflectError> {
    let mut problems = Vec::new();
    for attempt in 1..=tries.max(1) {
        let reply = model.reply(&request).await?;
        if reply.stop == ReplyStop::ContextFull {
            return Err(ReflectError::Full);
        }
        match read(&reply, trajectory) {
            Ok(reflection) => return Ok(Reflected { reflection, tries: attempt, problems }),
            Err(problem) => {
                answer(&mut request, reply, &problem);
                problems.push(problem);
            }
        }
    }
    Err(ReflectError::Unusable { problems })
}

fn read(reply: &ChatReply, trajectory: &Trajectory) -> Result<TrajectoryReflection, String> {
    let text = reply.say.join("\n");
    let none = match reply.calls.is_empty() {
        true => "the answer holds no JSON object",
        false => "the answer holds no JSON object, but calls; nothing can be called any more",
    };
    let object = json_of(&text).ok_or(none)?;
    let reflection: TrajectoryReflection = serde_json::from_str(object)
        .map_err(|error| format!("the answer does not fit the schema: {error}"))?;
    let wrong = trace_problems(&reflection, trajectory);
    if wrong.is_empty() { Ok(reflection) } else { Err(wrong.join("; ")) }
}

/// Returns the outermost JSON object in a text, ignoring any surrounding text.
fn json_of(text: &str) -> Option<&str> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    text.get(start..=end)
}

fn answer(request: &mut ChatRequest, reply: ChatReply, problem: &str) {
    let problem = BoundedText::cut(problem, TextBudget(1000));
    request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
    let words = format!(
        "This answer cannot be used: {}. Answer again with the whole JSON object and nothing else.",
        problem.as_str()
    );
    append_user_message(request, Content::text(words), "nothing can be called any more");
}

/// Appends a user message to a conversation. Answers open calls first.
pub(super) fn append_user_message(request: &mut ChatRequest, words: Content, unanswered: &str) {
    let open: Vec<CallResult> = match request.messages.last() {
        Some(Message::Assistant { calls, .. }) => calls
            .iter()
            .map(|call| CallResult {
                id: call.id.clone(),
                per_action: Vec::new(),
                content: vec![Content::text(unanswered)],
                is_error: true,
            })
            .collect(),
        Some(Message::User { .. } | Message::Results { .. }) | None => Vec::new(),
    };
    match request.messages.last_mut() {
        _ if !open.is_empty() => {
            request.messages.push(Message::Results { results: open, notices: vec![words] });
        }
        // Merges the words into one user turn instead of sending two in a row.
        Some(Message::Results { notices, .. }) => notices.push(words),
        Some(Message::User { content }) => content.push(words),
        Some(Message::Assistant { .. }) | None => {
            request.messages.push(Message::User { content: vec![words] });
        }
    }
}
