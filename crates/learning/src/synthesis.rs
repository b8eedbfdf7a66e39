//! Synthesis: a model writes a function from attempts that passed. What breaks a static check goes back to it, at most ten
//! times; then the function is rejected. Nothing is written here: a function that passes the checks still has to be
//! admitted by replays.

use apprentice_functions::{ArgumentError, Source, Violation, arguments_of, holds};
pub use apprentice_functions::{SourceConstant, Surface, replace_words};
use apprentice_protocol::{
    BoundedText, ChatModel, ChatRequest, Content, Message, ModelError, NamedSchema, Prompt, Purpose, Seen,
    SkillId, StepId, TextBudget, Trajectory,
};
use apprentice_skillbook::{FunctionReference, Skill, check_function};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const PROMPT: Prompt = Prompt::new("skills/synthesis", include_str!("prompts/synthesis.md"), &[]);
/// Schema name of the block.
pub const SYNTHESIS_SCHEMA: &str = "function.material.v1";
/// Schema name of the answer.
pub const FUNCTION_SCHEMA: &str = "function.answer.v1";
/// Number of answers that may break a rule before the function is rejected.
pub const TRIES: u32 = 10;
const MAX_OUTPUT_TOKENS: u32 = 6000;
/// Most attempts and steps of the material; the longest text in it, in characters.
const MAX_ATTEMPTS: usize = 4;
const MAX_STEPS: usize = 40;
const MAX_TEXT_CHARS: TextBudget = TextBudget(2000);
/// Most changed lines of one screen and of all screens of an attempt, and the longest of them, in characters.
const MAX_SCREEN_LINES: usize = 30;
const MAX_ATTEMPT_LINES: usize = 240;
const MAX_LINE_CHARS: TextBudget = TextBudget(160);
/// Largest length of the violations of one answer, in characters.
const MAX_VIOLATIONS_CHARS: TextBudget = TextBudget(4000);

/// The material of a synthesis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SynthesisMaterial {
    /// [`SYNTHESIS_SCHEMA`].
    pub schema: String,
    /// The skill that the function will belong to.
    pub skill: SkillMaterial,
    /// What the function acts on.
    pub surface: Surface,
    /// The attempts.
    pub attempts: Vec<AttemptMaterial>,
}

/// A skill, as the writer of its function sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillMaterial {
    /// Its id.
    pub id: SkillId,
    /// When to look at it.
    pub description: String,
    /// Its instructions.
    pub guidance: String,
}

/// An attempt that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptMaterial {
    /// The trajectory.
    pub attempt: String,
    /// The instruction.
    pub goal: String,
    /// The steps with actions.
    pub steps: Vec<StepMaterial>,
    /// Number of steps that are not shown.
    pub left_out: usize,
    /// The screen after the last action; `None` where the attempt did not look again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ScreenMaterial>,
}

/// What was on the screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenMaterial {
    /// Title of the front window or tab.
    pub title: String,
    /// What had changed since the step before: outline lines with `+` or `-`. They name the labels beside fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Number of changed lines that are not shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// One step of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepMaterial {
    /// The step.
    pub id: StepId,
    /// The screen when it acted.
    pub seen: ScreenMaterial,
    /// The actions, each with the role and name of the element that it hit.
    pub actions: Vec<String>,
}

/// A function that passed every static check.
#[derive(Clone)]
pub struct SynthesizedFunction {
    /// The function.
    pub source: Source,
    /// The values with which it would have done each attempt, by trajectory.
    pub arguments: Vec<(String, Value)>,
    /// Where it was learned.
    pub references: Vec<FunctionReference>,
    /// Number of answers that it took.
    pub tries: u32,
}

/// The outcome of a synthesis without an error.
#[derive(Clone)]
pub enum Synthesis {
    /// A function that passed every static check.
    Written(Box<SynthesizedFunction>),
    /// The model says that no function can do this.
    Declined(String),
    /// The last of [`TRIES`] answers still broke a rule. Nothing of it is kept.
    Rejected(Vec<String>),
}

