//! A model's opinion on an attempt that has no checks: whether the agent did what it was asked to do. It gets the
//! instruction, the agent's own words and the last views. An opinion is recorded as one and proves nothing.

use apprentice_protocol::{
    BoundedText, ChatModel, ChatRequest, Content, ImageRule, Message, ModelError, NamedSchema, Prompt,
    Purpose, StepId, StopReason, TextBudget, Verdict,
};
use apprentice_skillbook::Judgement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reflect::StepPicture;

pub(crate) const PROMPT: Prompt = Prompt::new("skills/judge", include_str!("prompts/judge.md"), &[]);
/// Schema name of the block.
pub const JUDGE_SCHEMA: &str = "judge.material.v1";
/// Schema name of the answer.
pub const JUDGEMENT_SCHEMA: &str = "attempt.judgement.v1";
/// Number of last views that a judge gets.
pub const VIEWS: usize = 3;
/// Largest number of elements of a view.
const MAX_VIEW_LINES: usize = 150;
/// Largest length of an element, of one turn's words, of the instruction, and of a kept reason, in characters.
const MAX_LINE_CHARS: TextBudget = TextBudget(200);
const MAX_TURN_CHARS: TextBudget = TextBudget(600);
const MAX_GOAL_CHARS: TextBudget = TextBudget(2000);
const MAX_REASON_CHARS: TextBudget = TextBudget(300);
/// Largest number of turns whose words are shown: the last ones.
const MAX_TURNS: usize = 20;
const MAX_OUTPUT_TOKENS: u32 = 2000;
/// Number of answers that may be unreadable before the judge is given up.
const MAX_TRIES: usize = 3;

/// A view of the agent, for the judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedView {
    /// The step in which the agent saw it.
    pub step: StepId,
    /// Title of the front window or tab.
    pub title: String,
    /// The elements on the screen.
    pub elements: Vec<String>,
}

/// What the agent said in one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaidInTurn {
    /// The step.
    pub step: StepId,
    /// Its words, and how it declared the end.
    pub words: String,
}

/// Number of parts that a judge does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Turns with words.
    pub turns: usize,
    /// Elements of the views.
    pub elements: usize,
}

/// The material of a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeMaterial {
    /// [`JUDGE_SCHEMA`].
    pub schema: String,
    /// The instruction that the agent got.
    pub goal: String,
    /// The reason why the attempt stopped.
    pub stop: StopReason,
    /// The agent's own words, in order.
    pub said: Vec<SaidInTurn>,
    /// The last views, the newest last.
    pub views: Vec<JudgedView>,
    /// What is not shown.
    pub left_out: LeftOut,
}

impl JudgeMaterial {
    /// Builds the bounded material of an attempt.
    pub fn new(goal: &str, stop: StopReason, mut said: Vec<SaidInTurn>, mut views: Vec<JudgedView>) -> Self {
        let mut left_out = LeftOut { turns: said.len().saturating_sub(MAX_TURNS), elements: 0 };
        said.drain(..left_out.turns);
        said.iter_mut().for_each(|turn| turn.words = cut(&turn.words, MAX_TURN_CHARS));
        views.drain(..views.len().saturating_sub(VIEWS));
        for view in &mut views {
            left_out.elements += view.elements.len().saturating_sub(MAX_VIEW_LINES);
            view.elements.truncate(MAX_VIEW_LINES);
            view.elements.iter_mut().for_each(|line| *line = cut(line, MAX_LINE_CHARS));
            view.title = cut(&view.title, MAX_LINE_CHARS);
        }
        Self { schema: JUDGE_SCHEMA.to_owned(), goal: cut(goal, MAX_GOAL_CHARS), stop, said, views, left_out }
    }
}

fn cut(text: &str, budget: TextBudget) -> String {
    BoundedText::cut(text, budget).as_str().to_owned()
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Opinion {
    Pass,
    Fail,
    CannotTell,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    verdict: Opinion,
    reason: String,
}

/// The reason why there is no opinion.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The model failed.
    #[error("the request to the judge failed")]
    Model(#[from] ModelError),
    /// No answer was usable.
    #[error("the judge gave no usable answer in {MAX_TRIES} tries; the last problem: {0}")]
    Unusable(String),
    /// The material could not be serialized.
    #[error("the material of the attempt could not be written as JSON")]
    Material(#[from] serde_json::Error),
}

/// Returns the request for an opinion.
pub fn judge_request(
    material: &JudgeMaterial,
    pictures: &[StepPicture],
) -> Result<ChatRequest, serde_json::Error> {
    let block = serde_json::to_string_pretty(material)?;
    let mut content = vec![Content::text(format!("The attempt:\n\n```json\n{block}\n```\n"))];
    for picture in pictures {
        content.push(Content::text(format!("Picture of {}: {}", picture.step, picture.shows)));
        content.push(Content::Image { image: picture.image.clone() });
    }
    let schema = schemars::schema_for!(Answer).to_value();
    Ok(ChatRequest {
        purpose: Purpose::Judge,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User { content }],
        schema: Some(NamedSchema { name: JUDGEMENT_SCHEMA.to_owned(), schema }),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

/// Asks a model for its opinion. A model that does not see gets no pictures. Dropping the future cancels it.
pub async fn judge(
    model: &dyn ChatModel,
    material: &JudgeMaterial,
    pictures: &[StepPicture],
) -> Result<Judgement, JudgeError> {
    let pictures = if model.profile().images == ImageRule::None { &[] } else { pictures };
    let mut request = judge_request(material, pictures)?;
    let mut problem = String::new();
    for _ in 0..MAX_TRIES {
        let reply = model.reply(&request).await?;
        match read(&reply.say.join("\n")) {
            Ok(judgement) => return Ok(judgement),
            Err(found) => problem = found,
        }
        let words =
            format!("This answer cannot be used: {problem}. Answer with the JSON object and nothing else.");
        request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
        apprentice_model_json::append_user_message(
            &mut request,
            Content::text(words),
            "nothing can be called any more",
        );
    }
    Err(JudgeError::Unusable(problem))
}

fn read(response: &str) -> Result<Judgement, String> {
    let object = apprentice_model_json::json_of(response).ok_or("the answer holds no JSON object")?;
    let Answer { verdict, reason } = apprentice_model_json::from_text(object)
        .map_err(|error| cut(&format!("the answer does not fit the schema: {error}"), MAX_TURN_CHARS))?;
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        return Err("the reason is empty".to_owned());
    }
    let verdict = match verdict {
        Opinion::Pass => Some(Verdict::Pass),
        Opinion::Fail => Some(Verdict::Fail),
        Opinion::CannotTell => None,
    };
    Ok(Judgement { by: apprentice_protocol::JudgedBy::Model, verdict, why: cut(&reason, MAX_REASON_CHARS) })
}
