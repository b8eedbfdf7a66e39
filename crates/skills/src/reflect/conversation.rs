//! The conversation with a reflector: ask, parse strictly, hand back what is wrong, at most a few times.

use apprentice_protocol::{
    BoundedText, ChatModel, ChatReply, ChatRequest, Content, Message, ModelError, NamedSchema, Prompt,
    Purpose, ReplyStop, TextBudget, Trajectory,
};

use super::check::contradictions;
use super::here::say;
use super::{MaterialBudget, REFLECTION_SCHEMA, ReflectMode, TrajectoryReflection, material};

pub(crate) const PROMPT: Prompt = Prompt::new("skills/reflect", include_str!("../prompts/reflect.md"), &[]);
const MAX_OUTPUT_TOKENS: u32 = 8000;

/// How a reflection is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ReflectOptions {
    /// Who answers: a reader who was not there, or the model that acted, in its own conversation.
    pub mode: ReflectMode,
    /// How much is shown.
    pub budget: MaterialBudget,
    /// Largest number of learnings.
    pub max_learnings: usize,
    /// How often the model may answer.
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
    /// The answer.
    pub reflection: TrajectoryReflection,
    /// How many answers it took.
    pub tries: u32,
    /// What was wrong with the answers before.
    pub problems: Vec<String>,
}

/// Why there is no reflection.
#[derive(Debug, thiserror::Error)]
pub enum ReflectError {
    /// The model could not be asked.
    #[error("the reflector could not be asked")]
    Model(#[from] ModelError),
    /// No answer could be used.
    #[error("the reflector gave no usable answer in {} tries; the last problem: {}", problems.len(), problems.last().map_or("", String::as_str))]
    Unusable {
        /// What was wrong, one entry per answer.
        problems: Vec<String>,
    },
    /// The question does not fit the model's context.
    #[error("the conversation with the reflector does not fit its context")]
    Full,
    /// The material could not be written.
    #[error("the material of the trajectory could not be written")]
    Material(#[from] serde_json::Error),
}

/// The schema that a reflection follows, as it is sent with the request.
pub fn reflection_schema() -> NamedSchema {
    let schema = schemars::schema_for!(TrajectoryReflection);
    NamedSchema { name: REFLECTION_SCHEMA.to_owned(), schema: schema.to_value() }
}

/// The first request of a reflection.
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

/// Asks for a reflection. Dropping the future cancels it.
pub async fn reflect(
    model: &dyn ChatModel,
    trajectory: &Trajectory,
    options: &ReflectOptions,
) -> Result<Reflected, ReflectError> {
    converse(model, reflection_request(trajectory, options)?, trajectory, options.tries).await
}

/// Goes on until an answer can be used, at most so many times.
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
    let wrong = contradictions(&reflection, trajectory);
    if wrong.is_empty() { Ok(reflection) } else { Err(wrong.join("; ")) }
}

/// The outermost JSON object of a text, whatever stands around it.
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
    say(request, Content::text(words), "nothing can be called any more");
}
