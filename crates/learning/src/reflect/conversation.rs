//! The conversation with a reflector: ask, parse strictly, and return the problems to the model for a limited number of
//! tries. A long attempt is spread over several conversations.

use apprentice_model_json::{append_user_message, json_of};
use apprentice_protocol::{
    BoundedText, ChatModel, ChatReply, ChatRequest, Content, Message, ModelError, ModelErrorKind,
    NamedSchema, Prompt, Purpose, ReplyStop, TextBudget, Trajectory, estimated_tokens,
};
use apprentice_skillbook::review::{Dropped, REFLECTION_SCHEMA, TrajectoryReflection};
use serde_json::Value;

use super::check::{Problem, trace_problems, without_problems};
use super::material::{BoundedSteps, ReviewedAttempt, material, whole_material};
use super::parts::join;
use super::pictures::{StepPicture, chosen, contents};
use super::{ReflectOptions, ReviewerLimits};

pub(crate) const PROMPT: Prompt = Prompt::new("skills/reflect", include_str!("../prompts/reflect.md"), &[]);
/// Largest number of times that a request which a model's context does not hold is sent again with half of its material.
const MAX_HALVINGS: u32 = 2;
/// Largest length of a kept answer that could not be read, in characters.
const MAX_ANSWER_CHARS: TextBudget = TextBudget(20_000);

/// A reflection and how it came about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reflected {
    /// The reflection.
    pub reflection: TrajectoryReflection,
    /// Number of answers needed.
    pub tries: u32,
    /// Problems of the earlier answers.
    pub problems: Vec<String>,
    /// Learnings that were still wrong in the last answer and are not used.
    pub dropped: Vec<Dropped>,
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
        /// The answers, each cut to a bounded length.
        answers: Vec<String>,
    },
    /// The question does not fit the model's context.
    #[error("the conversation with the reflector does not fit its context")]
    Full,
    /// The material could not be serialized.
    #[error("the material of the trajectory could not be written as JSON")]
    Material(#[from] serde_json::Error),
}

impl ReflectError {
    /// Returns whether the model's context was too small.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Full => true,
            Self::Model(error) => error.fault == ModelErrorKind::ContextFull,
            Self::Unusable { .. } | Self::Material(_) => false,
        }
    }
}

/// Returns the schema of a reflection, as sent with the request.
pub fn reflection_schema() -> NamedSchema {
    let mut schema = schemars::schema_for!(TrajectoryReflection).to_value();
    // A record shows no references of elements. Only whoever acted has seen them.
    if let Some(Value::Array(marks)) = schema.pointer_mut("/$defs/FigureMark/anyOf") {
        marks.retain(|mark| mark["properties"].get("reference").is_none());
    }
    NamedSchema { name: REFLECTION_SCHEMA.to_owned(), schema }
}

/// Returns the request of a reflection on a whole attempt, without pictures.
pub fn reflection_request(
    trajectory: &Trajectory,
    options: &ReflectOptions,
) -> Result<ChatRequest, serde_json::Error> {
    request(&material(trajectory, options), Vec::new(), super::budget::MAX_OUTPUT_TOKENS)
}

fn request(
    block: &super::Material,
    pictures: Vec<Content>,
    max_output_tokens: u32,
) -> Result<ChatRequest, serde_json::Error> {
    let block = serde_json::to_string_pretty(block)?;
    let mut content = vec![Content::text(format!("The attempt:\n\n```json\n{block}\n```\n"))];
    content.extend(pictures);
    Ok(ChatRequest {
        purpose: Purpose::Reflect,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User { content }],
        schema: Some(reflection_schema()),
        max_output_tokens,
        ..ChatRequest::default()
    })
}

/// Requests a reflection: one conversation, or one per part of a long attempt. A request that the model's context does
/// not hold is asked again with less material. Dropping the future cancels it.
///
/// `pictures` are in order of precedence; a model that does not see gets none of them.
pub async fn reflect(
    model: &dyn ChatModel,
    trajectory: &Trajectory,
    pictures: &[StepPicture],
    options: &ReflectOptions,
) -> Result<Reflected, ReflectError> {
    let reviewed = ReviewedAttempt { pictures, ..ReviewedAttempt::new(trajectory) };
    reflect_with_book(model, reviewed, options).await
}

/// Requests a reflection as [`reflect`] does, and shows what the book says already.
pub async fn reflect_with_book(
    model: &dyn ChatModel,
    reviewed: ReviewedAttempt<'_>,
    options: &ReflectOptions,
) -> Result<Reflected, ReflectError> {
    let mut share = 1;
    for _ in 0..MAX_HALVINGS {
        match reflect_in_parts(model, reviewed, options, share).await {
            Err(error) if error.is_full() => share *= 2,
            other => return other,
        }
    }
    match reflect_in_parts(model, reviewed, options, share).await {
        Err(error) if error.is_full() => Err(ReflectError::Full),
        other => other,
    }
}