/// Why a synthesis could not be done.
#[derive(Debug, thiserror::Error)]
pub enum SynthesisError {
    /// No attempt that passed was given.
    #[error("a function is made from attempts that passed their checks, and none was given")]
    NoAttempt,
    /// The model failed.
    #[error("the request to the writer of functions failed")]
    Model(#[from] ModelError),
    /// The material could not be serialized.
    #[error("the material could not be written as JSON")]
    Material(#[from] serde_json::Error),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default)]
    function: String,
    #[serde(default)]
    arguments: Vec<AttemptArguments>,
    #[serde(default)]
    decline: Option<String>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AttemptArguments {
    attempt: String,
    values: Value,
}

impl SynthesisMaterial {
    /// Builds the bounded material. Attempts that are not known to have passed are left out.
    pub fn new(skill: &Skill, surface: Surface, attempts: &[&Trajectory]) -> Self {
        let passed = attempts.iter().filter(|attempt| attempt.passed()).take(MAX_ATTEMPTS);
        let skill = SkillMaterial {
            id: skill.id.clone(),
            description: skill.text.description.clone(),
            guidance: cut(&skill.text.guidance),
        };
        let attempts = passed.map(|one| attempt(one)).collect();
        Self { schema: SYNTHESIS_SCHEMA.to_owned(), skill, surface, attempts }
    }

    fn references(&self) -> Vec<FunctionReference> {
        let of = |attempt: &AttemptMaterial| FunctionReference {
            trajectory: attempt.attempt.clone(),
            steps: attempt.steps.iter().map(|step| step.id).collect(),
        };
        self.attempts.iter().map(of).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Returns what the attempt saw after its last action, from the step that no longer acted.
fn end(trajectory: &Trajectory) -> Option<ScreenMaterial> {
    let last = trajectory.steps.iter().rposition(|step| !step.actions.is_empty())?;
    trajectory.steps.get(last + 1).map(|after| screen(&after.seen, MAX_SCREEN_LINES))
}

fn screen(seen: &Seen, lines: usize) -> ScreenMaterial {
    ScreenMaterial {
        title: cut(&seen.title),
        changed: seen.changed.iter().take(lines).map(|line| cut_to(line, MAX_LINE_CHARS)).collect(),
        left_out: seen.changed.len().saturating_sub(lines),
    }
}

fn attempt(trajectory: &Trajectory) -> AttemptMaterial {
    let acts = trajectory.steps.iter().filter(|step| !step.actions.is_empty()).count();
    let lines = (MAX_ATTEMPT_LINES / acts.clamp(1, MAX_STEPS)).min(MAX_SCREEN_LINES);
    let acting: Vec<StepMaterial> = trajectory
        .steps
        .iter()
        .filter(|step| !step.actions.is_empty())
        .map(|step| StepMaterial {
            id: step.id,
            seen: screen(&step.seen, lines),
            actions: step
                .actions
                .iter()
                .map(|action| {
                    let on = match (&action.role, &action.name) {
                        (Some(role), Some(name)) => format!(" on {role} {name:?}"),
                        (Some(role), None) => format!(" on {role}"),
                        _ => String::new(),
                    };
                    cut(&format!("{}{on}: {}", action.action, action.outcome))
                })
                .collect(),
        })
        .collect();
    // The end of an attempt is what passed.
    let left_out = acting.len().saturating_sub(MAX_STEPS);
    AttemptMaterial {
        attempt: trajectory.id.clone(),
        goal: cut(&trajectory.goal),
        steps: acting.into_iter().skip(left_out).collect(),
        left_out,
        end: end(trajectory),
    }
}

fn cut(text: &str) -> String {
    cut_to(text, MAX_TEXT_CHARS)
}

fn cut_to(text: &str, budget: TextBudget) -> String {
    BoundedText::cut(text, budget).as_str().to_owned()
}

/// Returns the first request of a synthesis.
pub fn synthesis_request(material: &SynthesisMaterial) -> Result<ChatRequest, serde_json::Error> {
    let block = serde_json::to_string_pretty(material)?;
    let schema = schemars::schema_for!(Answer).to_value();
    Ok(ChatRequest {
        purpose: Purpose::Manage,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(format!("The attempts:\n\n```json\n{block}\n```\n"))],
        }],
        schema: Some(NamedSchema { name: FUNCTION_SCHEMA.to_owned(), schema }),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

/// Has a model write a function. `constants` are values of the attempts' tasks: the function may hold none. Dropping the
/// future cancels it.
pub async fn synthesize(
    model: &dyn ChatModel,
    material: &SynthesisMaterial,
    constants: &[SourceConstant],
) -> Result<Synthesis, SynthesisError> {
    if material.attempts.is_empty() {
        return Err(SynthesisError::NoAttempt);
    }
    let mut request = synthesis_request(material)?;
    let mut problems = Vec::new();
    for tries in 1..=TRIES {
        let reply = model.reply(&request).await?;
        match read(&reply.say.join("\n"), material, constants) {
            Ok(Read::Declined(why)) => return Ok(Synthesis::Declined(why)),
            Ok(Read::Function(source, arguments)) => {
                let references = material.references();
                let written = SynthesizedFunction { source: *source, arguments, references, tries };
                return Ok(Synthesis::Written(Box::new(written)));
            }
            Err(found) => problems = found,
        }
        let violations = BoundedText::cut(&problems.join("\n"), MAX_VIOLATIONS_CHARS);
        let words = format!(
            "The function cannot be taken:\n{}\nAnswer with the whole JSON object.",
            violations.as_str()
        );
        request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
        apprentice_model_json::append_user_message(
            &mut request,
            Content::text(words),
            "nothing can be called any more",
        );
    }
    Ok(Synthesis::Rejected(problems))
}

enum Read {
    Declined(String),
    Function(Box<Source>, Vec<(String, Value)>),
}

fn read(
    response: &str,
    material: &SynthesisMaterial,
    constants: &[SourceConstant],
) -> Result<Read, Vec<String>> {
    let object = apprentice_model_json::json_of(response)
        .ok_or_else(|| vec!["the answer holds no JSON object".to_owned()])?;
    let Answer { function, arguments, decline } = apprentice_model_json::from_text(object)
        .map_err(|error| vec![cut(&format!("the answer does not fit the schema: {error}"))])?;
    if let Some(why) = decline.filter(|_| function.trim().is_empty()) {
        return Ok(Read::Declined(cut(&why)));
    }
    let texts = |found: Vec<Violation>| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let source = check_function(&function, constants).map_err(texts)?;
    let signature = source.signature();
    if signature.surface != material.surface {
        return Err(vec![format!("the first parameter must be {}", material.surface.word())]);
    }
    let mut found = Vec::new();
    if signature.parameters.is_empty() {
        found.push(
            "a function without arguments cannot be replayed with others; find what a later task would ask for \
             otherwise, or decline"
                .to_owned(),
        );
    }
    for attempt in &material.attempts {
        match arguments.iter().find(|given| given.attempt == attempt.attempt) {
            None => found.push(format!("`arguments` lacks the attempt {:?}", attempt.attempt)),
            Some(given) => {
                let wrong: Option<ArgumentError> = arguments_of(signature, &given.values).err();
                found.extend(wrong.map(|why| format!("the arguments of {:?}: {why}", attempt.attempt)));
                found.extend(fixed_arguments(given, constants));
            }
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    let arguments = arguments.into_iter().map(|example| (example.attempt, example.values)).collect();
    Ok(Read::Function(Box::new(source), arguments))
}

/// Names the arguments whose values the task does not vary.
fn fixed_arguments(given: &AttemptArguments, constants: &[SourceConstant]) -> Vec<String> {
    let varies = |value: &str| constants.iter().any(|constant| holds(value, constant.value.trim()));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values = given.values.as_object().into_iter().flatten();
    let fixed = values.filter(|(_, value)| !varies(&text(value)));
    let assignment = |(name, value): (&String, &Value)| {
        format!(
            "the argument {name:?} of {:?} was {value}, which the task does not vary: no replay could try another \
             value. Leave the argument out; what every attempt does alike stands in the function. Decline if no \
             argument is left",
            given.attempt
        )
    };
    fixed.map(assignment).collect()
}