/// Asks about each part with what was found in the earlier ones, and joins the answers. Requests get `1 / share` of
/// their normal size.
async fn reflect_in_parts(
    model: &dyn ChatModel,
    reviewed: ReviewedAttempt<'_>,
    options: &ReflectOptions,
    share: usize,
) -> Result<Reflected, ReflectError> {
    let ReviewedAttempt { trajectory, pictures, .. } = reviewed;
    let limits = ReviewerLimits::of(model.profile(), options.pictures / share);
    let less = u64::try_from(share).unwrap_or(u64::MAX);
    let left = limits.room(u64::MAX, fixed_tokens(reviewed, options)).ok_or(ReflectError::Full)? / less;
    let (pictures, taken) = chosen(pictures, &limits, left / 2);
    let room = left.saturating_sub(taken);
    let room = room.min(options.budget.tokens / less);
    let steps = BoundedSteps::of(trajectory, &options.budget, room);
    let mut whole = Reflected::default();
    for part in 0..steps.parts() {
        let block = steps.material(reviewed, options, part, whole.reflection.clone());
        let shown = pictures.iter().copied().filter(|picture| steps.shows(part, picture.step));
        let request = request(&block, contents(shown), limits.output())?;
        let reflected = converse(model, request, trajectory, options.tries).await?;
        let mut found = reflected.reflection;
        if steps.parts() > 1 {
            found.new_learnings.truncate(options.max_learnings);
        }
        join(&mut whole.reflection, found);
        whole.tries += reflected.tries;
        whole.problems.extend(reflected.problems);
        whole.dropped.extend(reflected.dropped);
    }
    Ok(whole)
}

/// Returns the estimated tokens of a request without its steps and pictures.
fn fixed_tokens(reviewed: ReviewedAttempt<'_>, options: &ReflectOptions) -> u64 {
    let empty = Trajectory { steps: Vec::new(), ..reviewed.trajectory.clone() };
    let fixed = whole_material(ReviewedAttempt { trajectory: &empty, ..reviewed }, options);
    let block = serde_json::to_string_pretty(&fixed).unwrap_or_default();
    let schema = reflection_schema().schema.to_string();
    [PROMPT.text(), &block, &schema].into_iter().map(estimated_tokens).sum()
}

/// Continues the conversation until an answer is usable, for a limited number of tries. Of the last answer, everything
/// that is right is used.
pub(super) async fn converse(
    model: &dyn ChatModel,
    mut request: ChatRequest,
    trajectory: &Trajectory,
    tries: u32,
) -> Result<Reflected, ReflectError> {
    let (mut problems, mut answers) = (Vec::new(), Vec::new());
    let tries = tries.max(1);
    for attempt in 1..=tries {
        let reply = model.reply(&request).await?;
        if reply.stop == ReplyStop::ContextFull {
            return Err(ReflectError::Full);
        }
        let response = reply.say.join("\n");
        let problem = match read(&reply, &response, trajectory) {
            Ok((reflection, wrong)) if wrong.is_empty() || attempt == tries => {
                let (reflection, dropped) = without_problems(reflection, wrong);
                return Ok(Reflected { reflection, tries: attempt, problems, dropped });
            }
            Ok((_, wrong)) => wrong.into_iter().map(|problem| problem.why).collect::<Vec<_>>().join("; "),
            Err(problem) => problem,
        };
        answers.push(BoundedText::cut(&response, MAX_ANSWER_CHARS).as_str().to_owned());
        answer(&mut request, reply, &problem);
        problems.push(problem);
    }
    Err(ReflectError::Unusable { problems, answers })
}

/// Reads an answer. Returns the problems of single learnings separately: the rest of the answer can be used.
fn read(
    reply: &ChatReply,
    response: &str,
    trajectory: &Trajectory,
) -> Result<(TrajectoryReflection, Vec<Problem>), String> {
    let none = if reply.calls.is_empty() {
        "the answer holds no JSON object"
    } else {
        "the answer holds no JSON object, but calls; nothing can be called any more"
    };
    let object = json_of(response).ok_or(none)?;
    let reflection: TrajectoryReflection = apprentice_model_json::from_text(object)
        .map_err(|error| format!("the answer does not fit the schema: {error}"))?;
    let wrong = trace_problems(&reflection, trajectory);
    Ok((reflection, wrong))
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
